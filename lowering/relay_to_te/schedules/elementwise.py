"""Elementwise and injective stages: long vector loops, and tiles where rows become columns."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr

from ....dialects import te
from ....dialects.affine import below
from ....dialects.sizes import Size, product, same, same_shape
from ....dialects.sizes.kernel import known
from ....dialects.sizes.types import extents_of
from ....dialects.tir import element_bytes
from ....passes.relay.blocking import largest_divisor
from ....passes.tir.interleave_stores import BYTES, MOST
from ....te.schedule.counts import Body
from ....te.schedule.itervar import IterVar
from ....te.schedule.stage import Stage
from ..cost import Cost, moved
from ..knobs import Formula, Values
from .common import PARTITION_HINT, Scheduling, Shared, passes, points, shape_of
from .joined import joined_axis, schedule_joined
from .runs import block_of, divides, run_of

_RUN = 4
"""Elements that are worth a vector of their own."""
_ROWS = 8
"""Passes of outer loops that are enough for the threads."""
_ROW = 256
"""Elements of a row whose last vector may be cut off."""
_UNROLLED = (1, 2, 4)
"""Vectors that one pass of a loop may compute, side by side."""
_SIDES = (0.5, 1, 2, 4)
"""Rows of a tile of a transposition, for each of those of a cache line."""


def schedule_elementwise(work: Scheduling, stage: Stage) -> None:
    """Schedule one vector loop inside, the rest shared by threads; a stage with uniform reads is one long loop."""
    axes = work.loops(stage)
    if not axes:
        return
    if (column := _transposed(work, stage)) is not None and 0 < run_of(work, stage) < _RUN:
        _tile(work, stage, column)
        return
    if (joined := joined_axis(work, stage)) is not None and joined is not axes[-1]:
        schedule_joined(work, stage, joined)
        return
    if (period := _period(work, stage, axes[-1])) is not None:
        *axes, last = axes
        axes += stage.split(last, period)
    if (
        len(axes) > 1
        and _interleaves(stage, axes[-1])
        and (column := _column(work, stage, work.lanes(stage))) in axes[:-1]
    ):
        _interleave(work, stage, axes, column)
        return
    guarded = work.guarded(stage)
    at_point = work.body(stage) if work.is_large(stage) else None
    is_flat = flat(work, stage) and not guarded
    last = stage.fuse(*_row(work, stage, axes)) if is_flat else axes[-1]
    if guarded and not below(last.extent, 2):
        # The part between two points at which a guard ceases to hold gets vectors of its own.
        vector = last
        stage.vectorize(last)
        stage.pragma(last, PARTITION_HINT, 1)
        work.knobs.fix("unrolled", 1)
    else:
        vector = _vectors(work, stage, last)
    outer = [axis for axis in stage.leaf if axis is not vector]
    if outer and guarded:
        stage.pragma(outer[-1], PARTITION_HINT, 1)
        # A parallel loop cannot be taken apart.
        enough = next((i for i in range(1, len(outer)) if passes(outer[:i]) >= _ROWS), len(outer))
        outer = outer[:enough]
    shared = work.parallel(stage, outer, any_count=not is_flat)
    if at_point is not None:
        work.cost(_cost(work, stage, at_point, known(last.extent), shared))


def _vectors(work: Scheduling, stage: Stage, axis: IterVar) -> IterVar | None:
    """Vectors of an axis; bytes, which are computed in vectors of int32 or float32, are stored two of these at once.

    Elements of many operations are computed in vectors several times as wide as the machine's: their operations come in
    turn, so that one vector's do what the others' wait for.
    """
    if divides(work, stage) and (run := run_of(work, stage)) >= _RUN:
        work.knobs.fix("unrolled", 1)
        outer, inner = stage.split(axis, run)
        stage.unroll(outer)
        return work.vectorize(stage, inner, unroll=True)
    lanes = 2 * work.lanes(stage)
    if element_bytes(stage.compute.result.type.element_type) > 1 or not same(axis.extent % lanes, 0):
        lanes //= 2
    most = work.machine.vector_bytes // lanes
    counts = [count for count in _UNROLLED if count <= most and same(axis.extent % (count * lanes), 0)]
    rule = work.abreast(stage, axis.extent) if lanes == work.lanes(stage) else 1
    count = work.knob("unrolled", counts if work.is_large(stage) else (), rule)
    if count == 1 and lanes == work.lanes(stage):
        return work.vectorize(stage, axis)
    _, inner = stage.split(axis, count * lanes)
    stage.vectorize(inner)
    return inner


def schedule_repeated(work: Scheduling, stage: Stage) -> None:
    """An element is read once: `for vectorized i { a = x[i]; unrolled for n { y[i * times + n] = a } }`."""
    times = stage.compute.attributes["times"]
    assert isinstance(times, StringAttr)
    *_, last = work.loops(stage)
    element, inner = stage.split(last, int(times.data))
    vector = work.vectorize(stage, element) if _interleaves(stage, inner) else None
    stage.unroll(inner)
    work.parallel(stage, [axis for axis in stage.leaf if axis is not inner and axis is not vector])


def _interleave(work: Scheduling, stage: Stage, axes: list[IterVar], column: IterVar) -> None:
    """Vectors along what is read, of which those of a few rows are shuffled into the order of what is written.

    for parallel i { for vectorized j { for unrolled c in 3 { b[i, j, c] = a[i, c, j] } } }
    """
    *outer, last = axes
    outer.remove(column)
    stage.reorder(*outer, column, last)
    stage.unroll(last)
    chunk, lane = stage.split(column, work.lanes(stage))
    stage.vectorize(lane)
    work.parallel(stage, [*outer, chunk])


def _interleaves(stage: Stage, axis: IterVar) -> bool:
    """Return whether vectors of as many elements in turn as an axis has are shuffled into the order of memory."""
    return below(axis.extent, MOST + 1) and element_bytes(stage.compute.result.type.element_type) in BYTES


def _row(work: Scheduling, stage: Stage, axes: list[IterVar]) -> list[IterVar]:
    """The last axes that make a row: all if that is whole vectors, else enough that its end does not matter."""
    if same(product(axis.extent for axis in axes) % work.lanes(stage), 0):
        return axes
    first = len(axes) - 1
    while first and below(product(axis.extent for axis in axes[first:]), _ROW):
        first -= 1
    return axes[first:]


def _period(work: Scheduling, stage: Stage, last: IterVar) -> int | None:
    """The elements after which reads along the last axis begin again, if these are as many as a vector has."""
    if not isinstance(last.extent, int) or last is not stage.axes[-1]:
        return None
    periods = set[int]()
    for part in work.parts(stage):
        compute = part.compute
        for read in compute.reads:
            for expr in read.map.data.results:
                match expr:
                    case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod, rhs=AffineConstantExpr(value=period)):
                        if any(read.indices[dim] is compute.axes[-1] for dim in expr.used_dims()):
                            periods.add(period)
                    case _:
                        pass
    period = min(periods, default=0)
    usable = period >= work.lanes(stage) and all(n % period == 0 for n in (*periods, last.extent))
    return period if usable and period < last.extent else None


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
    """The axis along which the stage reads memory, when it is another than the last one, and both are long."""
    least = _side(work) // 2
    return None if below(stage.axes[-1].extent, least) else _column(work, stage, least)


def _column(work: Scheduling, stage: Stage, least: int) -> IterVar | None:
    """The axis of `least` passes along which the stage reads memory, other than the last, along which it writes."""
    last = len(stage.axes) - 1
    for read in work.body(stage).reads:
        used = [expr.used_dims() for expr in read.point]
        if used and len(used[-1]) == 1 and any(last in dims for dims in used):
            (along,) = used[-1]
            if along < last and not below(stage.axes[along].extent, least):
                return stage.axes[along]
    return None


def _phases(work: Scheduling, stage: Stage) -> int:
    """The images of which the last axis takes elements in turn, as a transposed convolution has them; 1 without any."""
    last, counts = len(stage.axes) - 1, set[int]()
    for read in work.body(stage).reads:
        for expr in (part for whole in read.point for part in whole.dfs() if last in part.used_dims()):
            match expr:
                case AffineBinaryOpExpr(
                    kind=AffineBinaryOpKind.FloorDiv | AffineBinaryOpKind.Mod, rhs=AffineConstantExpr(value=count)
                ):
                    counts.add(count)
                case _:
                    pass
    count = min(counts, default=1)
    fits = count <= MOST and element_bytes(stage.compute.result.type.element_type) in BYTES
    return count if fits and same(stage.axes[-1].extent % count, 0) else 1


def _divisor(extent: Size, most: int) -> int:
    """The largest divisor of an extent up to `most`; `most` itself where that is open."""
    return largest_divisor(extent, most) if isinstance(extent, int) else most


def _neighbours(work: Scheduling, stage: Stage, row: IterVar, column: IterVar) -> bool:
    """Return whether rows and columns follow one another in all reads, too, so that one loop of vectors can be both."""
    pair = [stage.axes.index(row), stage.axes.index(column)]
    for read in work.body(stage).reads:
        places = [i for i, expr in enumerate(read.point) if expr.used_dims() & set(pair)]
        if not places:
            continue
        first = places[0]
        if [read.point[place] for place in places] != [AffineDimExpr(axis) for axis in pair]:
            return False
        extents = extents_of(cast("TensorType[Attribute]", read.tensor.type))
        if places != [first, first + 1] or not same(extents[first + 1], column.extent):
            return False
    return not work.guarded(stage) and not any(isinstance(op, te.IndexOp) for op in stage.compute.block.ops)


def _tile(work: Scheduling, stage: Stage, column: IterVar) -> None:
    """Tiles of whole cache lines, of what is read and what is written.

    for parallel i.outer { for j.outer { for j.inner in 16 { for vectorized i.inner in 16 { b[.., i] = a[i, j] } } } }

    Where elements of several images are written in turn, vectors of each are, which lie between those of the others.
    """
    *outer, last = stage.leaf
    phase: list[IterVar] = []
    ends = outer[-1] is not column and not same(last.extent % work.lanes(stage), 0)
    if (phases := _phases(work, stage)) > 1:
        last, woven = stage.split(last, phases)
        stage.unroll(woven)
        phase.append(woven)
    elif ends and _neighbours(work, stage, outer[-1], last):
        last = stage.fuse(outer.pop(), last)
    index, side = outer.index(column), _side(work)
    # Rows of a tile lie in one block of what is read.
    block = block_of(work, stage, stage.axes.index(column))
    whole = column.extent if block < _RUN else block
    rows, width = _divisor(whole, side), work.width(stage, last.extent)
    columns = width if width >= side // 2 else work.lanes(stage) if phase else side
    heights, widths, orders = (), (), ()
    large = work.is_large(stage)
    if large:
        lanes = work.lanes(stage)
        heights = {largest_divisor(known(whole), max(1, int(side * factor))) for factor in _SIDES}
        widths = [wide for wide in (lanes // 2, lanes) if wide > 1 and known(last.extent) % wide == 0]
        orders = (0, 1)
    if block < _RUN and 2 * rows < side and not below(column.extent, side):
        rows = side
        heights = {*heights, side} if large else ()
    rows = work.knob("rows", heights, rows)
    columns = work.knob("columns", widths, columns)
    cut = not same(column.extent % rows, 0)
    # Of few rows threads share the columns.
    several = passes([*outer[:index], *outer[index + 1 :]]) if large else 1
    few = cut and large and several * -(-known(column.extent) // rows) < _ROWS
    inside = work.knob("rows_inside", orders, int(few))
    column_loop, c_inner = stage.split(column, rows)
    if cut:
        stage.pragma(column_loop, PARTITION_HINT, 1)
    l_outer, l_inner = stage.split(last, columns)
    *outer, innermost = (
        [*outer[:index], l_outer, *outer[index + 1 :], column_loop]
        if inside
        else [*outer[:index], column_loop, *outer[index + 1 :], l_outer]
    )
    stage.reorder(*outer, innermost, c_inner, *phase, l_inner)
    stage.vectorize(l_inner)
    shared = work.parallel(stage, outer, any_count=True)
    if cut and stage.leaf[0] is not column_loop:
        stage.pragma(stage.leaf[0], PARTITION_HINT, 1)
    if large:
        work.cost(_cost_of_tiles(work, stage, known(column.extent), known(last.extent), shared))


def _cost(work: Scheduling, stage: Stage, at_point: Body, row: int, shared: Shared) -> Formula:
    """The cost of vectors along rows of some elements, each row's last one perhaps cut off."""
    size, lanes = points(stage), work.lanes(stage)
    vectors = size / row * -(-row // lanes)
    return lambda at: Cost(
        products=vectors * at_point.operations,
        loads=vectors * (len(at_point.reads) + 1),
        steps=vectors / at["unrolled"],
        moved=work.moved(at_point),
        passes=shared(at),
    )


def _cost_of_tiles(work: Scheduling, stage: Stage, height: int, width: int, shared: Shared) -> Formula:
    """The cost of tiles of a transposition, of `height` elements that are read in order and `width` that are written.

    A cache line that a tile uses a part of is loaded again for the next part, from as far away as what is used between.
    """
    size, machine = points(stage), work.machine
    element = element_bytes(stage.compute.result.type.element_type)
    line, once = machine.cache_line, work.moved(work.body(stage))

    def formula(at: Values) -> Cost:
        rows, columns, inside = at["rows"], at["columns"], at["rows_inside"]
        tiles = size / (rows * columns)
        read, written = (np.maximum(0.0, line / (side * element) - 1) for side in (rows, columns))
        between = np.where(inside, columns * line, width * line), np.where(inside, height * line, rows * line)
        again = [
            moved(size * element * waste, 1, among, machine)
            for waste, among in zip((read, written), between, strict=True)
        ]
        shuffles = np.ceil(rows * columns / machine.lanes(element)) * np.log2(np.maximum(2, np.minimum(rows, columns)))
        return Cost(
            products=tiles * shuffles,
            loads=tiles * (rows * columns / np.minimum(rows, 4) + rows),
            steps=tiles * 2,
            moved=once.also(again[0]).also(again[1]),
            passes=shared(at),
        )

    return formula
