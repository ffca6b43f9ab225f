"""Products of data in bytes and weights of a few bits: rows share the bytes that a vector of words becomes."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import StringAttr

from ....support.machine import Machine
from ....te.schedule.stage import Stage
from .common import PANELS, Scheduling, passes, points
from .tiles import counted, product_widths


def schedule_bytes(work: Scheduling, stage: Stage) -> None:
    """Panels of columns outside, then tiles of rows; per tile the whole reduction, its sums in registers.

    for parallel n.outer { for m.outer { for k { for n.vector { for m.inner { acc[m.inner, n.vector] += chain } } } } }

    The sums of integers of a chain are one expression, and all rows of a tile multiply the bytes of one.
    """
    size = points(stage)
    host, inner = work.hosted(stage)
    rows, columns = host.leaf
    lanes = work.lanes(host)
    chain, panel = (_number(inner, name) for name in ("chain", "panel"))
    count = 1 if work.few_rows and not isinstance(rows.extent, int) else counted(rows.extent)
    widths = product_widths(max(1, panel // lanes), True)
    height, vectors = _tile(count, widths, chain, work.machine)
    vectors = work.knob("vectors", widths, vectors)
    height = work.knob("rows", range(1, min(count, work.machine.accumulators) + 1), height)
    m_outer, m_inner = host.split(rows, height)
    n_outer, n_inner = host.split(columns, min(panel, vectors * lanes), tail="round_up")
    host.reorder(n_outer, m_outer, m_inner, n_inner)
    host.unroll(m_inner)
    inner.compute_at(host, m_outer)
    shared = [n_outer] if passes([n_outer]) >= PANELS else [n_outer, m_outer]
    work.parallel(host, shared, size)
    m, n = inner.axes
    inner.reorder(*inner.reduce_axes, m, n)
    for part, row, column in ((host, m_inner, n_inner), (inner, m, n)):
        if panel % lanes:
            part.vectorize(column)
            part.unroll(row)
            continue
        v_outer, v_inner = part.split(column, lanes)
        part.reorder(v_outer, row, v_inner)
        part.unroll(v_outer)
        part.unroll(row)
        part.vectorize(v_inner)


def _number(stage: Stage, name: str) -> int:
    return int(cast(StringAttr, stage.compute.attributes[name]).data)


def _tile(rows: int, widths: list[int], chain: int, machine: Machine) -> tuple[int, int]:
    """The rows and the vectors of a tile: as many vectors as leave registers for the sums of all rows, else one.

    The bytes of a chain of words are in registers, too.
    """
    left = max(1, machine.accumulators - chain)
    vectors = next((count for count in reversed(widths) if rows * count <= left), 1)
    tiles = -(-rows // (left // vectors))
    return -(-rows // tiles), vectors
