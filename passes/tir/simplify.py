"""tir-simplify: index maps, guards and trivial loops, under the ranges that the loops give their variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import CmpiOp, ConstantOp, MaxSIOp, MinSIOp, SelectOp, SubiOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ...dialects.sizes import same
from ...dialects.tir import ForOp, IfOp, LoadOp, PrimFuncOp, prim_funcs
from ...dialects.tir.index_maps import Mapped, Ranges, blocks_of, simplify_maps, update, view
from .analysis.comparisons import decided, ends_of, least_or_most
from .analysis.identities import unchanged
from .rewriting.constants import constant, zero
from .rewriting.merging import merged
from .rewriting.ops import drop, inline_before, record, replace_var


def run(func: PrimFuncOp, *, keep_trivial_loops: bool = False) -> None:
    """Simplify one kernel in place; loops of extent 1 stay if they are to be kept."""
    _block(func.block, {}, keep_trivial_loops)


def _block(block: Block, ranges: Ranges, keep: bool) -> None:
    for op in list(block.ops):
        match op:
            case ForOp():
                _for(op, ranges, keep)
            case IfOp():
                _if(op, ranges, keep)
            case CmpiOp():
                if (holds := decided(op, ranges)) is not None:
                    _replace(
                        op, constant(IntegerAttr(int(holds), i1), i1, op.location), "DecidedCompare", "by its ranges"
                    )
            case SelectOp():
                if isinstance(owner := op.cond.owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
                    chosen, other = (op.lhs, op.rhs) if owner.value.value.data else (op.rhs, op.lhs)
                    _substitute(op, chosen, "DecidedSelect", "its condition is a constant")
                    _forget(other)
                elif (value := unchanged(op)) is not None:
                    _substitute(op, value, "SameChoice", "it selects among equals")
            case MinSIOp() | MaxSIOp():
                if (value := least_or_most(op, ranges) or unchanged(op)) is not None:
                    _substitute(op, value, "DecidedOrder", "by the ranges of both")
                elif (ends := ends_of(op, ranges)) is not None:
                    ranges[op.result] = ends
            case SubiOp() if op.lhs is op.rhs:
                _replace(op, constant(zero(op.result.type), op.result.type, op.location), "Nothing", "x - x is 0")
            case _ if isinstance(op, Mapped):
                _access(op, ranges)
            case _ if not op.regions:
                if (value := unchanged(op)) is not None:
                    _substitute(op, value, "Identity", "it gives one of its operands")
                elif (ops := merged(op)) is not None:
                    _merge(op, ops)
            case _:
                for inner, inner_ranges in blocks_of(op, ranges):
                    _block(inner, inner_ranges, keep)


def _for(op: ForOp, ranges: Ranges, keep: bool) -> None:
    extent = op.trip_count
    if same(extent, 0):
        drop(op, "EmptyLoop", "a loop of extent 0")
        return
    ranges[op.var] = op.bounds
    _block(op.block, ranges, keep)
    if same(extent, 1) and not keep:
        replace_var(op, 0)
        moved = inline_before(op.block, op)
        record("UnitLoop", op, "a loop of extent 1", moved)
        op.detach()
        op.erase()


def _if(op: IfOp, ranges: Ranges, keep: bool) -> None:
    seen = view(op, ranges)
    simplified = simplify_maps((), seen.guard, seen.ranges)
    if simplified.never or simplified.guard is None:
        branch = (
            op.orelse.block if simplified.never and op.orelse is not None else None if simplified.never else op.block
        )
        if branch is None:
            drop(op, "NeverTaken", "its guard never holds")
            return
        _block(branch, ranges, keep)
        moved = inline_before(branch, op)
        record("DecidedIf", op, f"its guard {'never' if simplified.never else 'always'} holds", moved)
        op.detach()
        op.erase()
        return
    update(op, seen.values, simplified)
    for inner, inner_ranges in blocks_of(op, ranges):
        _block(inner, inner_ranges, keep)


def _access(op: Mapped, ranges: Ranges) -> None:
    seen = view(op, ranges)
    simplified = simplify_maps(seen.map, seen.guard, seen.ranges)
    if not simplified.never:
        update(op, seen.values, simplified)
        return
    assert isinstance(op, LoadOp)
    assert op.otherwise is not None
    _replace(op, constant(op.otherwise, op.result.type, op.location), "NeverRead", "its guard never holds")


def _replace(op: Operation, number: ConstantOp, pattern: str, reason: str) -> None:
    """Replace the result of `op` by a constant."""
    assert op.parent is not None
    op.parent.insert_op_before(number, op)
    _substitute(op, number.result, pattern, reason)


def _substitute(op: Operation, value: SSAValue, pattern: str, reason: str) -> None:
    """Replace the result of `op` by `value`."""
    op.results[0].replace_all_uses_with(value)
    record(pattern, op, reason, [value.owner] if isinstance(value.owner, Operation) else ())
    op.detach()
    op.erase()


def _merge(op: Operation, ops: Sequence[Operation]) -> None:
    """Replace `op`, and those of its operands that nothing else reads, by `ops`."""
    assert op.parent is not None
    operands = list(op.operands)
    op.parent.insert_ops_before(ops, op)
    op.results[0].replace_all_uses_with(ops[-1].results[0])
    record("Merge", op, "it is one operation with what it reads", ops)
    op.detach()
    op.erase()
    for value in dict.fromkeys(operands):
        owner = value.owner
        if (
            isinstance(owner, Operation)
            and is_side_effect_free(owner)
            and not any(result.uses for result in owner.results)
        ):
            drop(owner, "Merge", "it is one operation with what reads it")


def _forget(value: SSAValue) -> None:
    """Remove ops with unused results: a load at an index that is data would prevent vectors."""
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, Operation) or owner.parent is None or owner.regions or isinstance(owner, ConstantOp):
            continue
        if any(result.uses for result in owner.results):
            continue
        if isinstance(owner, LoadOp) or is_side_effect_free(owner):
            pending += owner.operands
            drop(owner, "Unchosen", "no select chooses it")


@dataclass(frozen=True)
class TirSimplifyPass(ModulePass):
    """Simplifies index maps and guards, and removes loops, branches, comparisons and arithmetic that do nothing.

    Before: any kernels. After: every map is linear over distinct loop variables and data-dependent indices, each of
    them used; no guard expression always holds; no loop has an extent below 2; no comparison, minimum or maximum of
    indices is decided by the ranges of loop variables, which guards narrow in both branches; no arithmetic gives an
    operand of its own, as x + 0 does, and no two float operations are what one of them is with another number (see
    `rewriting/merging.py`).
    Locations: an op that stands for two has those of both. Others keep theirs, those of an `if` that is always taken,
    too: what a guard serves is the op it guards, not the other way round. What went is in the ledger.

    ```mlir
    tir.for %i in 4 {
      tir.for %j in 1 {
        %0 = tir.load %a[(%i * 8 + %j) floordiv 8, %j] if [%i] >= 0 else 0.0 : f32 : !tir.buffer<4x8xf32> -> f32
        tir.store %0, %b[%i] : f32, !tir.buffer<4xf32>
      }
    }
    // becomes
    tir.for %i in 4 {
      %0 = tir.load %a[%i, 0] : !tir.buffer<4x8xf32> -> f32
      tir.store %0, %b[%i] : f32, !tir.buffer<4xf32>
    }
    ```
    """

    name = "tir-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
