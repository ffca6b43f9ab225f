"""tir-unroll: loops of kind `unrolled` written out."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.tir import ForOp, IfOp, IndexOp, LoadOp, PrimFuncOp, StoreOp
from .common import Ranges, index_constant, narrowed, prim_funcs, record, settle, update, view


def run(func: PrimFuncOp) -> None:
    """Write out the unrolled loops of one kernel, in place."""
    _block(func.block, {})


def _block(block: Block, ranges: Ranges) -> None:
    for op in list(block.ops):
        if isinstance(op, ForOp):
            ranges[op.var] = (0, max(0, op.trip_count - 1))
            _block(op.block, ranges)
            if op.kind.data == "unrolled":
                _write_out(op, ranges)
        elif isinstance(op, IfOp):
            _block(op.block, narrowed(op, ranges))
            if op.orelse is not None:
                _block(op.orelse.block, ranges)


def _write_out(loop: ForOp, ranges: Ranges) -> None:
    block = loop.parent
    assert block is not None
    copies: list[Operation] = []
    for step in range(loop.trip_count):
        values: dict[SSAValue, SSAValue] = {}
        for op in loop.block.ops:
            copy = op.clone(values)
            block.insert_op_before(copy, loop)
            copies.append(copy)
            for inner in copy.walk():
                _fix(inner, loop.var, step, ranges)
    record("Unroll", loop, f"{loop.trip_count} passes", copies)
    loop.detach()
    loop.erase()


def _fix(op: Operation, var: SSAValue, step: int, ranges: Ranges) -> None:
    """Let `op` use the number `step` in place of `var`."""
    if isinstance(op, ForOp):
        ranges[op.var] = (0, max(0, op.trip_count - 1))
    if var not in op.operands:
        return
    if isinstance(op, LoadOp | StoreOp | IfOp | IndexOp):
        seen = view(op, {**ranges, var: (step, step)})
        settled = settle(seen.map, seen.guard, seen.ranges)
        update(op, seen.values, settled)
    if var in op.operands:
        number = index_constant(step, op.location)
        assert op.parent is not None
        op.parent.insert_op_before(number, op)
        op.operands = [number.result if operand is var else operand for operand in op.operands]


@dataclass(frozen=True)
class TirUnrollPass(ModulePass):
    """Writes out the loops of kind `unrolled`, where asked to.

    Before: any kernels. After: with `explicit`, no loop is `unrolled`: each stands as one copy of its body per pass,
    its variable a number. Without it nothing changes: LLVM unrolls such loops, at less cost.
    Locations: copies keep those of what they copy.

    ```mlir
    tir.for unrolled %i in 2 {
      %0 = tir.load %a[%i] : !tir.buffer<2xf32> -> f32
      tir.store %0, %b[1 - %i] : f32, !tir.buffer<2xf32>
    }
    // becomes
    %0 = tir.load %a[0] : !tir.buffer<2xf32> -> f32
    tir.store %0, %b[1] : f32, !tir.buffer<2xf32>
    %1 = tir.load %a[1] : !tir.buffer<2xf32> -> f32
    tir.store %1, %b[0] : f32, !tir.buffer<2xf32>
    ```
    """

    name = "tir-unroll"
    explicit: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.explicit:
            for func in prim_funcs(op):
                run(func)
