"""Groups that reduce rows and then use the rows again: softmax, layer_norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ....dialects.affine import below
from ....dialects.sizes import Size, product, same, same_shape
from ....dialects.sizes.kernel import known, nominal
from ....dialects.tir import element_bytes
from ....passes.relay.blocking import largest_divisor
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from ..cost import Cost
from ..knobs import Formula, Values
from .common import PARTITION_HINT, VECTOR_REDUCTION, Scheduling, points
from .reduction import RowSums, along, factor

_ROW_BYTES = 1 << 16
"""Longer rows stay in memory: a thread's stack has to hold what is kept of one."""

_CACHED_BYTES = 1 << 20
"""The most bytes of a row of which nothing is kept: a cache of the second level."""

_BESIDE = 16
"""Vectors of rows that are computed beside each other: they hide latency; of 16 registers, too,
8 are up to 1.1 times slower."""

_LATENCY = 4
"""Vector operations that could begin while one is waited for."""

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


def _kept_rows(work: Scheduling, last: Stage, rows: Sequence[IterVar], vectors: int) -> tuple[bool, int]:
    """Return whether rows of some vectors are in registers, and the number of rows that are beside each other there.

    One row where only a call knows how many there are.
    """
    # The other half of the registers is for the constants of what is computed.
    kept = 0 < vectors <= work.machine.vector_registers // 2
    count, extent = 1, rows[-1].extent if rows else 1
    large, counts = work.is_large(last), [1]
    if kept and isinstance(extent, int):
        count = largest_divisor(extent, min(_ROWS, _BESIDE // vectors))
        most = min(extent, work.machine.vector_registers // vectors)
        counts = [number for number in range(1, most + 1) if extent % number == 0]
    fits = large and 0 < vectors <= work.machine.vector_registers
    here = work.knob("in_registers", (0, 1) if fits else (), int(kept))
    count = work.knob("rows", counts if large else (), count, lambda at: (at["rows"] == 1) | (at["in_registers"] == 1))
    return bool(here), count


def _several(rows: Sequence[IterVar], height: int | None) -> tuple[int, int] | None:
    """Return the innermost loop over rows and the number of its passes that hide each other's latency."""
    for at in range(len(rows) - 1, -1, -1):
        extent = rows[at].extent if height is None else height
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
    group = [*stages[:-1], last]
    cost = _cost(work, group) if work.is_large(last) else None
    shared = work.parallel(last, [schedule_row_group(work, group, columns)], size)
    if cost is not None:
        work.cost(lambda at: replace(cost(at), passes=shared(at)))


def schedule_row_group(
    work: Scheduling,
    stages: Sequence[Stage],
    columns: int,
    rows: Sequence[IterVar] | None = None,
    height: int | None = None,
) -> IterVar:
    """Compute all stages in one loop over rows of the last one, which is returned.

    columns: how many axes a row has; rows: the loops over rows that it is made of, where not all are; height: how many
    rows there are where it is computed, if that is not all of them.
    """
    last = stages[-1]
    loops = work.loops(last)
    rows, row_axes = list(loops[:-columns] if rows is None else rows), loops[-columns:]
    column = last.fuse(*row_axes) if columns > 1 else row_axes[0]
    work.done.add(last)
    vectors = -(-column.extent // work.lanes(last)) if isinstance(column.extent, int) else 0
    block: IterVar | None = None
    beside = False
    depth = last.axes.index(rows[-1]) if rows else 0
    kept, count = _kept_rows(work, last, rows, vectors)
    if kept and rows and count > 1:
        rows[-1], block = last.split(rows[-1], count)
        last.unroll(block)
    elif not isinstance(column.extent, int) and (match := _several(rows, height)) is not None:
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
    sums: dict[tuple[Size, int], RowSums] = {}
    for stage in stages[:-1]:
        partial = factor(work, stage, one=beside, decided=sums) if stage.compute.reducer is not None else None
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
            *_, lane = work.loops(stage)
            if not kept and (abreast := work.abreast(stage, lane.extent)) > 1:
                _, lane = stage.split(lane, abreast * work.lanes(stage))
                stage.vectorize(lane)
            else:
                work.vectorize(stage, lane, unroll=kept)
        work.done.add(stage)
    return row


def _cost(work: Scheduling, stages: Sequence[Stage]) -> Formula:
    """The cost of a group whose sizes are numbers: vectors that are computed, and what waits for reductions."""
    last = stages[-1]
    lanes = work.lanes(last)
    reductions = [stage for stage in stages if stage.compute.reducer is not None]
    row = prod(map(known, reductions[0].compute.reduce_shape)) if reductions else known(last.compute.shape[-1])
    rows, vectors = points(last) // row, -(-row // lanes)
    each = [work.body(stage) for stage in stages]
    operations, loads = sum(at.operations for at in each), sum(len(at.reads) for at in each)

    def formula(at: Values) -> Cost:
        beside, here, several = at["rows"], at["in_registers"], at["accumulators"]
        steps = np.ceil(vectors / several)
        # Sums of a row, and from there to the first use of it: what of this is not hidden behind other rows.
        waits = rows * len(reductions) * (steps * _LATENCY + _LATENCY * np.log2(lanes * several)) / beside
        return Cost(
            products=rows * (vectors * operations + len(reductions) * several) + waits,
            loads=rows * vectors * (np.where(here, 0, len(stages)) + loads),
            steps=rows * (1 + np.where(here, 0, vectors * (len(stages) - len(reductions))) + len(reductions) * steps),
            moved=work.moved(each[-1]),
        )

    return formula
