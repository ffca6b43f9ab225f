"""Reductions over a sliding window: pooling, the sum of neighbours in lrn."""

from __future__ import annotations

from math import prod
from typing import Any

from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import known
from ....te.schedule.stage import Stage
from ..knobs import Values
from .common import PARTITION_HINT, Scheduling, passes, points
from .convolution_cost import window_cost
from .terms import LONGEST, term_counts, write_out
from .tiles import counted, row_tile, row_tiles

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
    sizes = [axis.extent for axis in (*images, rows, columns)]
    per_pixel = work.vectors(host, host.leaf[-1].extent) if blocked else 1
    tile, pixels = host.split(columns, _pixels(work, host, columns.extent, per_pixel if blocked else 0))
    host.pragma(tile, PARTITION_HINT, 1)
    last = host.leaf[-1]
    if blocked:
        host.unroll(pixels)
        work.vectorize(host, last, unroll=True)
    else:
        host.vectorize(last)
    inner.compute_at(host, tile)
    by_image = not work.knob("shared_rows", (0, 1), int(passes(images) < _IMAGES))
    if by_image:
        host.pragma(rows, PARTITION_HINT, 1)
    work.parallel(host, images if by_image else [*images, rows], size)
    *data, lane = inner.axes
    inner.reorder(*inner.reduce_axes, *data, lane)
    if blocked:
        inner.unroll(data[-1])
        work.vectorize(inner, lane, unroll=True)
    else:
        inner.vectorize(lane)
    write_out(inner, _terms(work, inner, blocked, per_pixel))
    if all(isinstance(extent, int) for extent in sizes):
        *outside, height, length = map(known, sizes)
        extents = prod(outside), height, length
        work.cost(window_cost(work.machine, inner, extents, per_pixel if blocked else 0))


def _pixels(work: Scheduling, host: Stage, columns: Size, per_pixel: int) -> int:
    """The pixels of a row that a tile takes, each of some vectors; 0 vectors: pixels are the lanes of one."""
    count, lanes = counted(columns), work.lanes(host)
    if per_pixel:
        return work.knob("pixels", row_tiles(count, per_pixel, work.machine), row_tile(count, per_pixel, work.machine))
    whole = work.width(host, columns)
    widths = [width for width in (lanes // 2, lanes, 2 * lanes) if 1 < width < count]
    if count <= lanes:
        widths.append(count)
    return work.knob("pixels", widths, whole if whole >= _LANES else min(lanes, count))


def _terms(work: Scheduling, inner: Stage, blocked: bool, per_pixel: int) -> int:
    """The elements of a window that are written out as the body of the innermost loop."""
    window = [known(extent) for extent in inner.compute.reduce_shape]
    rule = 1 if blocked else prod(window)

    def legal(at: Values) -> Any:
        terms = at["unrolled_terms"]
        return (terms == rule) | (terms * (at["pixels"] * per_pixel if blocked else 1) <= LONGEST)

    return work.knob("unrolled_terms", term_counts(window), rule, legal)
