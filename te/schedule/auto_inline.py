"""Inlining by what stages are: each pass marks the stages of a kind that are no outputs, as `compute_inline` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.ir import BlockArgument
from xdsl.ir.affine import AffineDimExpr

from ...dialects import te
from .schedule import Schedule
from .stage import Stage


def _is_injective(compute: te.ComputeOp) -> bool:
    return not compute.reduce_shape


def _is_broadcast(compute: te.ComputeOp) -> bool:
    """Return whether each read is at some of the axes, in their order."""
    if not _is_injective(compute):
        return False
    axes = list(compute.axes)
    for read in compute.reads:
        places: list[int] = []
        for expr in read.map.data.results:
            if not isinstance(expr, AffineDimExpr) or read.indices[expr.position] not in axes:
                return False
            places.append(axes.index(cast(BlockArgument, read.indices[expr.position])))
        if places != sorted(set(places)):
            return False
    return True


def _is_elemwise(compute: te.ComputeOp) -> bool:
    """Return whether each read is at the axes."""
    return _is_broadcast(compute) and all(len(read.map.data.results) == len(compute.shape) for read in compute.reads)


def _inline(schedule: Schedule, wanted: Callable[[te.ComputeOp], bool]) -> None:
    def may(stage: Stage) -> bool:
        free = not (stage.inlined or stage.is_output or stage.is_update) and stage.attach is None
        return stage.is_compute and free and stage.compute.reducer is None and wanted(stage.compute)

    for stage in schedule.stages:
        if may(stage):
            stage.compute_inline()


def auto_inline_elemwise(schedule: Schedule) -> None:
    """Inline the stages whose elements are made of those at the same place: `exp(A[i, j])`."""
    _inline(schedule, _is_elemwise)


def auto_inline_broadcast(schedule: Schedule) -> None:
    """Inline the stages whose elements are made of those at some of their axes, in order: `A[i, j] + b[j]`."""
    _inline(schedule, _is_broadcast)


def auto_inline_injective(schedule: Schedule) -> None:
    """Inline the stages that reduce nothing."""
    _inline(schedule, _is_injective)
