"""tir-remove-no-op: what has no effect goes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ...dialects.tir import AllocConstOp, AllocOp, ForOp, IfOp, PrimFuncOp
from .rewriting.common import Reader, drop, prim_funcs


def run(func: PrimFuncOp) -> None:
    """Remove what has no effect from one kernel, in place."""
    _block(func.block)


def _block(block: Block) -> None:
    for op in reversed(list(block.ops)):
        match op:
            case ForOp():
                _block(op.block)
                if op.block.is_empty or not op.trip_count:
                    drop(op, "NoOp", "an empty loop")
            case IfOp():
                _block(op.block)
                if op.orelse is not None:
                    _block(op.orelse.block)
                    if op.orelse.block.is_empty:
                        _without_else(op)
                if op.block.is_empty and op.orelse is None:
                    drop(op, "NoOp", "an empty if")
            case _:
                for region in op.regions:
                    _block(region.block)
                if isinstance(op, Reader | AllocOp | AllocConstOp) or op.has_trait(Pure):
                    if all(result.first_use is None for result in op.results):
                        drop(op, "NoOp", "nobody reads its result")


def _without_else(op: IfOp) -> None:
    region: Region = op.detach_region(1)
    region.erase()


@dataclass(frozen=True)
class TirRemoveNoOpPass(ModulePass):
    """Removes loops and branches that do nothing, and loads, buffers and pure ops that nobody uses.

    Before: any kernels. After: every loop and `if` holds something, every result has a use.
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
