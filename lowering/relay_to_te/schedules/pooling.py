"""Reductions over a sliding window: pooling, the sum of neighbours in lrn."""

from __future__ import annotations

from ....dialects.sizes import same
from ....te.schedule.stage import Stage
from .common import PARTITION_HINT, Scheduling, passes, points
from .tiles import counted, row_tile

_IMAGES = 4
"""Images, of a channel or of as many as a vector holds, that are enough for the threads."""

_LANES = 8
"""Narrower vectors of pixels are worse than wide ones of which the last is not full: 4 take up to 1.4 times as long
as 8."""


def schedule_pool(work: Scheduling, stage: Stage) -> None:
    """Images outside, then rows of pixels; per tile of a row the window's elements are combined in registers.

        for parallel n.c { for y { for x.outer { acc[x.inner]; for ky, kx { acc max= image[..] }; out = acc } } }

    A tile is some pixels of a vector of channels, or in NCHW a vector of pixels. The first and last tiles, whose
    windows reach into the padding, have code of their own.
    """
    size = points(stage)
    host, inner = work.hosted(stage)
    lanes = work.lanes(host)
    blocked = "blocked" in inner.compute.attributes and same(host.leaf[-1].extent % lanes, 0)
    *images, rows, columns = host.leaf[:-1] if blocked else host.leaf
    whole = work.width(host, columns.extent)
    if blocked:
        width = row_tile(counted(columns.extent), work.vectors(host, host.leaf[-1].extent), work.machine)
    else:
        width = whole if whole >= _LANES else min(lanes, counted(columns.extent))
    tile, pixels = host.split(columns, width)
    host.pragma(tile, PARTITION_HINT, 1)
    last = host.leaf[-1]
    if blocked:
        host.unroll(pixels)
        work.vectorize(host, last, unroll=True)
    else:
        host.vectorize(last)
    inner.compute_at(host, tile)
    outer = images if passes(images) >= _IMAGES else [*images, rows]
    if outer is images:
        host.pragma(rows, PARTITION_HINT, 1)
    work.parallel(host, outer, size)
    *data, lane = inner.axes
    inner.reorder(*inner.reduce_axes, *data, lane)
    if blocked:
        inner.unroll(data[-1])
        work.vectorize(inner, lane, unroll=True)
    else:
        for axis in inner.reduce_axes:
            inner.unroll(axis)
        inner.vectorize(lane)
