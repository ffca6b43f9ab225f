"""Convolutions of single pixels to few channels on plain layouts: lanes are pixels, so that nothing packs the data."""

from __future__ import annotations

from ....dialects.sizes.kernel import known
from ....te.schedule.stage import Stage
from .common import PARTITION_HINT, Scheduling
from .tiles import vectors_tile


def schedule_pixels(work: Scheduling, stage: Stage) -> None:
    """Schedule a tile of output channels and vectors of pixels in registers, with the whole sum of channels inside.

    for parallel n.oc.y { for x.outer { acc[oc, x.vector, lane]; for ic { acc += .. }; out = acc } }
    """
    host, inner = work.hosted(stage)
    n, channels, *rows, columns = host.leaf
    lanes, count = work.lanes(host), known(columns.extent)
    outputs, vectors = vectors_tile(known(channels.extent), -(-count // lanes), work.machine)
    c_outer, c_inner = host.split(channels, outputs)
    tile, lane = host.split(columns, vectors * lanes)
    host.pragma(tile, PARTITION_HINT, 1)
    host.reorder(n, c_outer, *rows, tile, c_inner, lane)
    host.parallel(host.fuse(n, c_outer, *rows))
    host.unroll(c_inner)
    work.vectorize(host, lane, unroll=True)
    inner.compute_at(host, tile)
    n, channels, *rows, lane = inner.axes
    inner.reorder(*inner.reduce_axes, n, *rows, channels, lane)
    inner.unroll(channels)
    work.vectorize(inner, lane, unroll=True)
