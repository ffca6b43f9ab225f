"""Concatenations: one loop nest for each operand, of whole vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....dialects import te
from ....dialects.affine import below, bounds, substitute
from ....dialects.sizes import proves, same_shape
from ....dialects.sizes.kernel import known, nominal
from ....passes.relay.blocking import largest_divisor
from ....te.schedule.bounds import Reading
from ....te.schedule.choices import looked_at
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from ....te.schedule.stage_state import StageState
from ..cost import Cost
from ..knobs import Formula, Values
from ..stages import JOINED
from .common import PARTITION_HINT, SERIAL_LIMIT, Scheduling, Shared, passes, points, shape_of, tag_of
from .runs import place, run_along

_ROWS = 8
"""Passes of outer loops that are enough for the threads."""
_SHARES = 16
"""Shares of rows, at most."""


def is_joined(stage: StageState) -> bool:
    return tag_of(stage) == JOINED


def stands_alone(stage: StageState, readings: Sequence[Reading], joined: bool) -> bool:
    """Return whether an elementwise stage is better computed by itself than inside the stages that read it.

    A concatenation is, where its elements are read in another order. So is what comes in another order into one, which
    `joined` says of the readings: the loops over an operand's part of it are those over its memory then.
    """
    if all(prod(map(nominal, reader.compute.shape)) < SERIAL_LIMIT for reader, _ in readings):
        return False
    if is_joined(stage) and not all(_same_order(stage, host, point) for host, point in readings):
        return True
    return joined and any(
        not _in_order(stage, read, host, point) for read in stage.compute.reads for host, point in readings
    )


def _same_order(stage: StageState, host: StageState, point: Sequence[AffineExpr]) -> bool:
    """Return whether a host has at each point the element of a stage at the same point."""
    shape = stage.compute.shape
    return same_shape(shape, host.compute.shape) and all(
        below(extent, 2) or at == AffineDimExpr(axis)
        for axis, (extent, at) in enumerate(zip(shape, point, strict=True))
    )


def _in_order(stage: StageState, read: te.ReadOp, host: StageState, point: Sequence[AffineExpr]) -> bool:
    """Return whether a read is at neighbouring places of memory where its host is at those of its last axis."""
    return run_along(place(stage, read, host, point), len(host.compute.shape) - 1) == 0


def joined_axis(work: Scheduling, stage: Stage) -> IterVar | None:
    """The axis of a stage along which it has the operands of a concatenation, its own or an inlined one's."""
    for part in work.parts(stage):
        compute = part.compute
        if not is_joined(part) or len(compute.shape) != len(stage.compute.shape):
            continue
        axes: list[SSAValue] = list(compute.axes)
        ranges = tuple((0, extent - 1) for extent in compute.shape)
        for read in compute.reads:
            for expr, extent in zip(read.map.data.results, shape_of(read), strict=True):
                index = substitute(expr, [AffineDimExpr(axes.index(value)) for value in read.indices])
                low, high = bounds(index, ranges)
                used = index.used_dims()
                if len(used) == 1 and not (proves(low, ">=", 0) and below(high, extent)):
                    return stage.axes[min(used)]
    return None


def schedule_joined(work: Scheduling, stage: Stage, joined: IterVar) -> None:
    """Loops along which nothing is joined outside, shared among threads; in them one loop nest for each operand.

        for parallel y { for c in 6 { for vectorized x { .. } } for c in 4 { for vectorized x { .. } } }

    Where there are too few such loops, shares of the rows are one, or each operand's part has threads of its own.
    """
    large = work.is_large(stage)
    *outer, last = work.loops(stage)
    free = [axis for axis in outer if axis is not joined]
    inside = outer[outer.index(joined) + 1 :]
    lengths = [*inside, last]
    stage.pragma(joined, PARTITION_HINT, 1)
    # Behind the joined axis memory goes on without a gap: what threads do not share is one long row.
    fused, rests = 0, not inside
    while fused < len(inside) and passes(free[: len(free) - fused]) >= _ROWS * passes(inside[-1 - fused :][:1]):
        fused += 1
    for _ in range(looked_at(work.knob("fused", range(len(inside) + 1) if large else (), fused))):
        free.remove(inside[-1])
        last = stage.fuse(inside.pop(), last)
    lanes = work.lanes(stage)
    if passes(free) < _ROWS and not inside and isinstance(last.extent, int) and last.extent % lanes == 0:
        vectors = last.extent // lanes
        shares = [count for count in range(1, min(vectors, 4 * _SHARES) + 1) if vectors % count == 0]
        count = work.knob("shares", shares if rests and large else (), largest_divisor(vectors, _SHARES))
        share, last = stage.split(last, vectors // looked_at(count) * lanes)
        free.append(share)
    rows = [*free, joined] if passes(free) >= _ROWS else [joined, *free]
    stage.reorder(*rows, last)
    work.vectorize(stage, last)
    shared = work.parallel(stage, free if rows[0] is not joined else [joined])
    if large:
        work.cost(_cost(work, stage, [known(axis.extent) for axis in lengths], shared))


def _cost(work: Scheduling, stage: Stage, lengths: Sequence[int], shared: Shared) -> Formula:
    """The cost of copies of rows, each of which may be some of the last loops, whose passes are `lengths`."""
    at_point, size, lanes = work.body(stage), points(stage), work.lanes(stage)
    rows = {count: prod(lengths[len(lengths) - 1 - count :]) for count in range(len(lengths))}

    def formula(at: Values) -> Cost:
        row = sum(np.equal(at["fused"], count) * length for count, length in rows.items())
        vectors = size / row * np.ceil(row / lanes)
        return Cost(
            products=vectors * at_point.operations,
            loads=2 * vectors,
            steps=vectors + size / row * at.get("shares", 1),
            moved=work.moved(at_point),
            passes=shared(at),
        )

    return formula
