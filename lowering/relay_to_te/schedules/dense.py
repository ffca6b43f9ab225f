"""Matrix products: a tile of the result in registers."""

from __future__ import annotations

from math import prod

from ....passes.relay.blocking import largest_divisor
from ....te.schedule.stage import Stage
from .common import Scheduling, points, shape_of, tag_of
from .tiles import product_tile

_STEPS = 4
"""Steps of a packed product's reduction in one pass of its loop."""
_PANELS = 4
"""Panels that are enough for the threads; where there are fewer, they share tiles of rows."""
_VECTORS = 4
"""Vectors of a row of a tile, where no packed weight says how many."""


def schedule_dense(work: Scheduling, stage: Stage) -> None:
    """Panels of columns outside, then tiles of rows: per tile the whole reduction in registers.

        for parallel n.outer { for m.outer { acc[m.inner, n.inner] in registers; for k { acc += .. }; out = acc } }

    A weight packed as (n / block, k, block) sets the width of a panel. A panel that is no whole number of vectors ends
    with one that is cut off; the rows of its tile lie whole vectors apart, so that each has registers of its own.
    """
    size = points(stage)
    host, inner = work.hosted(stage)
    *batch, rows, columns = host.leaf
    lanes = work.lanes(host)
    packed = tag_of(inner) == "dense_pack"
    panel = shape_of(inner.compute.reads[1])[2] if packed else _panel(columns.extent, lanes)
    whole = panel % lanes == 0
    height, vectors = product_tile(rows.extent, -(-panel // lanes), work.machine, whole)
    m_outer, m_inner = host.split(rows, height)
    n_outer, n_inner = host.split(columns, vectors * lanes if whole else panel)
    host.reorder(*batch, n_outer, m_outer, m_inner, n_inner)
    host.unroll(m_inner)
    inner.compute_at(host, m_outer)
    shared = [*batch, n_outer]
    if prod(axis.extent for axis in shared) < _PANELS and rows.extent % height == 0:
        shared.append(m_outer)
    work.parallel(host, shared, size)
    data, reduce = list(inner.axes), list(inner.reduce_axes)
    if packed and reduce[-1].extent % _STEPS == 0 and reduce[-1].extent > _STEPS:
        reduce[-1:] = inner.split(reduce[-1], _STEPS)
        inner.unroll(reduce[-1])
    inner.reorder(*reduce, *data)
    if height > 1:
        inner.unroll(data[-2])
        if not whole:
            inner.storage_align(data[-2], lanes, 0)
    for part, axis in ((host, n_inner), (inner, data[-1])):
        if whole:
            v_outer, v_inner = part.split(axis, lanes)
            part.unroll(v_outer)
            part.vectorize(v_inner)
        else:
            part.vectorize(axis)


def _panel(columns: int, lanes: int) -> int:
    """The columns of a tile: whole vectors if they divide the columns, else as many as fill vectors best."""
    if columns % lanes == 0:
        return lanes * largest_divisor(columns // lanes, _VECTORS)
    divisors = [width for width in range(1, min(columns, _VECTORS * lanes) + 1) if columns % width == 0]
    return max(divisors, key=lambda width: (width / (-(-width // lanes) * lanes), width))
