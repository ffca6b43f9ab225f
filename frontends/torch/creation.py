"""Tensors out of nothing, or out of the type of another one. Where shapes are known, so are the tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.creation import ArangeOp, FullOp
from ...dialects.relay.indexing import OneHotOp
from ...dialects.relay.linear_algebra import TriluOp
from ...dialects.relay.transform import ReshapeOp, TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, ceil_div, proves, same, size_max
from ...support.dtypes import Array
from ..importing.converter import Converter, Result
from ..importing.tensor import shape_of
from ..importing.terms import Term, places, where
from .context import Context
from .promotion import FLOAT, LONG, cast_to, is_tensor, number_term, number_type, operand

_LARGEST_KNOWN = 1 << 16
"""Elements of a tensor of one number up to which its values are known at import."""


def filled(ctx: Context, number: Size | float, shape: Sequence[int], dtype: np.dtype[Any]) -> Result:
    """A tensor of one number: known where its shape and number are, and it is small; else relay's full."""
    sizes = cast("Sequence[Size]", shape)
    for extent in sizes:
        if proves(extent, "<", 0):
            ctx.fail("extents of at least 0", str(list(shape)))
    if all(isinstance(extent, int) for extent in sizes) and not isinstance(number, SizeExpr):
        ctx.fits(shape, dtype)
        if np.prod(shape, dtype=np.float64) <= _LARGEST_KNOWN:
            return np.broadcast_to(np.asarray(number).astype(dtype), tuple(shape))
    return ctx.emit(FullOp, number_term(ctx, number, dtype).value, shape=tuple(shape), dtype=dtype.name)


def _of_shape(number: float | None, default: np.dtype[Any] = FLOAT) -> Converter[Context]:
    """The converter of a tensor of a shape; `number` None is an argument, which then says the element type, too."""

    def convert(ctx: Context) -> Result:
        shape = ctx.ints("size")
        value = ctx.number("fill_value", 0) if number is None else number
        dtype = ctx.element("dtype", number_type(value) if number is None else default)
        assert dtype is not None
        if is_tensor(ctx, "fill_value"):
            return ctx.emit(FullOp, operand(ctx, "fill_value", dtype).value, shape=shape, dtype=dtype.name)
        return filled(ctx, value, shape, dtype)

    return Converter(convert)


def _like(number: float | None, sized: bool = False) -> Converter[Context]:
    """The converter of a tensor of the type of `self`; with `sized` of another shape."""

    def convert(ctx: Context) -> Result:
        shape = ctx.ints("size") if sized else ctx.shape_of("self")
        dtype = ctx.element("dtype", ctx.dtype_of("self"))
        assert dtype is not None
        return filled(ctx, ctx.number("fill_value", 0) if number is None else number, shape, dtype)

    return Converter(convert)


def _fill(ctx: Context) -> Result:
    """All elements replaced by one number, or by a scalar tensor."""
    dtype = ctx.dtype_of("self")
    if is_tensor(ctx, "value"):
        value = operand(ctx, "value", dtype).value
        return ctx.emit(FullOp, value, shape=ctx.shape_of("self"), dtype=dtype.name)
    return filled(ctx, ctx.number("value", 0), ctx.shape_of("self"), dtype)


def _zero(ctx: Context) -> Result:
    return filled(ctx, 0, ctx.shape_of("self"), ctx.dtype_of("self"))


def _scalar(ctx: Context) -> Result:
    number = ctx.number("s", 0)
    dtype = ctx.element("dtype", FLOAT)
    assert dtype is not None
    return filled(ctx, number, (), dtype)


def _arange(ctx: Context) -> Result:
    """start, start + step and so on, up to before end."""
    start, end, step = ctx.number("start", 0), ctx.number("end", 0), ctx.number("step", 1)
    floats = any(isinstance(number, float) for number in (start, end, step))
    dtype = ctx.element("dtype", FLOAT if floats else LONG)
    assert dtype is not None
    if not any(isinstance(number, SizeExpr) for number in (start, end, step)):
        count = (
            max(int(np.ceil((float(end) - float(start)) / float(step))), 0)
            if floats
            else len(range(int(start), int(end), int(step)))
        )
        ctx.fits((count,), dtype)
        values = np.arange(count) * (np.float64(step) if floats else int(step)) + (
            np.float64(start) if floats else int(start)
        )
        return values.astype(dtype)
    if floats or not isinstance(step, int) or step <= 0:
        ctx.fail("a step above 0, and whole numbers", f"{start}, {end}, {step}")
    count = ceil_div(cast(Size, end) - cast(Size, start), step) if step != 1 else cast(Size, end) - cast(Size, start)
    if not proves(count, ">=", 0):
        count = size_max(count, 0)
    row = Term(
        ctx,
        ctx.emit(ArangeOp, stop=(cast(int, count),) if isinstance(count, SizeExpr) else float(count), dtype="int64"),
    )
    row = row if step == 1 else row * step
    row = row if same(cast(Size, start), 0) else row + number_term(ctx, start, LONG)
    return cast_to(ctx, row.value, dtype)


