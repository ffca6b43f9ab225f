"""Reductions: along rows in lanes that one vector reduction combines last, across rows in vectors of columns."""

from __future__ import annotations

from xdsl.ir.affine import AffineDimExpr

from ....dialects import te
from ....dialects.affine import below
from ....dialects.sizes import Size, product, same
from ....passes.relay.blocking import largest_divisor
from ....te.schedule.stage import Stage
from .common import PARTITION_HINT, VECTOR_REDUCTION, Scheduling, points, shape_of

_ACCUMULATORS = 8
"""Vectors that are summed independently, so that an addition need not wait for the one before: the latency of one
times how many start per cycle, which half the registers of any machine hold."""
_OPEN = 2
"""Such vectors where only a call knows how long a row is: most of them may be empty in the last step."""
_NARROW = 4
"""Narrower vectors are worse than whole ones of which the last is not full."""
_SHORT = 2
"""Vectors that the last of several axes has at least to be in lanes by itself."""
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
    """Return the number of the last reduce axes that are the last dimensions of a tensor read, those of 1 left out."""
    return max((_along_read(stage, read) for read in stage.compute.reads), default=0)


def along_all(stage: Stage) -> bool:
    """Return whether the last reduce axis is the last dimension, those of 1 left out, of every tensor that is read."""
    return bool(stage.compute.reads) and all(_along_read(stage, read) for read in stage.compute.reads)


def _along_read(stage: Stage, read: te.ReadOp) -> int:
    count = 0
    places = [expr for expr, extent in zip(read.map.data.results, shape_of(read), strict=True) if not below(extent, 2)]
    for expr, axis in zip(reversed(places), reversed(stage.compute.reduce_axes), strict=False):
        if not isinstance(expr, AffineDimExpr) or read.indices[expr.position] is not axis:
            break
        count += 1
    return count


def factor(work: Scheduling, stage: Stage, *, one: bool = False) -> Stage | None:
    """Reduce a row in the lanes of some vectors, then these to one element; returns the stage of the lanes.

        for k.outer { for unrolled k.i in 4 { for vectorized k.lane in 16 { rf[k.i * 16 + k.lane] += a[..] } } }
        b += vector.reduction of rf

    one: only one vector, as other rows are reduced beside it.
    Of several axes that are no whole number of vectors only the last one is in lanes. None is made when a row is short.
    """
    axes = stage.reduce_axes[len(stage.reduce_axes) - along(stage) :]
    extent = product(axis.extent for axis in axes)
    lanes = work.lanes(stage)
    if below(extent, lanes + 1):
        return None
    width = work.width(stage, extent)
    if width < _NARROW:
        if len(axes) > 1:
            axes = axes[-1:]
            extent = axes[0].extent
            if below(extent, _SHORT * lanes):
                return None
        width = lanes
    row = stage.fuse(*axes) if len(axes) > 1 else axes[0]
    vectors = 1 if one else _accumulators(extent, width)
    _, lane = stage.split(row, width * vectors)
    part = work.schedule.rfactor(stage, lane, -1)
    if not same(extent % width, 0):
        rest = part.reduce_axes[-1]
        part.pragma(rest, PARTITION_HINT, 1)
        if below(rest.extent, _UNROLLED + 1):
            part.unroll(rest)
    part.set_scope("local")
    *data, last = part.axes
    part.reorder(*data, *part.leaf[len(part.axes) :], last)
    if vectors > 1:
        several, last = part.split(last, width)
        part.unroll(several)
    part.vectorize(last)
    work.done.add(part)
    return part


def _accumulators(extent: Size, width: int) -> int:
    """The vectors of `width` lanes that are summed beside each other in a row."""
    if not isinstance(extent, int):
        return _OPEN
    return 1 if extent % width else largest_divisor(extent // width, _ACCUMULATORS)


def _along(work: Scheduling, stage: Stage) -> None:
    """Rows outside, shared among threads; inside each the lanes of a row."""
    size = points(stage)
    part = factor(work, stage)
    host, inner = work.hosted(stage)
    axes = list(host.leaf)
    if not axes:
        return
    if part is not None:
        inner.pragma(inner.reduce_axes[-1], VECTOR_REDUCTION, 1)
        row = host.fuse(*axes)
        part.compute_at(host, row)
        inner.compute_at(host, row)
        work.parallel(host, [row], size)
        return
    # A block lies within an axis: one across its end would take in all rows of two passes of the loop around.
    axes = work.loops(host)
    *around, rows = axes
    block = largest_divisor(rows.extent, _ROWS) if isinstance(rows.extent, int) else 1
    outer, lane = host.split(rows, block)
    outer = host.fuse(*around, outer)
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
        width = columns.extent if isinstance(columns.extent, int) else work.lanes(host)
    vectors = largest_divisor(columns.extent // width, _COLUMNS) if isinstance(columns.extent, int) else 1
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
