"""tir-simplify: index maps, guards and trivial loops, under the ranges that the loops give their variables."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ...dialects.tir import ForOp, IfOp, LoadOp, PrimFuncOp
from ...provenance.span import fuse
from .rewriting.common import (
    Mapped,
    Ranges,
    constant,
    drop,
    hoist,
    prim_funcs,
    record,
    replace_var,
    settle,
    update,
    view,
)


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
            case _ if isinstance(op, Mapped):
                _access(op, ranges)
            case _:
                for region in op.regions:
                    for inner in region.blocks:
                        _block(inner, ranges, keep)


def _for(op: ForOp, ranges: Ranges, keep: bool) -> None:
    extent = op.trip_count
    if extent == 0:
        drop(op, "EmptyLoop", "a loop of extent 0")
        return
    ranges[op.var] = (0, extent - 1)
    _block(op.block, ranges, keep)
    if extent == 1 and not keep:
        replace_var(op, 0)
        moved = hoist(op.block, op)
        record("UnitLoop", op, "a loop of extent 1", moved)
        op.detach()
        op.erase()


def _if(op: IfOp, ranges: Ranges, keep: bool) -> None:
    seen = view(op, ranges)
    settled = settle((), seen.guard, seen.ranges)
    if settled.never or settled.guard is None:
        branch = op.orelse.block if settled.never and op.orelse is not None else None if settled.never else op.block
        if branch is None:
            drop(op, "NeverTaken", "its guard never holds")
            return
        _block(branch, ranges, keep)
        moved = hoist(branch, op)
        for inner in moved:
            inner.location = fuse([inner.location, op.location])
        record("DecidedIf", op, f"its guard {'never' if settled.never else 'always'} holds", moved)
        op.detach()
        op.erase()
        return
    update(op, seen.values, settled)
    _block(op.block, {**ranges, **dict(zip(seen.values, settled.ranges, strict=True))}, keep)
    if op.orelse is not None:
        _block(op.orelse.block, ranges, keep)


def _access(op: Mapped, ranges: Ranges) -> None:
    seen = view(op, ranges)
    settled = settle(seen.map, seen.guard, seen.ranges)
    if not settled.never:
        update(op, seen.values, settled)
        return
    assert isinstance(op, LoadOp)
    assert op.otherwise is not None
    value = constant(op.otherwise, op.result.type, op.location)
    assert op.parent is not None
    op.parent.insert_op_before(value, op)
    op.result.replace_all_uses_with(value.result)
    record("NeverRead", op, "its guard never holds", [value])
    op.detach()
    op.erase()


@dataclass(frozen=True)
class TirSimplifyPass(ModulePass):
    """Simplifies index maps and guards, and takes away loops and branches that decide nothing.

    Before: any kernels. After: every map is linear over distinct loop variables and data-dependent indices, each of
    them used; no guard expression always holds; no loop has an extent below 2.
    Locations: ops keep theirs; ops of an `if` that is always taken are located at the `if`, too. What went is in the
    ledger.

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