def _linspace(ctx: Context) -> Array:
    dtype = ctx.element("dtype", FLOAT)
    start, end, count = ctx.float("start", 0.0), ctx.float("end", 0.0), ctx.int("steps")
    if not isinstance(cast(Size, count), int):
        ctx.fail("a number of steps known at import", str(count))
    assert dtype is not None
    ctx.fits((count,), dtype)
    return np.linspace(start, end, count).astype(dtype)


def _eye(ctx: Context) -> Result:
    rows = ctx.int("n")
    columns = ctx.int("m", rows)
    dtype = ctx.element("dtype", FLOAT)
    assert dtype is not None
    if all(isinstance(extent, int) for extent in cast("tuple[Size, ...]", (rows, columns))):
        ctx.fits((rows, columns), dtype)
        return np.eye(rows, columns).astype(dtype)
    row, column = places(ctx, rows, 2, 0), places(ctx, columns, 2, 1)
    return row.equal(column).to(dtype).value


def _triangle(upper: bool) -> Converter[Context]:
    """The upper or lower triangle of the last two axes."""

    def convert(ctx: Context) -> SSAValue:
        data, diagonal = ctx.of("self"), ctx.int("diagonal", 0)
        if not isinstance(cast(Size, diagonal), int):
            x = ctx.term("self")
            height, width = x.shape[-2:]
            far = places(ctx, width, 2, 1) - places(ctx, height, 2, 0) - number_term(ctx, diagonal, LONG)
            return where(far < 0, *((0, x) if upper else (x, 0))).value
        dtype = ctx.dtype_of("self")
        narrow = dtype == np.bool_
        value = cast_to(ctx, data, np.dtype(np.int32)) if narrow else data
        result = ctx.emit(TriluOp, value, ctx.constant(np.asarray(diagonal), "k"), upper=upper)
        return cast_to(ctx, result, dtype)

    return Converter(convert)


def _one_hot(ctx: Context) -> SSAValue:
    count = ctx.int("num_classes", -1)
    if same(count, -1):
        ctx.fail("a number of classes", "-1, which only values decide")
    on, off = (ctx.constant(np.asarray(number, np.int64), "value") for number in (1, 0))
    return ctx.emit(OneHotOp, ctx.of("self"), on, off, depth=count, axis=-1, dtype="int64")


def _window(function: Callable[[int], Array]) -> Converter[Context]:
    """A window of signals; by default periodic, which is one of a point more without its last."""

    def convert(ctx: Context) -> Array:
        count, dtype = ctx.int("window_length"), ctx.element("dtype", FLOAT)
        assert dtype is not None
        if not isinstance(cast(Size, count), int):
            ctx.fail("a length known at import", str(count))
        ctx.fits((count,), dtype)
        periodic = ctx.flag("periodic", True) and count > 1
        return function(count + periodic)[:count].astype(dtype)

    return Converter(convert)


def _tril_indices(upper: bool) -> Converter[Context]:
    def convert(ctx: Context) -> Array:
        rows, columns, offset = ctx.int("row"), ctx.int("col"), ctx.int("offset", 0)
        ctx.fits((rows, columns), LONG)
        result = np.triu_indices(rows, offset, columns) if upper else np.tril_indices(rows, offset, columns)
        dtype = ctx.element("dtype", LONG)
        assert dtype is not None
        return np.stack(result).astype(dtype)

    return Converter(convert)


def _diagonal(ctx: Context) -> SSAValue:
    rank = len(ctx.shape_of("self"))
    first, second = ctx.axis("dim1", rank, 0), ctx.axis("dim2", rank, 1)
    return diagonal(ctx, ctx.of("self"), ctx.int("offset", 0), first, second)


