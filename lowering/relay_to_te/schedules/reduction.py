"""Reductions: along rows in lanes that one vector reduction combines last, across rows in vectors of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from xdsl.ir.affine import AffineDimExpr

from ....dialects import te
from ....dialects.affine import below
from ....dialects.sizes import Size, product, same
from ....dialects.sizes.kernel import known
from ....passes.relay.blocking import largest_divisor
from ....te.schedule.counts import Body
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from ..cost import Cost
from ..knobs import Formula, Legal, Values
from .common import PARTITION_HINT, VECTOR_REDUCTION, Scheduling, Shared, points, shape_of

_ACCUMULATORS = 8
"""Vectors that are summed independently, so that an addition need not wait for the one before: the latency of one
times how many start per cycle, which half the registers of any machine hold."""
_OPEN = 2
"""Such vectors where only a call knows how long a row is: most of them may be empty in the last step."""
_RAGGED = 2
"""Such vectors where a row is no whole number of vectors: with more, its end takes as many steps as they save."""
_SHORT_RAGGED = 4
"""Vectors of such a row that is too short for that."""
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
_SHORT_ROW = 1 << 12
"""Columns, no whole number of vectors, that are reduced at once."""
_STEPS = (1, 2, 4, 8)
"""Terms of a column that one pass of its loop may add."""
_WRITTEN = (1, 4, 16, 64)
"""Vectors of a row that may be the most that are written out."""
_AHEAD = 32
"""Vectors of terms that a core looks ahead: short rows are summed beside each other without being told to."""


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


class RowSums(NamedTuple):
    """The sums of a row: how many vectors beside each other, their lanes, and up to how many steps are written out."""

    vectors: int
    lanes: int
    written: int = _UNROLLED


def factor(
    work: Scheduling, stage: Stage, *, one: bool = False, decided: dict[tuple[Size, int], RowSums] | None = None
) -> Stage | None:
    """Reduce a row in the lanes of some vectors, then these to one element; returns the stage of the lanes.

        for k.outer { for unrolled k.i in 4 { for vectorized k.lane in 16 { rf[k.i * 16 + k.lane] += a[..] } } }
        b += vector.reduction of rf

    one: only one vector, as other rows are reduced beside it. decided: the sums of rows of an extent in vectors of some
    lanes, where other stages have such rows as well; what is decided here is added.
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
    decided = {} if decided is None else decided
    if (sums := decided.get((extent, width))) is None:
        sums = decided[extent, width] = RowSums(1, width) if one else _row_sums(work, stage, extent, width)
    vectors, width = sums.vectors, sums.lanes
    _, lane = stage.split(row, width * vectors)
    part = work.schedule.rfactor(stage, lane, -1)
    if not same(extent % width, 0):
        rest = part.reduce_axes[-1]
        part.pragma(rest, PARTITION_HINT, 1)
        if below(rest.extent, sums.written + 1):
            part.unroll(rest)
    part.set_scope("local")
    *data, last = part.axes
    part.reorder(*data, *part.leaf[len(part.axes) :], last)
    abreast = width
    if same(extent % width, 0) and width == lanes:
        abreast *= work.abreast(part, vectors * width)
    if vectors * width > abreast:
        several, last = part.split(last, abreast)
        part.unroll(several)
    part.vectorize(last)
    work.done.add(part)
    return part


def lane_sums(work: Scheduling, stage: Stage) -> tuple[Stage, Stage, Stage]:
    """Sum the last reduce axis in the lanes of one vector; returns the stage of the lanes, and host and sum."""
    _, lane = stage.split(stage.reduce_axes[-1], work.lanes(stage))
    part = work.schedule.rfactor(stage, lane, -1)
    part.set_scope("local")
    work.done.add(part)
    return part, *work.hosted(stage)


