"""tir-common-subexpr-elimination: equal expressions and loads are computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from ...dialects.tir import IndexOp, PrimFuncOp, buffer_of, index_ranges, prim_funcs
from ...dialects.tir.index_maps import Reader, flat_index, simplify_maps, view
from ...dialects.tir.masked import MaskedLoadOp
from ...provenance.cse import eliminate_common_subexpressions
from ...provenance.walk import walk
from .analysis.canonical import canonical

_Mapped: TypeAlias = Reader | IndexOp


def run(func: PrimFuncOp) -> None:
    """Merge the equal ops of one kernel, in place."""
    reads = Counter(_kind(op) for op in walk(func) if isinstance(op, _Mapped))

    def key(op: Operation) -> Hashable | None:
        if not isinstance(op, _Mapped):
            return op.operands, *_rest(op, ())
        # Points are compared however they are written, which takes time: a single read of its kind has no twin.
        if reads[_kind(op)] < 2:
            return None
        mask = op.mask if isinstance(op, MaskedLoadOp) else None
        return mask, *_point(op), *_rest(op, ("map", "guard"))

    eliminate_common_subexpressions(func.body, key=key)


def _kind(op: _Mapped) -> Hashable:
    """Return a key that equal reads agree in, and that is cheap to compute."""
    return (op.buffer if isinstance(op, Reader) else None, op.result.type)


def _rest(op: Operation, skipped: tuple[str, ...]) -> tuple[Hashable, ...]:
    """Return the other things in which two equal ops agree."""
    properties: list[tuple[str, Attribute]] = [item for item in op.properties.items() if item[0] not in skipped]
    return (type(op), tuple(op.result_types), frozenset(properties), frozenset(op.attributes.items()))


def _point(op: _Mapped) -> tuple[Hashable, ...]:
    """Return a key of the element that an access reads."""
    seen = view(op, {})
    outside = index_ranges(seen.values)
    simplified = simplify_maps(seen.map, seen.guard, tuple(outside))
    guard = simplified.guard.data.results if simplified.guard is not None else ()
    values = [seen.values[i] for i in simplified.kept]
    extents = [simplified.ranges[i] for i in simplified.kept]
    # In the ranges that a guard leaves it says nothing any more.
    guard_ranges = [outside[i] for i in simplified.kept]
    buffer, map = None, simplified.map.data.results
    if isinstance(op, Reader):
        buffer, map = op.buffer, (flat_index(map, buffer_of(op.buffer).strides),)
    return buffer, canonical(values, extents, map), canonical(values, guard_ranges, guard), simplified.never


@dataclass(frozen=True)
class TirCommonSubexprEliminationPass(ModulePass):
    """Merges equal pure ops, and loads of one element between which nothing writes the buffer.

    Before: any kernels. After: no pure op, and no load without a write in between, repeats an earlier one of its block
    or of an enclosing block. Loads are equal when their elements are, however their indices are written.
    Locations: the op that stays is located at itself and at those it stands for.

    ```mlir
    tir.for %i in 4 {
      %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
      %1 = math.exp %0 : f32
      tir.store %1, %b[%i] : f32, !tir.buffer<4xf32>
      tir.for %j in 4 {
        %2 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
        %3 = math.exp %2 : f32
        tir.store %3, %c[%i, %j] : f32, !tir.buffer<4x4xf32>
      }
    }
    // becomes
    tir.for %i in 4 {
      %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
      %1 = math.exp %0 : f32
      tir.store %1, %b[%i] : f32, !tir.buffer<4xf32>
      tir.for %j in 4 {
        tir.store %1, %c[%i, %j] : f32, !tir.buffer<4x4xf32>
      }
    }
    ```
    """

    name = "tir-common-subexpr-elimination"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
