"""tir-unroll: loops that are written out, by LLVM or here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.tir import CallExternOp, ForOp, IfOp, PrimFuncOp, prim_funcs
from ...dialects.tir.index_maps import Access, Ranges, Writer, narrowed, simplify_maps, update, view
from ...dialects.tir.prefetch import PrefetchOp
from ...provenance.walk import walk
from .rewriting.constants import index_constant
from .rewriting.ops import record

STEPS = "pragma_auto_unroll_max_step"
EXPLICIT = "pragma_unroll_explicit"
_UNROLLED, _SERIAL = StringAttr("unrolled"), StringAttr("serial")
MOST_OPS = 4096
"""Ops that an unrolled loop may come to, with those of unrolled loops inside: code that LLVM takes seconds for."""


@dataclass(frozen=True)
class Limits:
    """The limits of unrolling, with TVM's names and meanings."""

    auto_max_step: int = 0
    """Stores and calls that a serial loop may come to, written out."""
    auto_max_depth: int = 8
    """Loops inside each other that are unrolled."""
    auto_max_extent: int = 0
    """Passes that a serial loop may have, however much it does in each."""
    explicit_unroll: bool = False
    """True when they are written out here, not by LLVM."""


def run(func: PrimFuncOp, limits: Limits = Limits()) -> bool:
    """Unroll the loops of one kernel, in place, and say whether there was a reason to look at them."""
    asked = limits != Limits() or any(STEPS in op.attributes or EXPLICIT in op.attributes for op in walk(func))
    if asked:
        _block(func.block, {}, limits)
    _bounded(func.block)
    return asked


def _bounded(block: Block) -> int:
    """Count the ops that a block comes to, unrolled loops written out; loops with too many of them are serial from here
    on."""
    total = 0
    for op in block.ops:
        size = 1 + sum(_bounded(inner) for region in op.regions for inner in region.blocks)
        if isinstance(op, ForOp) and op.kind.data == "unrolled":
            if not isinstance(op.trip_count, int) or size * op.trip_count > MOST_OPS:
                op.properties["kind"] = _SERIAL
                record("StaysRolled", op, f"{op.trip_count} iterations of {size} ops are too much code", gone=False)
            else:
                size *= op.trip_count
        total += size
    return total


class _Size(NamedTuple):
    """The steps and the depth of the loops in a block."""

    steps: int = 0
    """Stores and calls, those of unrolled loops counted per iteration."""
    unrolled: int = 0
    """Unrolled loops inside each other, at most."""
    loops: int = 0
    """Other loops inside each other, at most."""


def _block(block: Block, ranges: Ranges, limits: Limits) -> _Size:
    total = _Size()
    for op in list(block.ops):
        match op:
            case ForOp():
                size = _loop(op, ranges, limits)
            case IfOp():
                size = _block(op.block, narrowed(op, ranges), limits)
                if op.orelse is not None:
                    size = _joined(size, _block(op.orelse.block, ranges, limits))
            case _:
                size = _Size(int(isinstance(op, Writer | CallExternOp | PrefetchOp)))
                for region in op.regions:
                    size = _joined(size, _block(region.block, ranges, limits))
        total = _joined(total, size)
    return total


def _joined(a: _Size, b: _Size) -> _Size:
    return _Size(a.steps + b.steps, max(a.unrolled, b.unrolled), max(a.loops, b.loops))


def _number(mark: Attribute | None, default: int) -> int:
    return mark.value.data if isinstance(mark, IntegerAttr) else default


def _loop(loop: ForOp, ranges: Ranges, limits: Limits) -> _Size:
    steps, explicit = loop.attributes.pop(STEPS, None), loop.attributes.pop(EXPLICIT, None)
    limits = Limits(
        _number(steps, limits.auto_max_step),
        limits.auto_max_depth,
        limits.auto_max_extent,
        bool(_number(explicit, 1)) if explicit is not None else limits.explicit_unroll,
    )
    extent = loop.trip_count
    ranges[loop.var] = loop.bounds
    size = _block(loop.block, ranges, limits)
    if not isinstance(extent, int):
        # How often it runs only a call says.
        loop.properties["kind"] = _SERIAL if loop.kind.data == "unrolled" else loop.kind
        return size._replace(loops=size.loops + 1)
    small = extent * max(1, size.steps) <= limits.auto_max_step or extent <= limits.auto_max_extent
    automatic = loop.kind.data == "serial" and not size.loops and size.unrolled <= limits.auto_max_depth and small
    if not automatic and loop.kind.data != "unrolled":
        return size._replace(loops=size.loops + 1)
    if limits.explicit_unroll:
        write_out(loop, ranges)
    elif loop.kind.data != "unrolled":
        loop.properties["kind"] = _UNROLLED
        record("Unroll", loop, f"{extent} iterations of {size.steps} steps", gone=False)
    return _Size(size.steps * extent, size.unrolled + 1, size.loops)


def write_out(loop: ForOp, ranges: Ranges) -> None:
    """Replace a loop by one copy of its body per iteration; `ranges` are those of variables around and in it."""
    block = loop.parent
    assert block is not None
    copies: list[Operation] = []
    assert isinstance(loop.trip_count, int)
    for step in range(loop.trip_count):
        values: dict[SSAValue, SSAValue] = {}
        for op in loop.block.ops:
            copy = op.clone(values)
            block.insert_op_before(copy, loop)
            copies.append(copy)
            for inner in copy.walk():
                _fix(inner, loop.var, step, ranges)
    record("Unroll", loop, f"{loop.trip_count} iterations", copies)
    loop.detach()
    loop.erase()


def _fix(op: Operation, var: SSAValue, step: int, ranges: Ranges) -> None:
    """Let `op` use the number `step` in place of `var`."""
    if isinstance(op, ForOp):
        ranges[op.var] = op.bounds
    if var not in op.operands:
        return
    if isinstance(op, Access):
        seen = view(op, {**ranges, var: (step, step)})
        simplified = simplify_maps(seen.map, seen.guard, seen.ranges)
        update(op, seen.values, simplified)
    if var in op.operands:
        number = index_constant(step, op.location)
        assert op.parent is not None
        op.parent.insert_op_before(number, op)
        op.operands = [number.result if operand is var else operand for operand in op.operands]


@dataclass(frozen=True)
class TirUnrollPass(ModulePass):
    """Unrolls the loops of kind `unrolled`, those with a pragma, and small ones if asked to.

    Before: any kernels. After: a serial loop that holds no other than unrolled ones (`auto_max_depth` inside each other
    at most) is of kind `unrolled` if it comes to `auto_max_step` stores and calls or less, or has at most
    `auto_max_extent` passes. With `explicit`, no loop is `unrolled`: each stands as one copy of its body per pass, its
    variable a number. Without it LLVM unrolls such loops, at less cost. The attributes `pragma_auto_unroll_max_step`
    and `pragma_unroll_explicit` of a loop count in place of these options, for it and what it holds; they are gone.
    A loop left to LLVM that would come to more than 4096 ops, inner ones first, is serial.
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
    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        limits = Limits(self.auto_max_step, self.auto_max_depth, self.auto_max_extent, self.explicit)
        for func in prim_funcs(op):
            run(func, limits)
