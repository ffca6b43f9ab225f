"""Races between iterations of a loop: an exact answer for affine accesses; "no race" where none is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.sizes import Size
from ....dialects.tir import ForOp
from .elementwise import Point

SPAN = 1 << 22
"""Differences of places are searched up to this many elements."""


def meet(loop: ForOp, one: Point, other: Point) -> bool:
    """Return whether some iteration of `loop` touches at `one` an element that another iteration touches at `other`.

    Places that divide a variable, or that depend on data, are taken to differ, unless both are the same in every
    iteration.
    """
    if one.key == other.key and not _moves(one, loop):
        return True
    mine, theirs = _factors(one, loop), _factors(other, loop)
    if mine is None or theirs is None or not (one.form.plain and other.form.plain):
        return False
    factor = mine[0].pop(loop.var, 0)
    if factor != theirs[0].pop(loop.var, 0) or mine[1] != theirs[1]:
        return False
    # one - other = factor * (p - q) + what the inner loops add, each on its own; the iterations p and q differ.
    apart = cast(int, one.constant) - cast(int, other.constant)
    last = loop.trip_count - 1
    counts = [(f, _extent(v)) for v, f in mine[0].items()] + [(-f, _extent(v)) for v, f in theirs[0].items()]
    if not isinstance(last, int) or not all(isinstance(extent, int) for _, extent in counts):
        return False
    steps = cast("list[tuple[int, int]]", counts)
    steps += [(one.stride, one.lanes), (-other.stride, other.lanes)]
    reached, least = _sums(steps)
    if reached is None:
        return False
    return any(
        _bit(reached, sign * factor * iterations - apart - least)
        for iterations in range(1, (last if factor else 1) + 1)
        for sign in (1, -1)
    )


def _moves(point: Point, loop: ForOp) -> bool:
    """Return whether the place differs by iteration of `loop`, or may."""
    used = {point.values[dim] for atom, _ in point.terms for dim in atom.used_dims()}
    return any(value is loop.var or _computed_in(value, loop) for value in used)


def _computed_in(value: SSAValue, loop: ForOp) -> bool:
    """Return whether `value` comes from an op in `loop`, rather than from its loops or from outside."""
    return isinstance(value.owner, Operation) and loop.is_ancestor(value.owner)


def _factors(point: Point, loop: ForOp) -> tuple[dict[SSAValue, int], dict[SSAValue, int]] | None:
    """The factors of the variables of `loop` and its inner loops, and of what stays; None if one is not known."""
    inner: dict[SSAValue, int] = {}
    outer: dict[SSAValue, int] = {}
    for atom, factor in point.terms:
        if not isinstance(atom, AffineDimExpr):
            return None
        value = point.values[atom.position]
        if _computed_in(value, loop):
            return None
        (inner if loop.is_ancestor(value.owner) else outer)[value] = cast(int, factor)
    return inner, outer


def _extent(var: SSAValue) -> Size:
    loop = var.owner.parent_op()
    assert isinstance(loop, ForOp)
    return loop.trip_count


def _sums(steps: Sequence[tuple[int, int]]) -> tuple[int | None, int]:
    """The sums of one multiple in 0..extent-1 of each factor: bit i is set if `least + i` is one; None if too many."""
    least = sum(min(0, factor * (extent - 1)) for factor, extent in steps)
    if sum(abs(factor) * (extent - 1) for factor, extent in steps) > SPAN:
        return None, least
    reached = 1
    for factor, extent in steps:
        done = 1
        while factor and done < extent:
            more = min(done, extent - done)
            reached |= reached << (abs(factor) * more)
            done += more
    return reached, least


def _bit(bits: int, position: int) -> bool:
    return position >= 0 and bool(bits >> position & 1)
