"""Steps that choose or repeat others, with the meaning of ONNX and TFLite.

Each is a generator: it yields the values with which a body is to run, and receives the outputs of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NoReturn, TypeAlias

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError, expectation
from .flow import Environment, Step, Value, computed, tensor

Control: TypeAlias = Generator[Environment, list[Value], list[Value]]


def _if(step: Step, values: Environment) -> Control:
    body = step.bodies["then_branch" if _truth(values.array(step.inputs[0]), step) else "else_branch"]
    # ONNX's branches have no inputs; they read the values around them.
    entering = {name: values[operand] for name, operand in zip(body.inputs, step.inputs[1:], strict=False)}
    return (yield Environment(body, entering, values))


def _while(step: Step, values: Environment) -> Control:
    """Run TFLite's While: condition and body each take all carried values."""
    cond, body = step.bodies["cond"], step.bodies["body"]
    carried = _entering(step, [values[name] for name in step.inputs])
    while True:
        (condition,) = yield Environment(cond, dict(zip(cond.inputs, carried, strict=True)), values)
        if not _truth(tensor(condition, cond.outputs[0]), step):
            return carried
        leaving = yield Environment(body, dict(zip(body.inputs, carried, strict=True)), values)
        carried = _entering(step, leaving)


def _loop(step: Step, values: Environment) -> Control:
    """Run `for (i = 0; i < trips and keep_going; i++)`; return carried values, then outputs of iterations, stacked."""
    body = step.bodies["body"]
    limit, condition = (*step.inputs, "", "")[:2]
    trips = int(_scalar(_whole(values.array(limit), step), "a number of iterations", step)) if limit else None
    keep_going = _truth(values.array(condition), step) if condition else True
    carried = _entering(step, [values[name] if name else None for name in step.inputs[2:]])
    columns: list[list[Array]] = [[] for _ in step.outputs[len(carried) :]]
    count = 0
    while keep_going and (trips is None or count < trips):
        entering: list[Value] = [np.asarray(count, np.int64), np.asarray(keep_going), *carried]
        leaving = yield Environment(body, dict(zip(body.inputs, entering, strict=True)), values)
        keep_going = _truth(tensor(leaving[0], body.outputs[0]), step)
        carried = _entering(step, leaving[1 : 1 + len(carried)])
        for column, value in zip(columns, leaving[1 + len(carried) :], strict=False):
            column.append(tensor(value, step.layer))
        count += 1
    stacked: list[Value] = [_stacked(step, at, column) for at, column in enumerate(columns)]
    return [*carried, *stacked]


def _scan(step: Step, values: Environment) -> Control:
    """Carry states along slices of the scanned inputs; the outputs of all slices are stacked along their axes."""
    attributes, body = step.attributes, step.bodies["body"]
    scanned = int(attributes["num_scan_inputs"])
    if attributes["batched"]:
        return (yield from _batched_scan(step, values, scanned))
    names = step.inputs
    states = _entering(step, [values[name] for name in names[: len(names) - scanned]])
    outputs = len(body.outputs) - len(states)
    axes: list[int] = attributes.get("scan_input_axes") or [0] * scanned
    directions: list[int] = attributes.get("scan_input_directions") or [0] * scanned
    slices = [
        _moved(step, values.array(name), axis, 0)[:: -1 if backwards else 1]
        for name, axis, backwards in zip(names[len(names) - scanned :], axes, directions, strict=True)
    ]
    if len({len(rows) for rows in slices}) > 1:
        _refuse(step, "inputs of one length", ", ".join(str(len(rows)) for rows in slices))
    states, columns = yield from _scanned(step, states, slices, values)
    axes = attributes.get("scan_output_axes") or [0] * outputs
    directions = attributes.get("scan_output_directions") or [0] * outputs
    stacked: list[Value] = [
        _moved(step, _stacked(step, at, column[:: -1 if backwards else 1]), 0, axis)
        for at, (column, axis, backwards) in enumerate(zip(columns, axes, directions, strict=True))
    ]
    return [*states, *stacked]


def _scanned(
    step: Step, states: list[Value], slices: Sequence[Array], values: Environment
) -> Generator[Environment, list[Value], tuple[list[Value], list[list[Array]]]]:
    """Return the states after all slices, and for each output its value of each slice."""
    body = step.bodies["body"]
    columns: list[list[Array]] = [[] for _ in range(len(body.outputs) - len(states))]
    for items in zip(*slices, strict=True):
        entering: list[Value] = [*states, *(np.array(item) for item in items)]
        leaving = yield Environment(body, dict(zip(body.inputs, entering, strict=True)), values)
        states = _entering(step, leaving[: len(states)])
        for column, value in zip(columns, leaving[len(states) :], strict=True):
            column.append(tensor(value, step.layer))
    return states, columns


