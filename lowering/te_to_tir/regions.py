"""Bound inference: what part of a producer one pass of a consumer's loop needs.

A read's index is an affine expression over loops outside the attach point, which are fixed, and loops inside, which
are free. Its start is the expression at the free loops' lower end, its extent the span that they cover. Where a
floordiv or mod mixes fixed and free loops, the whole range of that atom is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects.affine import Linear, Range, linear, linear_bounds
from ...te.relations import Interval


def index_interval(expr: AffineExpr, ranges: Sequence[Range], fixed: int) -> Interval:
    """The interval of `expr` when dims below `fixed` are fixed and the others run over their ranges."""
    everything = tuple(ranges)
    form = linear(expr, everything)
    outer: list[tuple[AffineExpr, int]] = []
    inner: list[tuple[AffineExpr, int]] = []
    for atom, coefficient in form.terms:
        (inner if any(dim >= fixed for dim in atom.used_dims()) else outer).append((atom, coefficient))
    low, high = linear_bounds(Linear(tuple(inner), 0), everything)
    start = Linear(tuple(outer), form.constant + low).expr
    return Interval(start, high - low + 1)


def union(first: Interval, second: Interval, ranges: Sequence[Range], extent: int) -> Interval:
    """The smallest interval found that covers both; the whole dimension when their starts differ by no constant."""
    difference = linear(second.start - first.start, tuple(ranges))
    if difference.terms:
        return Interval(AffineConstantExpr(0), extent)
    shift = difference.constant
    start = first.start if shift >= 0 else second.start
    end = max(first.extent, shift + second.extent)
    return Interval(start, end - min(0, shift))


def clip(interval: Interval, ranges: Sequence[Range], extent: int) -> Interval:
    """Never more than the dimension itself: a larger interval is the whole dimension."""
    if interval.extent >= extent:
        return Interval(AffineConstantExpr(0), extent)
    low, high = linear_bounds(linear(interval.start, tuple(ranges)), tuple(ranges))
    if low == high:
        start = max(0, low)
        return Interval(AffineConstantExpr(start), max(1, min(low + interval.extent, extent) - start))
    return interval
