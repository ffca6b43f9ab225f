"""Reductions: along rows in lanes that are combined last, across rows in vectors of columns."""

from __future__ import annotations

from xdsl.ir.affine import AffineDimExpr

from ....passes.relay.blocking import largest_divisor
from ....te.schedule.stage import Stage
from .common import PARTITION_HINT, Scheduling, points, shape_of

_ACCUMULATORS = 8
"""Vectors that are summed independently, so that an addition need not wait for the one before."""
_NARROW = 4
"""Narrower vectors are worse than whole ones of which the last is not full."""
_UNROLLED = 16
"""Vectors of a short row, whose guard is then known to hold in all but the last."""
_ROWS = 8
"""Rows at once where a row is no whole number of vectors."""
_COLUMNS = 8
"""Vectors of columns at once."""


def schedule_reduction(work: Scheduling, stage: Stage) -> None:
    """A reduction along the memory of what it reads, or across it."""
    if along(stage):
        _along(work, stage)
    else:
        _across(work, stage)


def along(stage: Stage) -> int:
    """How many of the last reduce axes are the last dimensions of a tensor that is read, those of 1 left out."""
    reduce = list(stage.compute.reduce_axes)
    best = 0
    for read in stage.compute.reads:
        count = 0
        places = [expr for expr, extent in zip(read.map.data.results, shape_of(read), strict=True) if extent > 1]
        for expr, axis in zip(reversed(places), reversed(reduce), strict=False):
            if not isinstance(expr, AffineDimExpr) or read.indices[expr.position] is not axis:
                break
            count += 1
        best = max(best, count)
    return best


def factor(work: Scheduling, stage: Stage) -> list[Stage]:
    """Reduce a row in the lanes of some vectors, then these to one, then its lanes; returns the stages before the last.

        for k.outer { for k.i in 4 { for k.lane in 16 { rf[k.i, k.lane] += a[..] } } }
        for k.i in 4 { for k.lane in 16 { rf2[k.lane] += rf[k.i, k.lane] } }
        for k.lane in 16 { b += rf2[k.lane] }

    None are made when the row is no whole number of vectors.
    """
    axes = stage.reduce_axes[len(stage.reduce_axes) - along(stage) :]
    extent = 1
    for axis in axes:
        extent *= axis.extent
    lanes = work.lanes(stage)
    if extent <= lanes:
        return []
    width = work.width(stage, extent)
    if width < _NARROW:
        if len(axes) > 1:
            return []
        width = lanes
    row = stage.fuse(*axes) if len(axes) > 1 else axes[0]
    vectors = largest_divisor(extent // width, _ACCUMULATORS) if extent % width == 0 else 1
    _, lane = stage.split(row, width * vectors)
    first = work.schedule.rfactor(stage, lane, -1)
    made = [first]
    if extent % width:
        rest = first.reduce_axes[-1]
        first.pragma(rest, PARTITION_HINT, 1)
        if rest.extent <= _UNROLLED:
            first.unroll(rest)
    if vectors > 1:
        _fold(work, stage, width, made)
    while width > 2:
        width //= 2
        _fold(work, stage, width, made)
    for part in made:
        part.set_scope("local")
        *data, last = part.axes
        part.reorder(*data, *part.leaf[len(part.axes) :], last)
        if part is made[0] and vectors > 1:
            outer, last = part.split(last, last.extent // vectors)
            part.unroll(outer)
        part.vectorize(last)
        work.done.add(part)
    return made


def _fold(work: Scheduling, stage: Stage, width: int, made: list[Stage]) -> None:
    """Reduce the lanes that are left to `width` of them."""
    _, lane = stage.split(stage.reduce_axes[0], width)
    part = work.schedule.rfactor(stage, lane, -1)
    part.unroll(part.reduce_axes[0])
    made.append(part)


def _along(work: Scheduling, stage: Stage) -> None:
    """Rows outside, shared among threads; inside each the lanes of a row."""
    size = points(stage)
    made = factor(work, stage)
    host, inner = work.hosted(stage)
    axes = list(host.leaf)
    if not axes:
        for part in made:
            part.compute_root()
        return
    if made:
        inner.unroll(inner.reduce_axes[-1])
        row = host.fuse(*axes)
        for part in [*made, inner]:
            part.compute_at(host, row)
        work.parallel(host, [row], size)
        return
    rows = host.fuse(*axes)
    block = largest_divisor(rows.extent, _ROWS)
    outer, lane = host.split(rows, block)
    inner.compute_at(host, outer)
    work.parallel(host, [outer], size)
    host.unroll(lane)
    data = list(inner.axes)
    inner.reorder(*inner.reduce_axes, *data)
    for axis in data:
        inner.unroll(axis)


def _across(work: Scheduling, stage: Stage) -> None:
    """Vectors of columns outside, shared among threads; inside each the reduction, in registers."""
    size = points(stage)
    host, inner = work.hosted(stage)
    if not host.leaf:
        return
    *axes, columns = host.leaf
    width = work.width(host, columns.extent)
    if width < _NARROW:
        # Whole vectors of which the last is cut off.
        width = columns.extent
    vectors = largest_divisor(columns.extent // width, _COLUMNS)
    outer, columns = host.split(columns, width * vectors)
    row = host.fuse(*axes, outer)
    inner.compute_at(host, row)
    work.parallel(host, [row], size)
    data = list(inner.axes)
    inner.reorder(*inner.reduce_axes, *data)
    for part, axis in ((host, columns), (inner, data[-1])):
        if vectors > 1:
            several, axis = part.split(axis, width)
            part.unroll(several)
        part.vectorize(axis)