def diagonal(ctx: Context, value: SSAValue, offset: int, first: int, second: int) -> SSAValue:
    """The diagonal of two axes, so far above the main one, as the last axis."""
    others = [axis for axis in range(len(shape_of(value))) if axis not in (first, second)]
    moved = ctx.emit(TransposeOp, value, axes=(*others, first, second))
    *outer, height, width = shape_of(moved)
    if not all(isinstance(extent, int) for extent in cast("tuple[Size, ...]", (height, width))):
        ctx.fail("a matrix of known extents", f"{height}, {width}")
    down, right = max(-offset, 0), max(offset, 0)
    count = max(min(height - down, width - right), 0)
    flat = ctx.emit(ReshapeOp, moved, newshape=(*outer, height * width), allowzero=1)
    at = np.arange(count, dtype=np.int64) * (width + 1) + down * width + right
    return ctx.emit(TakeOp, flat, ctx.constant(at, "diagonal"), axis=len(outer))


def _diagonal_scatter(ctx: Context) -> SSAValue:
    """A new diagonal of two axes: each element of the matrix is its own, or the one of the part in its row."""
    x, part = ctx.term("self"), Term(ctx, cast_to(ctx, ctx.of("src"), ctx.dtype_of("self")))
    rank, offset = len(x.shape), ctx.int("offset", 0)
    first, second = ctx.axis("dim1", rank, 0), ctx.axis("dim2", rank, 1)
    order = [*(axis for axis in range(rank) if axis not in (first, second)), first, second]
    moved = Term(ctx, ctx.emit(TransposeOp, x.value, axes=order))
    height, width = moved.shape[-2:]
    if not all(isinstance(extent, int) for extent in cast("tuple[Size, ...]", (height, width))):
        ctx.fail("a matrix of known extents", f"{height}, {width}")
    row, column = np.indices((height, width))
    position = np.clip(row - max(-offset, 0), 0, max(part.shape[-1] - 1, 0))
    spread = ctx.emit(TakeOp, part.value, ctx.constant(position, "rows"), axis=len(part.shape) - 1)
    on = Term(ctx, ctx.constant(column - row == offset, "diagonal"))
    result = where(on, Term(ctx, spread), moved)
    return ctx.emit(TransposeOp, result.value, axes=[order.index(axis) for axis in range(rank)])


_STRIDE = {"stride": "of memory, which each value has for itself"}

TABLE: dict[str, Converter[Context]] = {
    "aten.arange.default": Converter(_arange),
    "aten.arange.start": Converter(_arange),
    "aten.arange.start_step": Converter(_arange),
    "aten.diagonal.default": Converter(_diagonal),
    "aten.diagonal_scatter.default": Converter(_diagonal_scatter),
    "aten.empty.memory_format": _of_shape(0),
    "aten.empty_like.default": _like(0),
    "aten.empty_permuted.default": _of_shape(0),
    "aten.empty_strided.default": replace(_of_shape(0), unread=_STRIDE),
    "aten.eye.default": Converter(_eye),
    "aten.eye.m": Converter(_eye),
    "aten.fill.Scalar": Converter(_fill),
    "aten.fill.Tensor": Converter(_fill),
    "aten.full.default": _of_shape(None),
    "aten.full_like.default": _like(None),
    "aten.hann_window.default": _window(np.hanning),
    "aten.hann_window.periodic": _window(np.hanning),
    "aten.hamming_window.default": _window(np.hamming),
    "aten.linspace.default": Converter(_linspace),
    "aten.new_empty.default": replace(_like(0, sized=True), unread=_STRIDE),
    "aten.new_full.default": _like(None, sized=True),
    "aten.new_ones.default": _like(1, sized=True),
    "aten.new_zeros.default": _like(0, sized=True),
    "aten.one_hot.default": Converter(_one_hot),
    "aten.ones.default": _of_shape(1),
    "aten.ones_like.default": _like(1),
    "aten.scalar_tensor.default": Converter(_scalar),
    "aten.tril.default": _triangle(upper=False),
    "aten.tril_indices.default": _tril_indices(upper=False),
    "aten.triu.default": _triangle(upper=True),
    "aten.triu_indices.default": _tril_indices(upper=True),
    "aten.zero.default": Converter(_zero),
    "aten.zeros.default": _of_shape(0),
    "aten.zeros_like.default": _like(0),
}
