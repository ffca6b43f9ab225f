"""Convolutions on plain layouts whose lanes are pixels, so that nothing packs the data.

The compiler's own are of single pixels to few channels; of kernels that somebody wrote, windows may be larger.
"""

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
    channel = _channel(inner)
    *around, columns = host.leaf
    channels = around.pop(channel)
    lanes, count = work.lanes(host), known(columns.extent)
    outputs, vectors = vectors_tile(known(channels.extent), -(-count // lanes), work.machine)
    c_outer, c_inner = host.split(channels, outputs)
    tile, lane = host.split(columns, vectors * lanes)
    host.pragma(tile, PARTITION_HINT, 1)
    around.insert(channel, c_outer)
    host.reorder(*around, tile, c_inner, lane)
    host.parallel(host.fuse(*around))
    host.unroll(c_inner)
    work.vectorize(host, lane, unroll=True)
    inner.compute_at(host, tile)
    *around, lane = inner.axes
    channels = around.pop(channel)
    inner.reorder(*inner.reduce_axes, *around, channels, lane)
    inner.unroll(channels)
    work.vectorize(inner, lane, unroll=True)


def _channel(stage: Stage) -> int:
    """Return the number of the axis of output channels: that which the image is not read by."""
    axes = list(stage.compute.axes)
    used = [
        {read.indices[dim] for expr in read.map.data.results for dim in expr.used_dims()}
        for read in stage.compute.reads
    ]
    image = next((indices for indices in used if axes[-1] in indices), set(axes))
    return next(
        (number for number, axis in enumerate(axes[:-1]) if number and axis not in image), max(1, len(axes) - 3)
    )
