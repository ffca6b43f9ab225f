"""tir-remove-no-op: ops without effect are removed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects.sizes import same
from ...dialects.tir import DeclBufferOp, ForOp, IfOp, LoadOp, PrimFuncOp, StoreOp, prim_funcs
from ...provenance.dce import eliminate_dead_code
from ...provenance.walk import walk
from .analysis.accesses import same_place
from .analysis.effects import writes
from .rewriting.ops import drop


def run(func: PrimFuncOp) -> None:
    """Remove what has no effect from one kernel, in place."""
    for op in list(walk(func)):
        match op:
            case ForOp() if same(op.trip_count, 0) and func.is_ancestor(op):
                drop(op, "NoOp", "a loop of extent 0")
            case StoreOp() if func.is_ancestor(op) and _changes_nothing(op):
                drop(op, "NoOp", "stores what is there")
            case _:
                pass
    eliminate_dead_code(func.body)
    for op in func.walk():
        if isinstance(op, IfOp) and op.orelse is not None and op.orelse.block.is_empty:
            _without_else(op)


def _changes_nothing(op: StoreOp) -> bool:
    """Return whether `op` stores what it has from the same place, to which nothing was written in between."""
    load = op.value.owner
    if not isinstance(load, LoadOp) or load.buffer is not op.buffer or load.parent is not op.parent:
        return False
    if load.guard is not None or not same_place(load, op) or _has_views(op.buffer):
        return False
    between = load.next_op
    while between is not None and between is not op:
        if any(writes(inner, op.buffer) for inner in between.walk()):
            return False
        between = between.next_op
    return True


def _has_views(buffer: SSAValue) -> bool:
    """Return whether the buffer's memory may have another name."""
    views = (use.operation for use in buffer.uses)
    return isinstance(buffer.owner, DeclBufferOp) or any(isinstance(op, DeclBufferOp) for op in views)


def _without_else(op: IfOp) -> None:
    region: Region = op.detach_region(1)
    region.erase()


@dataclass(frozen=True)
class TirRemoveNoOpPass(ModulePass):
    """Removes ops without effect: empty loops and branches, `a[i] = a[i]`, loads, buffers and pure ops without users.

    Before: any kernels. After: every loop and `if` holds something, every result has a use, and no store of a value
    that was loaded from its place in the same block has no other store to the buffer before it.
    Locations: as they were; what went is in the ledger.

    ```mlir
    %c = arith.constant 1.0 : f32
    tir.for %i in 4 {
      tir.if [%i - 2] >= 0 {
        %0 = tir.load %a[%i] : !tir.buffer<4xf32> -> f32
      }
    }
    // becomes nothing
    ```
    """

    name = "tir-remove-no-op"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
