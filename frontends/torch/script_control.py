# pyright: basic, reportMissingImports=false
"""Evaluates branches and loops of TorchScript where their conditions are known; else makes graphs of them.

A branch or body that a call decides about must leave outer lists unchanged. A loop's body is read again until its
inputs are as general as its results: numbers that change are computed, extents that change are open.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...support.errors import FrontendError, FrontendWarning
from .schema import Argument, Graph, Name, Node
from .script_evaluate import Evaluation
from .script_values import Number, Tensor, computed_in, leaves_of

_ROUNDS = 10
"""The greatest number of readings of a loop's body."""


class Raised(FrontendError):
    """The program raises an error of its own."""


def raise_error(evaluation: Evaluation, node: Any) -> list[Any]:
    text = next(iter(evaluation.inputs(node)), "")
    raise Raised(str(evaluation.fail(node, "inputs that the program takes", f"its error '{text}'")))


@contextmanager
def _inside(evaluation: Evaluation, node: Any) -> Iterator[list[Node]]:
    """Read the nodes of a graph that a call decides about, which must leave outer lists unchanged."""
    saved = evaluation.nodes, dict(evaluation.env)
    containers = {id(value): (value, list(leaves_of(value))) for value in evaluation.env.values() if _holds(value)}
    evaluation.nodes = nodes = []
    evaluation.depth += 1
    try:
        yield nodes
    finally:
        evaluation.depth -= 1
        evaluation.nodes = saved[0]
        evaluation.env = saved[1]
    for value, items in containers.values():
        items_now = list(leaves_of(value))
        if len(items_now) != len(items) or any(a is not b for a, b in zip(items_now, items, strict=True)):
            raise evaluation.fail(node, "lists of a length that sizes and constants decide", "one that values decide")


def _holds(value: Any) -> bool:
    return isinstance(value, list | dict)


def _graph(nodes: Sequence[Node], evaluation: Evaluation, inputs: Sequence[str], outputs: Sequence[Argument]) -> Graph:
    return Graph(tuple(map(Name, inputs)), tuple(outputs), nodes, evaluation.metas, "a graph of the program")


def branch(evaluation: Evaluation, node: Any) -> list[Any]:
    """`prim::If`: the branch that is taken, or both where a call chooses and neither raises an error."""
    (condition,) = evaluation.inputs(node)
    then, other = node.blocks()
    if not isinstance(condition, Number | Tensor):
        return evaluation.block(then if condition else other)
    results: list[list[Any]] = []
    bodies: list[list[Node]] = []
    for block in (then, other):
        try:
            with _inside(evaluation, node) as nodes:
                results.append(evaluation.block(block))
            bodies.append(nodes)
        except Raised as raised:
            text = f"raising exceptions is ignored: {raised}"
            warnings.warn(FrontendWarning(text), stacklevel=2)
            return evaluation.block(other if block is then else then)
    joined = [_joined(evaluation, node, at, *pair) for at, pair in enumerate(zip(*results, strict=True))]
    outputs = [leaf.name for leaf in leaves_of(joined) if isinstance(leaf, Fresh)]
    graphs = [
        _graph(nodes, evaluation, (), _leaving(evaluation, node, joined, branch_results))
        for nodes, branch_results in zip(bodies, results, strict=True)
    ]
    arguments: dict[str, Argument] = {
        "pred": evaluation.lowered(node, condition, "Scalar"),
        "true_graph": graphs[0],
        "false_graph": graphs[1],
        "operands": (),
    }
    evaluation.add(node, "higher_order.cond", arguments, [[name] for name in outputs])
    return [_settled(value) for value in joined]


@dataclass(eq=False)
class Fresh:
    """A result that differs from call to call."""

    name: str
    value: Any


def _settled(value: Any) -> Any:
    if isinstance(value, Fresh):
        return value.value
    if isinstance(value, list | tuple):
        return type(value)(map(_settled, value))
    return value


def _leaving(evaluation: Evaluation, node: Any, joined: Any, results: Any) -> list[Argument]:
    """Return the results of a graph that differ from call to call."""
    if isinstance(joined, Fresh):
        if isinstance(joined.value, Tensor) and isinstance(results, bool | int | float):
            results = evaluation.constant(f"{evaluation.names.own(node)}_number", evaluation.torch.tensor(results))
        return [evaluation.lowered(node, results, "Scalar")]
    if isinstance(joined, list | tuple):
        pairs = zip(joined, results, strict=True)
        return [leaf for pair in pairs for leaf in _leaving(evaluation, node, *pair)]
    return []


