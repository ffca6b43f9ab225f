"""Elementwise and injective stages: long vector loops, and tiles where rows become columns."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir.affine import AffineDimExpr

from ....dialects import te
from ....dialects.affine import below
from ....dialects.sizes import Size, product, same
from ....dialects.sizes.kernel import same_shape
from ....dialects.tir import element_bytes
from ....passes.relay.blocking import largest_divisor
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from .common import PARTITION_HINT, Scheduling, passes, shape_of
from .joined import joined_axis, schedule_joined
from .runs import divides, run_of

_RUN = 4
"""Elements that are worth a vector of their own."""
_ROWS = 8
"""Passes of outer loops that are enough for the threads."""
_ROW = 256
"""Elements of a row whose last vector may be cut off."""


def schedule_elementwise(work: Scheduling, stage: Stage) -> None:
    """One vector loop inside, the rest shared among threads; a stage whose reads are all alike is one long loop."""
    axes = work.loops(stage)
    if not axes:
        return
    if (column := _transposed(work, stage)) is not None and 0 < run_of(work, stage) < _RUN:
        _tile(work, stage, column)
        return
    if (joined := joined_axis(work, stage)) is not None and joined is not axes[-1]:
        schedule_joined(work, stage, joined)
        return
    guarded = work.guarded(stage)
    last = stage.fuse(*_row(work, stage, axes)) if flat(work, stage) and not guarded else axes[-1]
    if guarded and not below(last.extent, 2):
        # What lies between two places where a guard stops to hold gets vectors of its own.
        vector = last
        stage.vectorize(last)
        stage.pragma(last, PARTITION_HINT, 1)
    else:
        vector = _vectors(work, stage, last)
    outer = [axis for axis in stage.leaf if axis is not vector]
    if outer and guarded:
        stage.pragma(outer[-1], PARTITION_HINT, 1)
        # A parallel loop cannot be taken apart.
        enough = next((i for i in range(1, len(outer)) if passes(outer[:i]) >= _ROWS), len(outer))
        outer = outer[:enough]
    work.parallel(stage, outer)


def _vectors(work: Scheduling, stage: Stage, axis: IterVar) -> IterVar | None:
    """Vectors of an axis; bytes, which are computed in vectors of int32 or float32, are stored two of these at once."""
    if divides(work, stage) and (run := run_of(work, stage)) >= _RUN:
        outer, inner = stage.split(axis, run)
        stage.unroll(outer)
        return work.vectorize(stage, inner, unroll=True)
    lanes = 2 * work.lanes(stage)
    if element_bytes(stage.compute.result.type.element_type) > 1 or not same(axis.extent % lanes, 0):
        return work.vectorize(stage, axis)
    _, inner = stage.split(axis, lanes)
    stage.vectorize(inner)
    return inner


def schedule_repeated(work: Scheduling, stage: Stage) -> None:
    """An element is read once: `for i { a = x[i]; unrolled for n { y[i * times + n] = a } }`."""
    times = stage.compute.attributes["times"]
    assert isinstance(times, StringAttr)
    *_, last = work.loops(stage)
    _, inner = stage.split(last, int(times.data))
    stage.unroll(inner)
    work.parallel(stage, [axis for axis in stage.leaf if axis is not inner])


def _row(work: Scheduling, stage: Stage, axes: list[IterVar]) -> list[IterVar]:
    """The last axes that make a row: all if that is whole vectors, else enough that its end does not matter."""
    if same(product(axis.extent for axis in axes) % work.lanes(stage), 0):
        return axes
    first = len(axes) - 1
    while first and below(product(axis.extent for axis in axes[first:]), _ROW):
        first -= 1
    return axes[first:]


def flat(work: Scheduling, stage: Stage) -> bool:
    """Return whether every read, also of inlined stages, is of the same shape at the same point, or of one element."""
    for part in work.parts(stage):
        compute = part.compute
        if any(isinstance(op, te.IndexOp) for op in compute.block.ops):
            return False
        for read in compute.reads:
            if read.indices and not (same_shape(shape_of(read), compute.shape) and _same_point(read, compute)):
                return False
    return True


def _same_point(read: te.ReadOp, compute: te.ComputeOp) -> bool:
    """Return whether each index of a read is the axis of the same place, or that has one pass."""
    for expr, axis, extent in zip(read.map.data.results, compute.axes, compute.shape, strict=True):
        if below(extent, 2):
            continue
        if not isinstance(expr, AffineDimExpr) or read.indices[expr.position] is not axis:
            return False
    return True


def _side(work: Scheduling) -> int:
    """Rows and columns of a tile of a transposition: the float32 of a cache line, and no fewer of wider elements."""
    return work.machine.cache_line // 4


def _transposed(work: Scheduling, stage: Stage) -> IterVar | None:
    """The axis along which the stage reads memory, when it is not the last one, along which it writes."""
    arguments = list(stage.compute.axes)
    last = stage.axes[-1]
    for read in stage.compute.reads:
        if not read.map.data.results or arguments[-1] not in read.indices:
            continue
        along = [read.indices[dim] for dim in read.map.data.results[-1].used_dims()]
        if len(along) == 1 and along[0] in stage.compute.axes and along[0] is not arguments[-1]:
            axis = stage.axes[[argument is along[0] for argument in arguments].index(True)]
            if not any(below(extent, _side(work) // 2) for extent in (axis.extent, last.extent)):
                return axis
    return None


def _divisor(extent: Size, most: int) -> int:
    """The largest divisor of an extent up to `most`; `most` itself where that is open."""
    return largest_divisor(extent, most) if isinstance(extent, int) else most


def _neighbours(stage: Stage, row: IterVar, column: IterVar) -> bool:
    """Return whether rows and columns follow one another in all reads, too, so that one loop of vectors can be both."""
    compute = stage.compute
    arguments = dict(zip(stage.axes, compute.axes, strict=False))
    pair = [arguments[row], arguments[column]]
    for read in compute.reads:
        used = [{read.indices[dim] for dim in expr.used_dims()} for expr in read.map.data.results]
        places = [i for i, values in enumerate(used) if values & set(pair)]
        if not places:
            continue
        plain = all(isinstance(read.map.data.results[i], AffineDimExpr) for i in places)
        first = places[0]
        if not plain or places != [first, first + 1] or [used[i] for i in places] != [{value} for value in pair]:
            return False
        if read.otherwise is not None or not same(shape_of(read)[first + 1], column.extent):
            return False
    return not any(isinstance(op, te.IndexOp) for op in compute.block.ops)


def _tile(work: Scheduling, stage: Stage, column: IterVar) -> None:
    """Tiles of whole cache lines, of what is read and what is written.

    for parallel i.outer { for j.outer { for j.inner in 16 { for vectorized i.inner in 16 { b[.., i] = a[i, j] } } } }
    """
    *outer, last = stage.leaf
    if outer[-1] is not column and not same(last.extent % work.lanes(stage), 0) and _neighbours(stage, outer[-1], last):
        last = stage.fuse(outer.pop(), last)
    index, side = outer.index(column), _side(work)
    outer[index], c_inner = stage.split(column, _divisor(column.extent, side))
    width = work.width(stage, last.extent)
    l_outer, l_inner = stage.split(last, width if width >= side // 2 else side)
    stage.reorder(*outer, l_outer, c_inner, l_inner)
    stage.vectorize(l_inner)
    work.parallel(stage, outer)
