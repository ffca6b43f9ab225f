"""Operators of StableHLO that LiteRT's kernels run, and windows that are reduced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import logic, reduce
from ...dialects.relay.indexing import GatherNdOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.scatter import ScatterNdOp, StridedSetOp
from ...dialects.relay.transform import BroadcastToOp, PadOp, ReshapeOp, StridedSliceOp, TransposeOp
from ..importing.converter import Converter
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, where
from .context import Context
from .shaping import cut

Numbers = Sequence[int]
_MOST_TAPS = 1024
"""Of a window: each is a slice of the data."""


def _binary(op: type[Operator], logical: type[Operator] | None = None) -> Converter[Context]:
    """Of two tensors of one shape; `logical` is what becomes of booleans."""

    def convert(ctx: Context) -> SSAValue:
        if ctx.shape(0) != ctx.shape(1):
            ctx.fail("operands of one shape", f"{list(ctx.shape(0))} and {list(ctx.shape(1))}")
        chosen = logical if logical is not None and ctx.dtype(0) == np.bool_ else op
        return ctx.emit(chosen, ctx.value(0), ctx.value(1))

    return Converter(convert)


def _each(ctx: Context, name: str, rank: int, default: int | None = None) -> tuple[int, ...]:
    """A vector of the options, one number for each axis; one that is not there is all `default`."""
    numbers = ctx.ints_option(name)
    if not numbers and default is not None:
        return (default,) * rank
    if len(numbers) != rank:
        ctx.fail(f"{rank} numbers as {name}", str(list(numbers)))
    return numbers


def padded(ctx: Context, x: SSAValue, filler: SSAValue, low: Numbers, high: Numbers, inner: Numbers) -> SSAValue:
    """With so many fillers between elements and at both ends; negative ones take elements away."""
    filler = reshaped(ctx, filler, ())
    if any(inner):
        shape = shape_of(x)
        wide = tuple(n + (n - 1) * i if n else 0 for n, i in zip(shape, inner, strict=True))
        ctx.fits(wide, dtype_of(x))
        ground = ctx.emit(BroadcastToOp, filler, shape=wide)
        steps = tuple(i + 1 for i in inner)
        x = ctx.emit(StridedSetOp, ground, x, begin=[0] * len(wide), end=wide, strides=steps)
    if any(n < 0 for n in (*low, *high)):
        shape = shape_of(x)
        begin = [max(-n, 0) for n in low]
        end = [extent + min(n, 0) for extent, n in zip(shape, high, strict=True)]
        if any(b > e for b, e in zip(begin, end, strict=True)):
            ctx.fail(f"edges inside {list(shape)}", f"{list(low)} and {list(high)}")
        x = ctx.emit(StridedSliceOp, x, begin=begin, end=end, strides=(1,) * len(shape))
    width = [max(n, 0) for pair in zip(low, high, strict=True) for n in pair]
    return ctx.emit(PadOp, x, filler, pad_width=width) if any(width) else x


def pad(ctx: Context) -> SSAValue:
    rank = len(ctx.shape(0))
    low, high, inner = (
        _each(ctx, f"{name}", rank) for name in ("EdgePaddingLow", "EdgePaddingHigh", "InteriorPadding")
    )
    if min(inner, default=0) < 0:
        ctx.fail("interior padding of at least 0", str(list(inner)))
    return padded(ctx, ctx.value(0), ctx.value(1), low, high, inner)


_BODIES: dict[str, tuple[type[Operator], type[Operator] | None]] = {
    "ADD": (ew.AddOp, None),
    "MUL": (ew.MultiplyOp, None),
    "MULTIPLY": (ew.MultiplyOp, None),
    "MAXIMUM": (ew.MaximumOp, logic.LogicalOrOp),
    "MINIMUM": (ew.MinimumOp, logic.LogicalAndOp),
    "AND": (logic.BitwiseAndOp, logic.LogicalAndOp),
    "LOGICAL_AND": (logic.LogicalAndOp, None),
    "LOGICAL_OR": (logic.LogicalOrOp, None),
}
_FUNCTIONS = ("", "ADD", "MUL", "MINIMUM", "MAXIMUM", "LOGICAL_AND", "LOGICAL_OR")


def _reduced(
    ctx: Context, body: str, kernel: Numbers, strides: Numbers, apart: Numbers, dilation: Numbers, edges: Numbers
) -> SSAValue:
    """Reduce each window of the data, from a start value that also stands for what is outside."""
    if body not in _BODIES:
        ctx.fail(f"one operator among {', '.join(_BODIES)} on windows", body or "another")
    if min((*kernel, *strides, *apart, *dilation), default=1) < 1:
        ctx.fail("positive windows, strides and dilations", f"{kernel}, {strides}, {apart} and {dilation}")
    if prod(kernel) > _MOST_TAPS:
        ctx.fail(f"windows of at most {_MOST_TAPS} elements", str(prod(kernel)))
    inner = [n - 1 for n in apart]
    x = padded(ctx, ctx.value(0), ctx.value(1), edges[0::2], edges[1::2], inner)
    shape, (op, logical) = shape_of(x), _BODIES[body]
    op = logical if logical is not None and ctx.dtype(0) == np.bool_ else op
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    result = [max((n - span) // s + 1, 0) for n, span, s in zip(shape, spans, strides, strict=True)]
    if not all(result):
        ctx.fail(f"windows that fit {list(shape)}", str(list(spans)))
    total = reshaped(ctx, ctx.value(1), ())
    for tap in product(*map(range, kernel)):
        begin = [t * d for t, d in zip(tap, dilation, strict=True)]
        end = [b + (n - 1) * s + 1 for b, n, s in zip(begin, result, strides, strict=True)]
        total = ctx.emit(op, total, ctx.emit(StridedSliceOp, x, begin=begin, end=end, strides=strides))
    return total


def stablehlo_reduce_window(ctx: Context) -> SSAValue:
    rank = len(ctx.shape(0))
    names = ("WindowDimensions", "WindowStrides", "BaseDilations", "WindowDilations")
    kernel, strides, apart, dilation = (_each(ctx, name, rank, 1) for name in names)
    edges = ctx.ints_option("Padding") or (0,) * (2 * rank)
    if len(edges) != 2 * rank or len(ctx.inputs) != 2:
        ctx.fail(f"data, a start, and {2 * rank} numbers of padding", f"{len(ctx.inputs)} inputs, {list(edges)}")
    return _reduced(ctx, ctx.node.body.removeprefix("STABLEHLO_"), kernel, strides, apart, dilation, edges)


def reduce_window(ctx: Context) -> SSAValue:
    """Data, a start, then sizes of windows, strides and dilations."""
    rank = len(ctx.shape(0))
    numbers = [ctx.known_ints(index, "sizes of windows") for index in (2, 3, 4)]
    if any(len(list_) != rank for list_ in numbers):
        ctx.fail(f"{rank} numbers for each of three inputs", str([len(list_) for list_ in numbers]))
    kernel, strides, dilation = numbers
    which = int(ctx.option("ReduceFunction", 0))
    body = _FUNCTIONS[which] if 0 <= which < len(_FUNCTIONS) else ""
    return _reduced(ctx, body, kernel, strides, (1,) * rank, dilation, (0,) * (2 * rank))


def gather(ctx: Context) -> SSAValue:
    """Slices of the data at starts, which are moved so that all of a slice is inside."""
    data, starts = ctx.shape(0), list(ctx.shape(1))
    names = ("OffsetDims", "CollapsedSliceDims", "StartIndexMap", "SliceSizes")
    offsets, collapsed, mapped, sizes = (ctx.ints_option(name) for name in names)
    vector, indices = ctx.option("IndexVectorDim", 0), ctx.value(1)
    if vector == len(starts):
        starts.append(1)
        indices = ctx.emit(ReshapeOp, indices, newshape=starts)
    own = [axis for axis in range(len(data)) if axis not in collapsed]
    if (
        not 0 <= vector < len(starts)
        or len(sizes) != len(data)
        or any(not 0 <= size <= extent for size, extent in zip(sizes, data, strict=True))
        or len(mapped) != starts[vector]
        or any(not 0 <= axis < len(data) for axis in (*mapped, *collapsed))
        or any(sizes[axis] != 1 for axis in collapsed)
        or len(own) != len(offsets)
    ):
        ctx.fail("dimensions that fit data and starts", f"{list(data)}, {starts}, {offsets}, {collapsed}, {sizes}")
    order = [vector, *(axis for axis in range(len(starts)) if axis != vector)]
    batch = [starts[axis] for axis in order[1:]]
    rank = len(batch) + len(offsets)
    if sorted(offsets) != list(offsets) or any(not 0 <= axis < rank for axis in offsets):
        ctx.fail(f"offset dimensions in order, below {rank}", str(list(offsets)))
    free = [axis for axis in range(rank) if axis not in offsets]
    result = [0] * rank
    for axis, extent in zip(free, batch, strict=True):
        result[axis] = extent
    for axis, source in zip(offsets, own, strict=True):
        result[axis] = sizes[source]
    grid = np.zeros((len(data), *result), np.int64)
    places = np.indices(result)
    for axis, source in zip(offsets, own, strict=True):
        grid[source] = places[axis]
    room = np.asarray([data[axis] - sizes[axis] for axis in mapped], np.int64).reshape(-1, *[1] * len(batch))
    begin = Term(ctx, ctx.emit(TransposeOp, indices, axes=order)).to("int64")
    begin = begin.apply(ew.MaximumOp, 0).apply(ew.MinimumOp, Term(ctx, ctx.constant(room, "room")))
    points = _first(ctx, begin, len(data), mapped, free, rank) + Term(ctx, ctx.constant(grid, "offsets"))
    return ctx.emit(GatherNdOp, ctx.value(0), points.value)


_MODES = {"": "update", "ADD": "add", "MULTIPLY": "mul", "MAXIMUM": "max", "MINIMUM": "min"}


def scatter(ctx: Context) -> SSAValue:
    """Elements updated, in order, in windows of the data at starts; those that come to lie outside are left out."""
    data, starts, updates = ctx.shape(0), list(ctx.shape(1)), ctx.shape(2)
    names = ("UpdateWindowDims", "InsertedWindowDims", "ScatterDimsToOperandDims")
    windows, inserted, mapped = (ctx.ints_option(name) for name in names)
    vector, indices = ctx.option("IndexVectorDim", 0), ctx.value(1)
    mode = _MODES.get(ctx.node.body.removeprefix("STABLEHLO_"))
    if mode is None:
        ctx.fail("an update, or one operator ADD, MULTIPLY, MAXIMUM or MINIMUM", ctx.node.body)
    if vector == len(starts):
        starts.append(1)
        indices = ctx.emit(ReshapeOp, indices, newshape=starts)
    own = [axis for axis in range(len(data)) if axis not in inserted]
    free = [axis for axis in range(len(updates)) if axis not in windows]
    if (
        not 0 <= vector < len(starts)
        or len(mapped) != starts[vector]
        or any(not 0 <= axis < len(data) for axis in (*mapped, *inserted))
        or any(not 0 <= axis < len(updates) for axis in windows)
        or len(own) != len(windows)
        or [updates[axis] for axis in free] != [n for axis, n in enumerate(starts) if axis != vector]
    ):
        ctx.fail("dimensions that fit data, starts and updates", f"{list(data)}, {starts}, {list(updates)}")
    order = [vector, *(axis for axis in range(len(starts)) if axis != vector)]
    begin = Term(ctx, ctx.emit(TransposeOp, indices, axes=order)).to("int64")
    places = np.indices(updates)
    grid = np.zeros((len(data), *updates), np.int64)
    for axis, source in zip(windows, own, strict=True):
        grid[source] = places[axis]
    points = _first(ctx, begin, len(data), mapped, free, len(updates)) + Term(ctx, ctx.constant(grid, "offsets"))
    count, ones = prod(data), [1] * len(updates)
    room = np.asarray(data, np.int64).reshape(-1, *ones)
    strides = np.asarray([prod(data[axis + 1 :]) for axis in range(len(data))], np.int64).reshape(-1, *ones)
    below = points.apply(ew.LessOp, Term(ctx, ctx.constant(room, "room"))).to("int32")
    above = points.apply(logic.GreaterEqualOp, 0).to("int32")
    inside = (below * above).apply(reduce.MinOp, axis=[0]) > 0
    flat = (points * Term(ctx, ctx.constant(strides, "strides"))).sum(0).reshape(*updates)
    # Behind the data is room for what is left out.
    flat = where(inside, flat, count).reshape(1, prod(updates))
    whole = Term(
        ctx, ctx.emit(PadOp, reshaped(ctx, ctx.value(0), (count,)), ctx.number(0, str(ctx.dtype(0))), pad_width=[0, 1])
    )
    result = ctx.emit(ScatterNdOp, whole.value, flat.value, reshaped(ctx, ctx.value(2), (prod(updates),)), mode=mode)
    return reshaped(ctx, cut(ctx, result, 0, 0, count), data)


def _first(ctx: Context, begin: Term, rank: int, mapped: Numbers, free: Numbers, result: int) -> Term:
    """Of each axis of the data its own start, 0 of one that has none: `begin` (starts, ..) of the axes `mapped` as
    (rank, ..), in which the axes behind go to `free` of `result` ones."""
    batch = begin.shape[1:]
    which = np.zeros((rank, len(mapped)), np.int64)
    which[list(mapped), range(len(mapped))] = 1
    parts = Term(ctx, ctx.constant(which.reshape(rank, len(mapped), *[1] * len(batch)), "axes"))
    spread = [1] * result
    for axis, extent in zip(free, batch, strict=True):
        spread[axis] = extent
    return (parts * begin.reshape(1, len(mapped), *batch)).sum(1).reshape(rank, *spread)


TABLE = {
    "REDUCE_WINDOW": Converter(reduce_window),
    "STABLEHLO_ADD": _binary(ew.AddOp),
    "STABLEHLO_AND": _binary(logic.BitwiseAndOp, logic.LogicalAndOp),
    "STABLEHLO_GATHER": Converter(gather),
    "STABLEHLO_MAXIMUM": _binary(ew.MaximumOp),
    "STABLEHLO_MINIMUM": _binary(ew.MinimumOp),
    "STABLEHLO_MULTIPLY": _binary(ew.MultiplyOp),
    "STABLEHLO_PAD": Converter(pad),
    "STABLEHLO_REDUCE_WINDOW": Converter(stablehlo_reduce_window),
    "STABLEHLO_SCATTER": Converter(scatter),
    "STABLEHLO_SHIFT_LEFT": _binary(logic.LeftShiftOp),
}
