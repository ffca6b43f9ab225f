"""The layers whose values the tensors of a model are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ..dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ..dialects.relay.transform import LayoutTransformOp
from ..planning.artifact import Artifact
from ..provenance.layer_values import LayerValues
from ..provenance.ledger import LayerValue, Ledger
from ..provenance.moving import moved_value
from ..provenance.numbers import number_of
from ..provenance.span import leaves
from ..runtime.values.moves import Move, shortest
from .layers import functions, snapshot


def last_values(main: FuncOp) -> dict[LocationAttr, Operation]:
    """Leaf of a layer -> the op of an imported `@main` that gives its value: the last that works for it."""
    ops = [op for op in main.block.ops if op.results and not isinstance(op, ConstantOp | ReturnOp)]
    last = {leaf: op for op in ops for leaf in leaves(op.location)}
    first = {op: next(iter(leaves(op.location)), None) for op in ops}
    return {leaf: op for leaf, op in last.items() if first[op] == leaf}


def imported_values(module: ModuleOp, ledger: Ledger) -> LayerValues[LayerValue]:
    """The values of the layers of a module before any pass, to be followed through passes.

    They are those that the import wrote down; of other layers the results of the last op that works for them.
    """
    written = {leaf for leaf, _ in ledger.gives}
    values = [(value, layer) for layer, value in ledger.gives.items()]
    for leaf, op in last_values(functions(module)["main"]).items():
        if leaf not in written:
            values += [((number_of(op), index), (leaf, index)) for index in range(len(op.results))]
    return LayerValues(values)


def values_in(module: ModuleOp, values: LayerValues[LayerValue]) -> dict[SSAValue, dict[LayerValue, Move]]:
    """Result of an op of `@main` -> the layers' values that it is after a move, where it is any.

    A kernel gives the values that it returns: others in it are nowhere in memory. A value belongs to the op that
    computes it: what only brings it to another layout gives none.
    """
    by_name = functions(module)
    calls = [op for op in by_name["main"].block.ops if isinstance(op, CallOp)]
    callers = {by_name[name].block: call for call in calls if (name := call.callee.string_value()) in by_name}
    held: dict[SSAValue, dict[LayerValue, Move]] = {}
    for func in by_name.values():
        for op in func.block.ops:
            for result in op.results:
                if layers := values.of(number_of(op), result.index):
                    origin = _computing(result, by_name, callers)
                    moves = {layer: (*origin.move, *move) for layer, move in layers.items()}
                    held.setdefault(origin.value, {}).update(moves)
    by_result: dict[SSAValue, dict[LayerValue, Move]] = {}
    for op in by_name["main"].block.ops:
        for result in op.results if not isinstance(op, ConstantOp) else ():
            origin = _computing(result, by_name, {})
            if layers := held.get(origin.value):
                by_result[result] = {layer: shortest((*origin.back, *move)) for layer, move in layers.items()}
    return by_result


class _Origin(NamedTuple):
    """The value that a result is in another layout."""

    value: SSAValue
    move: Move
    """The move that makes the result of the value."""
    back: Move


def _computing(value: SSAValue, by_name: Mapping[str, FuncOp], callers: Mapping[Block, CallOp]) -> _Origin:
    """The value before it was brought to other layouts, in kernels and, where their callers are known, between them."""
    move: Move = ()
    back: Move = ()
    while True:
        owner = value.owner
        if isinstance(owner, LayoutTransformOp) and (moved := moved_value(owner)) is not None:
            value, move, back = moved.operand, (moved.step, *move), (*back, moved.back)
        elif isinstance(owner, CallOp) and isinstance(value, OpResult) and owner.callee.string_value() in by_name:
            value = by_name[owner.callee.string_value()].return_op.operands[value.index]
        elif isinstance(owner, Block) and isinstance(value, BlockArgument) and owner in callers:
            value = callers[owner].arguments[value.index]
        else:
            return _Origin(value, move, back)


def results(artifact: Artifact) -> dict[tuple[int, int], dict[LayerValue, Move]]:
    """Number of a call, and of its output -> the layers' values that it is after a move; other tensors have none."""
    values = imported_values(snapshot(artifact, "relay"), artifact.ledger)
    values.follow(artifact.ledger)
    module = snapshot(artifact, "fused")
    calls = [op for op in functions(module)["main"].block.ops if isinstance(op, CallOp)]
    numbers: dict[Operation, int] = {op: number for number, op in enumerate(calls)}
    return {
        (numbers[result.op], result.index): layers
        for result, layers in values_in(module, values).items()
        if isinstance(result, OpResult) and result.op in numbers
    }
