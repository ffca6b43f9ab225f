"""Intervals of affine expressions: what an index covers while some loops stand still and others run.

The start is the expression at the lower end of the loops that run, the extent the span that they cover.
"""

from __future__ import annotations

from math import gcd

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from ...dialects.affine import ZERO, Linear, Range, linear, linear_bounds
from .relations import Interval


def interval_of(expr: AffineExpr, ranges: tuple[Range, ...], fixed: frozenset[int]) -> Interval:
    """What `expr` covers while the dims `fixed` stand still and the others run over their ranges.

    A mod of both is taken to have all its values, a floordiv as many as its span can reach.
    """
    form = linear(expr, ranges)
    still: list[tuple[AffineExpr, int]] = []
    start = end = form.constant
    for atom, factor in form.terms:
        dims = atom.used_dims()
        if dims <= fixed:
            still.append((atom, factor))
            continue
        low, high = linear_bounds(Linear(((atom, 1),), 0), ranges)
        if not fixed.isdisjoint(dims) and (quotient := _quotient(atom, ranges, fixed)) is not None:
            first, span = quotient
            if span < high - low:
                still.append((first, factor))
                low, high = 0, span
        start += min(factor * low, factor * high)
        end += max(factor * low, factor * high)
    # Linear once more, since a quotient's start may equal another term.
    return Interval(linear(Linear(tuple(still), start).expr, ranges).expr, end - start + 1)


def _quotient(atom: AffineExpr, ranges: tuple[Range, ...], fixed: frozenset[int]) -> tuple[AffineExpr, int] | None:
    """`(first, span)`: the floordiv `atom` is from `first`, which stands still, to `first + span`."""
    match atom:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.FloorDiv, lhs=lhs, rhs=AffineConstantExpr(value=divisor)):
            inner = interval_of(lhs, ranges, fixed)
            form = linear(inner.start, ranges)
            step = gcd(divisor, *(factor for _, factor in form.terms))
            # Where the start can be at most, modulo the divisor.
            last = divisor - step + form.constant % step
            first = linear(inner.start // divisor, ranges).expr
            return first, (last + inner.extent - 1) // divisor
        case _:
            return None


def union(first: Interval, second: Interval, ranges: tuple[Range, ...], extent: int) -> Interval:
    """The smallest interval found that covers both; the whole dimension when their starts differ by no constant."""
    difference = linear(second.start - first.start, ranges)
    if difference.terms:
        return Interval(ZERO, extent)
    shift = difference.constant
    start = first.start if shift >= 0 else second.start
    end = max(first.extent, shift + second.extent)
    return Interval(start, end - min(0, shift))


def clip(interval: Interval, ranges: tuple[Range, ...], extent: int) -> Interval:
    """Never more than the dimension itself: a larger interval is the whole dimension."""
    if interval.extent >= extent:
        return Interval(ZERO, extent)
    low, high = linear_bounds(linear(interval.start, ranges), ranges)
    if low == high:
        start = max(0, low)
        return Interval(AffineConstantExpr(start), max(1, min(low + interval.extent, extent) - start))
    return interval