def _batched_scan(step: Step, values: Environment, scanned: int) -> Control:
    """Run Scan of opset 8: everything has a leading batch axis, and each entry of it has a length of its own."""
    body, (lengths, *names) = step.bodies["body"], step.inputs
    states = [values.array(name) for name in names[: len(names) - scanned]]
    directions: list[int] = step.attributes.get("directions") or [0] * scanned
    inputs = [values.array(name) for name in names[len(names) - scanned :]]
    leading = {x.shape[:2] for x in inputs}
    if len(leading) > 1 or inputs[0].ndim < 2:
        _refuse(step, "inputs of one batch and length", ", ".join(str(list(x.shape)) for x in inputs))
    ((batch, longest),) = leading
    counts: list[int] = _whole(values.array(lengths), step).tolist() if lengths else [longest] * batch
    if np.shape(counts) != (batch,) or not all(0 <= count <= longest for count in counts):
        _refuse(step, f"{batch} lengths from 0 to {longest}", str(counts))
    if any(state.shape[:1] != (batch,) for state in states):
        _refuse(step, f"states of a batch of {batch}", ", ".join(str(list(state.shape)) for state in states))
    if not batch:
        empty = [_stacked(step, at, []) for at in range(len(body.outputs) - len(states))]
        return [*states, *(np.zeros((0, longest, *output.shape[1:]), output.dtype) for output in empty)]
    rows: list[list[Array]] = []
    for entry, count in enumerate(counts):
        slices = [x[entry, :count][:: -1 if back else 1] for x, back in zip(inputs, directions, strict=True)]
        final, columns = yield from _scanned(step, [np.array(state[entry]) for state in states], slices, values)
        padded: list[Array] = []
        for at, column in enumerate(columns):
            stacked = _stacked(step, at, column)
            padded.append(
                np.concatenate([stacked, np.zeros((longest - len(stacked), *stacked.shape[1:]), stacked.dtype)])
            )
        rows.append([*(tensor(state, step.layer) for state in final), *padded])
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _entering(step: Step, carried: Sequence[Value]) -> list[Value]:
    """Return the inputs of an iteration; those that iterations change are not `Known`, or each would need own code."""
    unchanged = step.unchanged
    return [value if at in unchanged else computed(value) for at, value in enumerate(carried)]


def _stacked(step: Step, at: int, column: Sequence[Array]) -> Array:
    """Return the values that iterations gave output `at`, stacked along a new first axis."""
    if not column:
        types: Sequence[tuple[tuple[int, ...], np.dtype[np.generic]]] = step.attributes["scan_types"]
        shape, dtype = types[at]
        return np.zeros((0, *shape), dtype)
    shapes = list(dict.fromkeys(array.shape for array in column))
    if len(shapes) > 1:
        first, second = (str(list(shape)) for shape in shapes[:2])
        _refuse(step, f"iterations that leave one shape, {first} of the first", second)
    return np.stack(column)


def _moved(step: Step, array: Array, source: int, target: int) -> Array:
    """Return an array with one of its axes moved."""
    for axis in (source, target):
        if not -array.ndim <= axis < array.ndim:
            _refuse(step, f"a tensor that has an axis {axis}", f"one of shape {list(array.shape)}")
    return np.moveaxis(array, source, target)


def _truth(array: Array, step: Step) -> bool:
    return bool(_scalar(array, "a condition", step))


def _whole(array: Array, step: Step) -> Array:
    if array.dtype.kind not in "iu":
        _refuse(step, "a count of whole numbers", str(array.dtype))
    return array


def _scalar(array: Array, what: str, step: Step) -> bool | int | float:
    if array.size != 1:
        _refuse(step, f"{what} of one element", str(array.shape))
    return array.reshape(()).item()


def _refuse(step: Step, expected: str, actual: str) -> NoReturn:
    raise FrontendError(expectation(step.kind, expected, actual, f"layer '{step.layer}'"))


CONTROL: dict[str, Callable[[Step, Environment], Control]] = {"If": _if, "Loop": _loop, "Scan": _scan, "While": _while}
NEVER_COMPILED = {"Loop", "Scan", "While"}
