"""Groups that reduce rows and then use the rows again: softmax, layer_norm."""

from __future__ import annotations

from math import prod

from ....dialects.tir import element_bytes
from ....te.stage import Stage
from .common import Scheduling
from .reduction import along, factor

_ROW_BYTES = 1 << 16
"""Longer rows stay in memory: a thread's stack has to hold what is kept of one."""


def normalization(work: Scheduling, stages: list[Stage]) -> Stage | None:
    """The elementwise stage that ends a group of rows reduced more than once, if the group is one.

    All stages but it are reductions of its rows, or elementwise along them.
    """
    *others, last = stages
    shape = last.compute.shape
    reductions = [stage for stage in others if stage.compute.reducer is not None]
    if last.compute.reducer is not None or len(reductions) < 2 or len(shape) < 1:
        return None
    if any(work.schedule.is_output(stage) for stage in others):
        return None
    width = shape[-1]
    rows = shape[:-1]
    for stage in others:
        mine = stage.compute.shape
        if stage.compute.reducer is None:
            if mine != shape:
                return None
        elif along(stage) != 1 or stage.compute.reduce_shape != (width,) or mine not in (rows, (*rows, 1)):
            return None
    kept = width * element_bytes(last.compute.result.type.element_type)
    return last if kept <= _ROW_BYTES else None


def schedule_normalization(work: Scheduling, last: Stage, stages: list[Stage]) -> None:
    """Row by row, so that a row stays in the cache or in registers: all stages inside the loop of the last one's rows.

    for parallel row { max of row; exp of row; sum of exp; out row = exp / sum }
    """
    *rows, column = last.leaf
    size = prod(last.compute.shape) * len(stages)
    work.done.add(last)
    row = last.fuse(*rows) if rows else last.fuse()
    work.vectorize(last, column)
    for stage in stages[:-1]:
        made = factor(work, stage) if stage.compute.reducer is not None else []
        stage.set_scope("local")
        for part in [*made, stage]:
            part.compute_at(last, row)
        if made:
            stage.unroll(stage.reduce_axes[-1])
        elif stage.compute.reducer is None:
            work.vectorize(stage, stage.leaf[-1])
        work.done.add(stage)
    work.parallel(last, [row], size)