def _joined(evaluation: Evaluation, node: Any, at: int, a: Any, b: Any) -> Any:
    """Return one value for two that a call chooses between."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            raise evaluation.fail(node, "lists of one length from both branches", f"{len(a)} and {len(b)}")
        return type(a)(_joined(evaluation, node, at, x, y) for x, y in zip(a, b, strict=True))
    if a is b or (not computed_in([a, b]) and type(a) is type(b) and a == b):
        return a
    name = f"{evaluation.names.own(node)}_{at}"
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        value = evaluation.tensor(name, _common(evaluation, node, a.fake, b.fake))
        return Fresh(value.name, value)
    if all(isinstance(value, Number | bool | int | float) for value in (a, b)):
        value = Number(evaluation.fresh(name), symbol_like(evaluation, a if isinstance(a, Number) else b))
        return Fresh(value.name, value)
    raise evaluation.fail(node, "values of one kind from both branches", f"{_kind(a)} and {_kind(b)}")


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def symbol_like(evaluation: Evaluation, value: Any) -> Any:
    """Return a new symbol of torch's for a number of the kind of `value`."""
    torch, environment = evaluation.torch, evaluation.mode.shape_env
    inner = value.symbol if isinstance(value, Number) else value
    if isinstance(inner, bool | torch.SymBool):
        return environment.create_unbacked_symbool()
    if isinstance(inner, float | torch.SymFloat):
        return environment.create_unbacked_symfloat()
    return environment.create_unbacked_symint()


def _common(evaluation: Evaluation, node: Any, a: Any, b: Any) -> Any:
    """Return the common type of two tensors that a call chooses between; extents that differ are open."""
    if a is None or b is None:
        return None
    if a.dtype != b.dtype or a.dim() != b.dim():
        types = f"{a.dtype} of {a.dim()} axes and {b.dtype} of {b.dim()}"
        raise evaluation.fail(node, "tensors of one element type and rank", types)
    pairs = [(x if isinstance(x, int) else None, y) for x, y in zip(a.shape, b.shape, strict=True)]
    if all(x == y for x, y in pairs if x is not None) and all(x is not None for x, _ in pairs):
        with evaluation.mode:
            return a.detach().clone()
    sizes = [x if isinstance(y, int) and x == y else evaluation.extent() for x, y in pairs]
    with evaluation.mode:
        return evaluation.torch.empty(sizes, dtype=a.dtype)


def loop(evaluation: Evaluation, node: Any) -> list[Any]:
    """`prim::Loop`: unrolled while its condition and number of turns are known; the rest is a loop in the program."""
    limit, condition, *carried = evaluation.inputs(node)
    (body,) = node.blocks()
    counter, *parameters = (value.debugName() for value in body.inputs())
    turn = 0
    while not isinstance(condition, Number | Tensor) and not isinstance(limit, Number):
        if not condition or turn >= limit:
            return carried
        evaluation.env[counter] = turn
        evaluation.env.update(zip(parameters, carried, strict=True))
        condition, *carried = evaluation.block(body)
        turn += 1
    return _Loop(evaluation, node, body, turn).run(limit, condition, carried)


