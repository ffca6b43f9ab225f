"""Intervals of affine expressions: the values of an index while some loops are fixed and others run.

The start is the expression at the lower end of the loops that run, the extent the span that they cover.
"""

from __future__ import annotations

from math import gcd
from typing import cast

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from ...dialects.affine import ZERO, Linear, Range, below, linear, linear_bounds, scaled
from ...dialects.sizes import Size, decide, proves, same
from ...dialects.sizes.kernel import at_least
from .relations import Interval


def interval_of(expr: AffineExpr, ranges: tuple[Range, ...], fixed: frozenset[int]) -> Interval | None:
    """Return the values of `expr` while the dims `fixed` stand still and the others run over their ranges.

    A mod of both is taken to have all its values, a floordiv as many as its span can reach. None where that depends on
    the sizes of a call.
    """
    form = linear(expr, ranges)
    still: list[tuple[AffineExpr, Size]] = []
    start = end = form.constant
    for atom, factor in form.terms:
        dims = atom.used_dims()
        if dims <= fixed:
            still.append((atom, factor))
            continue
        low, high = linear_bounds(Linear(((atom, 1),), 0), ranges)
        if not fixed.isdisjoint(dims) and (quotient := _quotient(atom, ranges, fixed)) is not None:
            first, span = quotient
            if below(span, high - low):
                still.append((first, factor))
                low, high = 0, span
        if (ends := scaled(factor, low, high)) is None:
            return None
        start, end = start + ends[0], end + ends[1]
    # Linear once more, since a quotient's start may equal another term.
    return Interval(linear(Linear(tuple(still), start).expr, ranges).expr, end - start + 1)


def _quotient(atom: AffineExpr, ranges: tuple[Range, ...], fixed: frozenset[int]) -> tuple[AffineExpr, Size] | None:
    """`(first, span)`: the floordiv `atom` is from `first`, which stands still, to `first + span`."""
    match atom:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.FloorDiv, lhs=lhs, rhs=AffineConstantExpr(value=divisor)):
            inner = interval_of(lhs, ranges, fixed)
            form = linear(inner.start, ranges) if inner is not None else None
            if inner is None or form is None or not form.plain:
                return None
            step = gcd(divisor, *(cast(int, factor) for _, factor in form.terms))
            # Where the start can be at most, modulo the divisor.
            last = divisor - step + form.constant % step
            first = linear(inner.start // divisor, ranges).expr
            return first, (last + inner.extent - 1) // divisor
        case _:
            return None


def union(first: Interval | None, second: Interval | None, ranges: tuple[Range, ...], extent: Size) -> Interval:
    """The smallest interval found that covers both; the whole dimension when their starts differ by no constant."""
    if first is None or second is None:
        return Interval(ZERO, extent)
    difference = linear(second.start - first.start, ranges)
    if difference.terms:
        return Interval(ZERO, extent)
    shift = difference.constant
    if decide(0, "<=", shift) is None:
        return Interval(ZERO, extent)
    forward = at_least(shift, 0)
    start = first.start if forward else second.start
    ends = first.extent, shift + second.extent
    if decide(ends[0], "<=", ends[1]) is None:
        return Interval(ZERO, extent)
    end = ends[1] if below(ends[0], ends[1]) else ends[0]
    return Interval(start, end if forward else end - shift)


def clip(interval: Interval, ranges: tuple[Range, ...], extent: Size) -> Interval:
    """Never more than the dimension itself: a larger interval is the whole dimension."""
    if proves(interval.extent, ">=", extent):
        return Interval(ZERO, extent)
    low, high = linear_bounds(linear(interval.start, ranges), ranges)
    if not (isinstance(low, int) and isinstance(interval.extent, int) and isinstance(extent, int)):
        return interval
    if same(low, high):
        start = max(0, low)
        return Interval(AffineConstantExpr(start), max(1, min(low + interval.extent, extent) - start))
    return interval
