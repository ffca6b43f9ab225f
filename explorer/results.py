"""Which layer's value an op or kernel call gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from ..dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ..planning.artifact import Artifact
from ..provenance.span import leaves
from .layers import functions, snapshot

_MOVES = ("relay.layout_transform",)
"""Operators that passes put between others: the layer that asked for one does not make the value that it moves."""


def value_leaf(op: Operation, known: Mapping[str, FuncOp]) -> LocationAttr | None:
    """The leaf of the layer whose value is the first result of an op of `@main`; None for a mover, and where none is.

    known: the primitive functions that calls call.
    """
    if isinstance(op, ConstantOp | ReturnOp) or not op.results or op.name in _MOVES:
        return None
    if (
        isinstance(op, CallOp)
        and (func := known.get(op.callee.string_value())) is not None
        and func.primitive is not None
    ):
        producer: Operation | object = func.return_op.operands[0].owner
        while isinstance(producer, Operation) and producer.name in _MOVES:
            producer = producer.operands[0].owner
        return next(iter(leaves(producer.location)), None) if isinstance(producer, Operation) else None
    return next(iter(leaves(op.location)), None)


def _serves(op: Operation, known: Mapping[str, FuncOp]) -> Iterable[LocationAttr]:
    """The leaves of the layers that an op works for, movers left out."""
    if isinstance(op, ConstantOp | ReturnOp) or op.name in _MOVES:
        return
    func = known.get(op.callee.string_value()) if isinstance(op, CallOp) else None
    inner = (
        [inner_op for inner_op in func.block.ops if not isinstance(inner_op, ReturnOp)] if func is not None else [op]
    )
    for inner_op in inner:
        if inner_op.name not in _MOVES:
            yield from leaves(inner_op.location)


def last_values(main: FuncOp, known: Mapping[str, FuncOp]) -> dict[LocationAttr, Operation]:
    """Leaf of a layer -> the op of `@main` that gives its value, where no later op works for the layer."""
    ops = list(main.block.ops)
    last = {leaf: op for op in ops for leaf in _serves(op, known)}
    by_leaf: dict[LocationAttr, Operation] = {}
    for op in ops:
        leaf = value_leaf(op, known)
        if leaf is not None and last.get(leaf) is op:
            by_leaf[leaf] = op
    return by_leaf


def results(artifact: Artifact) -> dict[int, LocationAttr]:
    """Number of a call -> the leaf of the layer whose value it gives; what only moves another one's value has none."""
    by_name = functions(snapshot(artifact, "fused"))
    calls = (op for op in by_name["main"].block.ops if isinstance(op, CallOp))
    numbers: dict[Operation, int] = {op: number for number, op in enumerate(calls)}
    return {numbers[op]: leaf for leaf, op in last_values(by_name["main"], by_name).items()}
