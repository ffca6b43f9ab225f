"""tir-inject-prefetch: loops that ask for it fetch what later iterations read."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass

from ...dialects.affine import Range, linear, substitute
from ...dialects.sizes.kernel import affine_map
from ...dialects.tir import ForOp, LoadOp, PrimFuncOp, prim_funcs
from ...dialects.tir.index_maps import Ranges, view
from ...dialects.tir.prefetch import PrefetchOp
from ...provenance.walk import walk
from .analysis.canonical import canonical
from .rewriting.ops import record

MARK = "prefetch"
"""The attribute of a loop: `offset`, or `[["buffer", offset], ..]` for some buffers only."""
LOCALITY = 2
"""Into the second level of cache: the first one is full of what the iteration at hand needs."""


def run(func: PrimFuncOp) -> None:
    """Put hints into the marked loops of one kernel, in place."""
    loops = [op for op in walk(func) if isinstance(op, ForOp)]
    ranges: Ranges = {loop.var: loop.bounds for loop in loops}
    for loop in [loop for loop in loops if MARK in loop.attributes]:
        offsets = _offsets(loop.attributes.pop(MARK))
        if not _block(loop.block, loop, offsets, ranges):
            record("Prefetch", loop, "no load moves with the loop: none needed", gone=False)


def _offsets(mark: Attribute) -> int | dict[str, int]:
    """Return the number of iterations to look ahead, for all buffers or by name."""
    if isinstance(mark, ArrayAttr):
        entries = cast("ArrayAttr[ArrayAttr[Attribute]]", mark)
        return {cast(StringAttr, name).data: cast(IntegerAttr, offset).value.data for name, offset in entries}
    return cast(IntegerAttr, mark).value.data


def _block(block: Block, loop: ForOp, offsets: int | dict[str, int], ranges: Ranges) -> bool:
    """Hints for the loads of a block and those in it; whether there are any."""
    done: set[Hashable] = set()
    changed = False
    for op in list(block.ops):
        match op:
            case LoadOp():
                offset = offsets if isinstance(offsets, int) else offsets.get(op.buffer.name_hint or "", 0)
                seen = view(op, ranges)
                if not offset or loop.var not in seen.values:
                    continue
                changed = True
                ahead = [AffineDimExpr(i) + (offset if v is loop.var else 0) for i, v in enumerate(seen.values)]
                later = _later(seen.ranges, offset)
                exprs = tuple(linear(substitute(expr, ahead), later).expr for expr in seen.map)
                if (key := (op.buffer, canonical(seen.values, later, exprs))) in done:
                    continue
                done.add(key)
                hint = PrefetchOp.make(op.buffer, affine_map(len(ahead), exprs), seen.values, LOCALITY)
                hint.location = op.location
                block.insert_op_before(hint, op)
            case _:
                for region in op.regions:
                    changed |= _block(region.block, loop, offsets, ranges)
    return changed


def _later(ranges: tuple[Range, ...], offset: int) -> tuple[Range, ...]:
    """Ranges under which no variable counts as a constant that is none in later passes."""
    return tuple((low, high + abs(offset)) for low, high in ranges)


@dataclass(frozen=True)
class TirInjectPrefetchPass(ModulePass):
    """Puts a `tir.prefetch` before each load of a marked loop whose element moves with the loop.

    The attribute `prefetch` of a loop is a number of iterations, for all buffers it reads, or a list of names and
    numbers, as the schedule primitive of that name makes it: `prefetch = [["A", 2]]`.

    Before: any kernels; last of all, as other passes take no part in what is hinted: a point past the buffer's end is
    no error. After: no loop is marked. Equal hints of a block stand once.
    Locations: a hint is located at its load.

    ```mlir
    tir.for %i in 8 attributes {prefetch = 2 : i64} {
      tir.for %j in 4 {
        %0 = tir.load %a[%i, %j * 16] : !tir.buffer<8x64xf32> -> vector<16xf32>
        %1 = tir.load %c[%j * 16] : !tir.buffer<64xf32> -> vector<16xf32>
        %2 = arith.addf %0, %1 : vector<16xf32>
        tir.store %2, %b[%i, %j * 16] : vector<16xf32>, !tir.buffer<8x64xf32>
      }
    }
    // becomes
    tir.for %i in 8 {
      tir.for %j in 4 {
        tir.prefetch %a[%i + 2, %j * 16] locality 2 : !tir.buffer<8x64xf32>
        %0 = tir.load %a[%i, %j * 16] : !tir.buffer<8x64xf32> -> vector<16xf32>
        %1 = tir.load %c[%j * 16] : !tir.buffer<64xf32> -> vector<16xf32>
        %2 = arith.addf %0, %1 : vector<16xf32>
        tir.store %2, %b[%i, %j * 16] : vector<16xf32>, !tir.buffer<8x64xf32>
      }
    }
    ```
    """

    name = "tir-inject-prefetch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