def place_lane_sums(part: Stage, host: Stage, inner: Stage, loop: IterVar, order: Sequence[int]) -> None:
    """Compute the sums of `lane_sums` inside a loop of the host, and combine the lanes of each.

    order: the numbers of the sum's axes, outermost first; points of the last two are summed beside each other.
    """
    for stage in (part, inner):
        stage.compute_at(host, loop)
        axes = [stage.axes[number] for number in order]
        stage.reorder(*(stage.reduce_axes if stage is part else ()), *axes)
        for axis in axes[-2:]:
            stage.unroll(axis)
    part.vectorize(part.axes[-1])
    inner.pragma(inner.reduce_axes[-1], VECTOR_REDUCTION, 1)


def _row_sums(work: Scheduling, stage: Stage, extent: Size, width: int) -> RowSums:
    """The sums of rows of an extent that is whole vectors of `width` lanes, or one that does not matter."""
    if not isinstance(extent, int):
        return RowSums(_OPEN, width)
    full, large = work.lanes(stage), work.is_large(stage)
    ragged = _RAGGED if extent >= _SHORT_RAGGED * width else 1
    default = ragged if extent % width else largest_divisor(extent // width, _ACCUMULATORS)
    most = min(work.machine.vector_registers // 2, extent // width)
    counts = [count for count in range(1, most + 1) if extent // width % count == 0 or count in _STEPS]
    written = [count for count in _WRITTEN if count <= max(_UNROLLED, extent // full)] if extent % full else ()

    def goes(at: Values) -> Any:
        """Divisors of whole vectors, else a power of 2."""
        several, lanes = at["accumulators"], at["lanes"]
        whole = extent % lanes == 0
        power = reduce(lambda goes, count: goes | (several == count), _STEPS, several == 0) & (
            several * lanes <= extent
        )
        return (whole & (extent // lanes % several == 0)) | (np.logical_not(whole) & power)

    lanes = work.knob("lanes", (width, full) if large else (), width)
    vectors = work.knob("accumulators", counts if large else (), default, goes)
    only = _written_matters(extent)
    return RowSums(vectors, lanes, work.knob("unrolled", written if large else (), _UNROLLED, only))


def _written_matters(extent: int) -> Legal:
    """Whole vectors have no guard, for which steps are written out."""
    return lambda at: (at["unrolled"] == _UNROLLED) | (extent % at["lanes"] != 0)


def _along(work: Scheduling, stage: Stage) -> None:
    """Rows outside, shared among threads; inside each the lanes of a row."""
    size = points(stage)
    large = work.is_large(stage)
    at_point = work.body(stage) if large else None
    sums: dict[tuple[Size, int], RowSums] = {}
    part = factor(work, stage, decided=sums)
    host, inner = work.hosted(stage)
    axes = list(host.leaf)
    if not axes:
        return
    if part is not None:
        inner.pragma(inner.reduce_axes[-1], VECTOR_REDUCTION, 1)
        # An index of fused loops is divided by extents: by numbers cheaply, by sizes for as long as a short row takes.
        *around, row = axes if len(axes) > 1 and not isinstance(axes[-1].extent, int) else [host.fuse(*axes)]
        part.compute_at(host, row)
        inner.compute_at(host, row)
        shared = work.parallel(host, around or [row], size)
        (extent, _), *_ = sums
        if at_point is not None:
            work.cost(_cost_along(work, size, known(extent), at_point, shared))
        return
    # A block lies within an axis: one across its end would take in all rows of two passes of the loop around.
    axes = work.loops(host)
    *around, rows = axes
    block = largest_divisor(rows.extent, _ROWS) if isinstance(rows.extent, int) else 1
    if isinstance(rows.extent, int) and large:
        most = min(rows.extent, 4 * _ROWS)
        block = work.knob("rows", (count for count in range(1, most + 1) if rows.extent % count == 0), block)
    outer, lane = host.split(rows, block)
    outer = host.fuse(*around, outer)
    inner.compute_at(host, outer)
    shared = work.parallel(host, [outer], size)
    if at_point is not None:
        work.cost(_cost_of_scalars(work, size, at_point, shared))
    host.unroll(lane)
    data = list(inner.axes)
    inner.reorder(*inner.reduce_axes, *data)
    for axis in data:
        inner.unroll(axis)


def _across(work: Scheduling, stage: Stage) -> None:
    """Vectors of columns outside, shared among threads; inside each the reduction, in registers."""
    size = points(stage)
    large = work.is_large(stage)
    at_point = work.body(stage) if large else None
    host, inner = work.hosted(stage)
    if not host.leaf:
        return
    *axes, columns = host.leaf
    width = work.width(host, columns.extent)
    if width < _NARROW:
        # Whole vectors of which the last is cut off: of the whole row, where its sums stay in the nearest cache.
        short = below(columns.extent, _SHORT_ROW)
        width = columns.extent if short and isinstance(columns.extent, int) else work.lanes(host)
    vectors = largest_divisor(columns.extent // width, _COLUMNS) if isinstance(columns.extent, int) else 1
    if isinstance(columns.extent, int) and large:
        there = columns.extent // width
        most = min(there, work.machine.accumulators)
        vectors = work.knob("columns", (count for count in range(1, most + 1) if there % count == 0), vectors)
    outer, columns = host.split(columns, width * vectors)
    row = host.fuse(*axes, outer)
    inner.compute_at(host, row)
    shared = work.parallel(host, [row], size)
    data, terms = list(inner.axes), list(inner.reduce_axes)
    steps = [count for count in _STEPS if same(terms[-1].extent % count, 0)]
    if (step := work.knob("steps", steps if large else (), 1)) > 1:
        terms[-1:] = inner.split(terms[-1], step)
        inner.unroll(terms[-1])
    if at_point is not None:
        work.cost(_cost_across(work, size, width, at_point, shared))
    inner.reorder(*terms, *data)
    for part, axis in ((host, columns), (inner, data[-1])):
        if vectors > 1:
            several, axis = part.split(axis, width)
            part.unroll(several)
        part.vectorize(axis)


def row_cost(rows: int, extent: int, at_point: Body, at: Values) -> Cost:
    """The cost of the sums of `rows` rows of an extent, of the knobs `lanes`, `accumulators` and `unrolled`."""
    several, lanes = at["accumulators"], at["lanes"]
    vectors = np.ceil(extent / lanes)
    steps = np.ceil(vectors / several)
    rolled = steps > np.where(extent % lanes == 0, 1, at["unrolled"])
    ends = several + 2 * np.log2(lanes)
    return Cost(
        products=rows * (steps * several * at_point.operations + ends),
        sums=several * np.maximum(1.0, _AHEAD / vectors),
        loads=rows * (steps * several * len(at_point.reads) + ends),
        steps=rows * (1 + np.where(rolled, steps, 0)),
    )


def _cost_along(work: Scheduling, size: int, extent: int, at_point: Body, shared: Shared) -> Formula:
    """The cost of sums along rows of an extent."""
    return lambda at: replace(
        row_cost(size // extent, extent, at_point, at), moved=work.moved(at_point), passes=shared(at)
    )


def _cost_of_scalars(work: Scheduling, size: int, at_point: Body, shared: Shared) -> Formula:
    """The cost of rows that are shorter than a vector, some of them beside each other."""
    return lambda at: Cost(
        products=size * at_point.operations,
        sums=at["rows"],
        loads=size * len(at_point.reads),
        steps=size / at["rows"],
        moved=work.moved(at_point),
        passes=shared(at),
    )


def _cost_across(work: Scheduling, size: int, width: int, at_point: Body, shared: Shared) -> Formula:
    """The cost of columns that are summed in vectors of `width` lanes."""
    vectors = size / width * -(-width // work.machine.lanes())
    return lambda at: Cost(
        products=vectors * at_point.operations,
        sums=at["columns"],
        loads=vectors * len(at_point.reads),
        steps=vectors / (at["columns"] * at["steps"]),
        moved=work.moved(at_point),
        passes=shared(at),
    )
