"""Steps that choose or repeat others, as ONNX and TFLite have them.

Each is a generator: it yields the values with which a body is to run, and is sent what the body left.
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
    # ONNX's branches take nothing but what is around them.
    entering = {name: values[operand] for name, operand in zip(body.inputs, step.inputs[1:], strict=False)}
    return (yield Environment(body, entering, values))


def _while(step: Step, values: Environment) -> Control:
    """TFLite's: a condition and a body, both of all that is carried."""
    cond, body = step.bodies["cond"], step.bodies["body"]
    carried = _entering(step, [values[name] for name in step.inputs])
    while True:
        (going,) = yield Environment(cond, dict(zip(cond.inputs, carried, strict=True)), values)
        if not _truth(tensor(going, cond.outputs[0]), step):
            return carried
        leaving = yield Environment(body, dict(zip(body.inputs, carried, strict=True)), values)
        carried = _entering(step, leaving)


def _loop(step: Step, values: Environment) -> Control:
    """`for (i = 0; i < trips and keep_going; i++)`: carried values, then what each iteration leaves, stacked."""
    body = step.bodies["body"]
    limit, condition = (*step.inputs, "", "")[:2]
    trips = int(_scalar(_whole(values.array(limit), step), "a number of iterations", step)) if limit else None
    going = _truth(values.array(condition), step) if condition else True
    carried = _entering(step, [values[name] if name else None for name in step.inputs[2:]])
    kept: list[list[Array]] = [[] for _ in step.outputs[len(carried) :]]
    count = 0
    while going and (trips is None or count < trips):
        entering: list[Value] = [np.asarray(count, np.int64), np.asarray(going), *carried]
        leaving = yield Environment(body, dict(zip(body.inputs, entering, strict=True)), values)
        going = _truth(tensor(leaving[0], body.outputs[0]), step)
        carried = _entering(step, leaving[1 : 1 + len(carried)])
        for column, value in zip(kept, leaving[1 + len(carried) :], strict=False):
            column.append(tensor(value, step.layer))
        count += 1
    stacked: list[Value] = [_stacked(step, at, column) for at, column in enumerate(kept)]
    return [*carried, *stacked]


def _scan(step: Step, values: Environment) -> Control:
    """States carried along slices of the scanned inputs; outputs of each slice are stacked along their axes."""
    attributes, body = step.attributes, step.bodies["body"]
    scanned = int(attributes["num_scan_inputs"])
    if attributes["batched"]:
        return (yield from _batched_scan(step, values, scanned))
    names = step.inputs
    states = _entering(step, [values[name] for name in names[: len(names) - scanned]])
    outputs = len(body.outputs) - len(states)
    axes: list[int] = attributes.get("scan_input_axes") or [0] * scanned
    backwards: list[int] = attributes.get("scan_input_directions") or [0] * scanned
    slices = [
        _moved(step, values.array(name), axis, 0)[:: -1 if back else 1]
        for name, axis, back in zip(names[len(names) - scanned :], axes, backwards, strict=True)
    ]
    if len({len(rows) for rows in slices}) > 1:
        _refuse(step, "inputs of one length", ", ".join(str(len(rows)) for rows in slices))
    states, columns = yield from _scanned(step, states, slices, values)
    axes = attributes.get("scan_output_axes") or [0] * outputs
    backwards = attributes.get("scan_output_directions") or [0] * outputs
    stacked: list[Value] = [
        _moved(step, _stacked(step, at, column[:: -1 if back else 1]), 0, axis)
        for at, (column, axis, back) in enumerate(zip(columns, axes, backwards, strict=True))
    ]
    return [*states, *stacked]


def _scanned(
    step: Step, states: list[Value], slices: Sequence[Array], values: Environment
) -> Generator[Environment, list[Value], tuple[list[Value], list[list[Array]]]]:
    """The states after all slices, and what each slice left of each output."""
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
    """Scan of opset 8: everything has a leading axis of a batch, of which each entry has a length of its own."""
    body, (lengths, *names) = step.bodies["body"], step.inputs
    states = [values.array(name) for name in names[: len(names) - scanned]]
    backwards: list[int] = step.attributes.get("directions") or [0] * scanned
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
        nothing = [_stacked(step, at, []) for at in range(len(body.outputs) - len(states))]
        return [*states, *(np.zeros((0, longest, *output.shape[1:]), output.dtype) for output in nothing)]
    left: list[list[Array]] = []
    for entry, count in enumerate(counts):
        slices = [x[entry, :count][:: -1 if back else 1] for x, back in zip(inputs, backwards, strict=True)]
        final, columns = yield from _scanned(step, [np.array(state[entry]) for state in states], slices, values)
        padded: list[Array] = []
        for at, column in enumerate(columns):
            stacked = _stacked(step, at, column)
            padded.append(
                np.concatenate([stacked, np.zeros((longest - len(stacked), *stacked.shape[1:]), stacked.dtype)])
            )
        left.append([*(tensor(state, step.layer) for state in final), *padded])
    return [np.stack(column) for column in zip(*left, strict=True)]


def _entering(step: Step, carried: Sequence[Value]) -> list[Value]:
    """Return the inputs of an iteration. What iterations change is no longer known, or each would have its own code."""
    unchanged = step.unchanged
    return [value if at in unchanged else computed(value) for at, value in enumerate(carried)]


def _stacked(step: Step, at: int, column: Sequence[Array]) -> Array:
    """Return what iterations left of output `at`, stacked along a new first axis."""
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
    """An array with one of its axes elsewhere."""
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
