"""Groups that reduce rows and then use the rows again: softmax, layer_norm."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....dialects.affine import below
from ....dialects.sizes import Size, product, same
from ....dialects.sizes.kernel import nominal, same_shape
from ....dialects.tir import element_bytes
from ....passes.relay.blocking import largest_divisor
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from .common import PARTITION_HINT, VECTOR_REDUCTION, Scheduling
from .reduction import along, factor

_ROW_BYTES = 1 << 16
"""Longer rows stay in memory: a thread's stack has to hold what is kept of one."""

_CACHED_BYTES = 1 << 20
"""Where nothing is kept of a row, it may be as long as a cache of the second level holds."""

_BESIDE = 16
"""Vectors of rows that are computed beside each other: they hide latency; of 16 registers, too,
8 are up to 1.1 times slower."""

_ROWS = 4
"""Rows at once are enough, where they fit, for what one waits for to be hidden behind the others."""


def _ending(work: Scheduling, stages: list[Stage]) -> tuple[Stage, int] | None:
    """The elementwise stage that ends the group, if all others are reductions of its rows, or elementwise along them.

    With it, how many of its axes a row has, which are the last ones but for those of extent 1. Not if its rows are too
    long to be kept or read again.
    """
    *others, last = stages
    shape = last.compute.shape
    reductions = [stage for stage in others if stage.compute.reducer is not None]
    if last.compute.reducer is not None or not shape or any(work.schedule.is_output(stage) for stage in others):
        return None
    end = max((i + 1 for i, extent in enumerate(shape) if not below(extent, 2)), default=len(shape))
    columns = len(reductions[0].compute.reduce_shape) if reductions else 1
    rows, row = shape[: max(0, end - columns)], shape[max(0, end - columns) : end]
    keeps = len(reductions) < len(others)
    for stage in others:
        mine = stage.compute.shape
        if stage.compute.reducer is None:
            if not same_shape(mine, shape) or columns > 1:
                return None
        elif (
            along(stage) != columns
            or not same_shape(stage.compute.reduce_shape, row)
            or not same_shape(mine[: len(rows)], rows)
            or not same(product(mine[len(rows) :]), 1)
        ):
            return None
    size = prod(map(nominal, row)) * element_bytes(last.compute.result.type.element_type)
    return (last, columns) if size <= (_ROW_BYTES if keeps else _CACHED_BYTES) else None


def _beside(rows: Size, most: int) -> int:
    """Return the number of rows that are computed beside each other; one where only a call knows how many there are."""
    return largest_divisor(rows, most) if isinstance(rows, int) else 1


def _several(rows: Sequence[IterVar]) -> tuple[int, int] | None:
    """Which of the loops over rows, and how many of its passes, hide the latency of each other; the innermost one."""
    for at in range(len(rows) - 1, -1, -1):
        extent = rows[at].extent
        if isinstance(extent, int) and (count := largest_divisor(extent, _ROWS)) > 1:
            return at, count
    return None


def _vectors(work: Scheduling, stage: Stage, column: IterVar, rows: IterVar) -> None:
    """Vectors of an open column, each of several rows beside each other."""
    outer, lane = stage.split(column, work.lanes(stage))
    stage.pragma(outer, PARTITION_HINT, 1)
    stage.reorder(outer, rows, lane)
    stage.vectorize(lane)


def schedule_rows(work: Scheduling, stage: Stage) -> None:
    """Row by row, so that a row stays in the cache or in registers: all stages inside the loop of the last one's rows.

    Nothing where the stages of the function around `stage` are no such rows.

    for parallel row { max of row; exp of row; sum of exp; out row = exp / sum }
    """
    stages = [candidate for candidate in work.schedule.stages if not candidate.inlined]
    match = _ending(work, stages)
    if match is None:
        return
    last, columns = match
    size = prod(map(nominal, last.compute.shape)) * len(stages)
    work.parallel(last, [schedule_row_group(work, [*stages[:-1], last], columns)], size)


def schedule_row_group(
    work: Scheduling, stages: Sequence[Stage], columns: int, rows: Sequence[IterVar] | None = None
) -> IterVar:
    """Compute all stages in one loop over rows of the last one, which is returned.

    columns: how many axes a row has; rows: the loops over rows that it is made of, where not all are.
    """
    last = stages[-1]
    loops = work.loops(last)
    rows, row_axes = list(loops[:-columns] if rows is None else rows), loops[-columns:]
    column = last.fuse(*row_axes) if columns > 1 else row_axes[0]
    work.done.add(last)
    # The other half of the registers is for the constants of what is computed.
    vectors = -(-column.extent // work.lanes(last)) if isinstance(column.extent, int) else 0
    kept = 0 < vectors <= work.machine.vector_registers // 2
    block: IterVar | None = None
    beside = False
    depth = last.axes.index(rows[-1]) if rows else 0
    if kept and rows and (count := _beside(rows[-1].extent, min(_ROWS, _BESIDE // vectors))) > 1:
        rows[-1], block = last.split(rows[-1], count)
        last.unroll(block)
    elif not isinstance(column.extent, int) and (match := _several(rows)) is not None:
        at, count = match
        depth = last.axes.index(rows[at])
        rows[at], block = last.split(rows[at], count)
        last.reorder(*rows, block, column)
        last.unroll(block)
        beside = True
    row = last.fuse(*rows) if rows else last.fuse()
    if beside and block is not None:
        _vectors(work, last, column, block)
    else:
        work.vectorize(last, column, unroll=kept)
    for stage in stages[:-1]:
        partial = factor(work, stage, one=beside) if stage.compute.reducer is not None else None
        stage.set_scope("local")
        for part in (stage,) if partial is None else (partial, stage):
            part.compute_at(last, row)
            if block is not None and depth < len(part.axes):
                part.unroll(part.axes[depth])
        if partial is not None and beside:
            partial.reorder(partial.reduce_axes[-1], partial.axes[depth])
        if partial is not None:
            stage.pragma(stage.reduce_axes[-1], VECTOR_REDUCTION, 1)
        elif beside and stage.compute.reducer is None:
            # Rows lie whole vectors apart: a load across what two stores wrote would wait for both.
            stage.storage_align(stage.axes[-2], work.lanes(stage), 0)
            _vectors(work, stage, stage.axes[-1], stage.axes[depth])
        elif stage.compute.reducer is None:
            work.vectorize(stage, work.loops(stage)[-1], unroll=kept)
        work.done.add(stage)
    return row