@dataclass(eq=False)
class _Loop:
    """A loop in the program, after some turns that were unrolled."""

    evaluation: Evaluation
    node: Any
    body: Any
    turn: int

    def run(self, limit: Any, condition: Any, carried: Sequence[Any]) -> list[Any]:
        evaluation, node = self.evaluation, self.node
        initial = list(leaves_of(list(carried)))
        general = [_general(evaluation, leaf) for leaf in initial]
        for _ in range(_ROUNDS):
            missing = {kind: list(places) for kind, places in evaluation.missing.items()}
            entered, nodes, body_results, inputs = self.read(carried, general)
            wider = [
                _wider(evaluation, node, *values)
                for values in zip(general, entered, leaves_of(list(body_results[1:])), strict=True)
            ]
            if wider == general:
                break
            general = wider
            evaluation.missing = missing
        else:
            raise evaluation.fail(node, f"values that are general after {_ROUNDS} readings", "others")
        kept = [at for at, kind in enumerate(general) if kind is not None]
        names = [Name(f"{evaluation.names.own(node)}_{at}") for at in kept]
        final = list(leaves_of(list(body_results[1:])))
        outputs = [self.argument(body_results[0]), *(self.argument(final[at], general[at]) for at in kept)]
        arguments: dict[str, Argument] = {
            "trips": self.argument(limit - self.turn if isinstance(limit, int) else limit),
            "condition": self.argument(condition),
            "body": _graph(nodes, evaluation, inputs, outputs),
            "operands": tuple(self.argument(initial[at], general[at]) for at in kept),
        }
        results: list[Any] = list(initial)
        groups: list[list[str]] = []
        for at, name in zip(kept, names, strict=True):
            results[at] = self.fresh(name.name, general[at])
            groups.append([results[at].name])
        evaluation.add(node, "whence.loop", arguments, groups)
        return list(_refilled(list(carried), iter(results)))

    def argument(self, value: Any, kind: Any = None) -> Argument:
        evaluation = self.evaluation
        if kind is not None and not isinstance(kind, str) and isinstance(value, bool | int | float):
            value = evaluation.constant(f"{evaluation.names.own(self.node)}_first", evaluation.torch.tensor(value))
        return evaluation.lowered(self.node, value, "Scalar")

    def fresh(self, name: str, kind: Any) -> Any:
        """Return a value of a general kind."""
        evaluation = self.evaluation
        if isinstance(kind, str):
            sample = {"bool": True, "int": 1, "float": 1.0}[kind]
            return Number(evaluation.fresh(name), symbol_like(evaluation, sample))
        dtype, shape = kind
        sizes = [evaluation.extent() if extent is None else extent for extent in shape]
        with evaluation.mode:
            fake = evaluation.torch.empty(sizes, dtype=dtype)
        return evaluation.tensor(name, fake)

    def read(self, carried: Sequence[Any], general: Sequence[Any]) -> tuple[Any, list[Node], list[Any], list[str]]:
        """Read the body for values of general kinds; return these values, its nodes, its results, and its inputs."""
        evaluation, node = self.evaluation, self.node
        counter, *parameters = (value.debugName() for value in self.body.inputs())
        with _inside(evaluation, node) as nodes:
            name = evaluation.names.own(node)
            number = Number(evaluation.fresh(f"{name}_turn"), symbol_like(evaluation, 1))
            inputs = [number.name]
            entered: list[Any] = []
            for at, (leaf, kind) in enumerate(zip(leaves_of(list(carried)), general, strict=True)):
                entered.append(leaf if kind is None else self.fresh(f"{name}_carried_{at}", kind))
                if kind is not None:
                    inputs.append(entered[-1].name)
            evaluation.env[counter] = self.counted(number)
            evaluation.env.update(zip(parameters, _refilled(list(carried), iter(entered)), strict=True))
            results = evaluation.block(self.body)
        return entered, nodes, results, inputs

    def counted(self, number: Number) -> Number:
        """Return the number of a turn, unrolled turns included."""
        if not self.turn:
            return number
        evaluation = self.evaluation
        result = Number(evaluation.fresh(f"{number.name}_all"), number.symbol + self.turn)
        arguments: dict[str, Argument] = {"arg0": Name(number.name, number=True), "arg1": self.turn}
        evaluation.add(self.node, "_operator.add", arguments, [[result.name]])
        return result


def _refilled(value: Any, leaves: Iterator[Any]) -> Any:
    """Return a structure with other leaves, in order."""
    if isinstance(value, list | tuple):
        return type(value)([_refilled(item, leaves) for item in value])
    if isinstance(value, dict):
        return {key: _refilled(item, leaves) for key, item in value.items()}
    return next(leaves)


def _general(evaluation: Evaluation, leaf: Any) -> Any:
    """Return the kind of a loop's input: element type and extents, or the kind of a number; None for a constant."""
    if isinstance(leaf, Tensor):
        if leaf.fake is None:
            return None
        return leaf.fake.dtype, tuple(size if isinstance(size, int) else None for size in leaf.fake.shape)
    return _number_kind(evaluation, leaf) if isinstance(leaf, Number) else None


def _number_kind(evaluation: Evaluation, value: Any) -> str:
    torch = evaluation.torch
    inner = value.symbol if isinstance(value, Number) else value
    if isinstance(inner, bool | torch.SymBool):
        return "bool"
    return "float" if isinstance(inner, float | torch.SymFloat) else "int"


def _wider(evaluation: Evaluation, node: Any, kind: Any, before: Any, after: Any) -> Any:
    """Return the kind of a loop's input that covers its result `after`, too."""
    if kind is None:
        if before is after or (type(before) is type(after) and not computed_in([before]) and before == after):
            return None
        if isinstance(before, bool | int | float) and isinstance(after, Number | bool | int | float):
            return _number_kind(evaluation, before)
        raise evaluation.fail(node, "values that keep their kind from turn to turn", f"{_kind(before)}, {_kind(after)}")
    if isinstance(kind, str):
        return kind
    dtype, shape = kind
    other = _general(evaluation, after)
    if not isinstance(after, Tensor) or other is None or other[0] != dtype or len(other[1]) != len(shape):
        raise evaluation.fail(node, f"a tensor of {dtype} and {len(shape)} axes in each turn", _shown(after))
    return dtype, tuple(a if a == b else None for a, b in zip(shape, other[1], strict=True))


def _shown(value: Any) -> str:
    return f"{value.fake.dtype} of {value.fake.dim()} axes" if isinstance(value, Tensor) else _kind(value)
