"""Tensors out of nothing, or out of the type of another one. Where shapes are known, so are the tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np

from ...dialects.relay.creation import FullOp
from ...dialects.relay.transform import TakeOp
from ...dialects.sizes import Size, SizeExpr, proves, same
from ...support.dtypes import Array
from ..importing.attributes import Element, Flag, Float, Int, Ints
from ..importing.converter import Converter, Result
from ..importing.rows import row
from ..importing.terms import Term, constant, where
from ..meanings import moves
from ..meanings.creation import numbers_between, numbers_from
from ..meanings.indices import one_hot
from ..meanings.linear_algebra import eye
from ..meanings.signal import cosine_window
from ..meanings.slices import diagonal
from .context import Context
from .promotion import FLOAT, LONG, is_tensor, number_term, number_type, operand

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


def _of_shape(number: float) -> Converter[Context]:
    """The row of a tensor of a shape, all of whose elements are a number."""
    return row(partial(_filled, number), "", shape=Ints(name="size"), dtype=Element(FLOAT))


def _filled(number: float, ctx: Context, shape: Sequence[int], dtype: np.dtype[Any]) -> Result:
    return filled(ctx, number, shape, dtype)


def _numbered(ctx: Context, name: str, shape: Sequence[int], dtype: np.dtype[Any]) -> Result:
    """A tensor of a shape, all of whose elements are an argument: a number, or a scalar."""
    if is_tensor(ctx, name):
        return ctx.emit(FullOp, operand(ctx, name, dtype).value, shape=shape, dtype=dtype.name)
    return filled(ctx, ctx.number(name, 0), shape, dtype)


def _full(ctx: Context, shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> Result:
    return _numbered(ctx, "fill_value", shape, dtype or number_type(ctx.number("fill_value", 0)))


def _like(number: float | None, name: str = "fill_value") -> Converter[Context]:
    """The row of a tensor of the type of `self`, or of another shape; `number` None is an argument of a name."""

    def computed(ctx: Context, own: tuple[int, ...], shape: tuple[int, ...] | None, dtype: np.dtype[Any]) -> Result:
        wanted = own if shape is None else shape
        return _numbered(ctx, name, wanted, dtype) if number is None else filled(ctx, number, wanted, dtype)

    dtype = Element(lambda ctx: ctx.dtype_of("self"))
    return row(computed, "self:shape", shape=Ints(None, name="size"), dtype=dtype)


def _scalar(ctx: Context, dtype: np.dtype[Any]) -> Result:
    return filled(ctx, ctx.number("s", 0), (), dtype)


def _arange(ctx: Context, dtype: np.dtype[Any] | None) -> Result:
    """start, start + step and so on, up to before end."""
    numbers = [ctx.number(name, default) for name, default in (("start", 0), ("end", 0), ("step", 1))]
    start, end, step = (number if isinstance(number, SizeExpr) else Fraction(number) for number in numbers)
    floats = any(isinstance(number, float) for number in numbers)
    return numbers_from(ctx, start, end, step, dtype or (FLOAT if floats else LONG))


def _eye(ctx: Context, rows: int, columns: int | None, dtype: np.dtype[Any]) -> Array | Term:
    return eye(ctx, rows, rows if columns is None else columns, dtype)


def _one_hot(ctx: Context, x: Term, count: int) -> Term:
    if same(count, -1):
        ctx.fail("a number of classes", "-1, which only values decide")
    on, off = (constant(ctx, np.asarray(number, np.int64), "value") for number in (1, 0))
    return one_hot(x, count, on, off)


def _window(*shares: float) -> Converter[Context]:
    """A window of signals, a sum of cosines; that of one sample is 1."""

    def computed(ctx: Context, count: int, dtype: np.dtype[Any], periodic: bool) -> Term | Array:
        if not isinstance(cast(Size, count), int):
            ctx.fail("a length known at import", str(count))
        return np.ones(1, dtype) if count == 1 else cosine_window(shares, ctx, count, dtype, periodic)

    return row(computed, "", count=Int(name="window_length"), dtype=Element(FLOAT), periodic=Flag(True))


def _triangle_indices(function: Callable[[int, int, int], tuple[Array, Array]]) -> Converter[Context]:
    def computed(ctx: Context, rows: int, columns: int, offset: int, dtype: np.dtype[Any]) -> Array:
        ctx.fits((rows, columns), LONG)
        return np.stack(function(rows, offset, columns)).astype(dtype)

    return row(computed, "", rows=Int(name="row"), columns=Int(name="col"), offset=Int(0), dtype=Element(LONG))


def _diagonal_scatter(x: Term, part: Term, offset: int, first: int, second: int) -> Term:
    """A new diagonal of two axes: each element of the matrix is its own, or the one of the part in its row."""
    ctx, moved = x.ctx, moves.move(x, (first, second), (-2, -1))
    height, width = moved.shape[-2:]
    if not all(isinstance(extent, int) for extent in cast("tuple[Size, ...]", (height, width))):
        ctx.fail("a matrix of known extents", f"{height}, {width}")
    row, column = np.indices((height, width))
    position = np.clip(row - max(-offset, 0), 0, max(part.shape[-1] - 1, 0))
    spread = part.to(x.dtype).apply(TakeOp, constant(ctx, position, "rows"), axis=len(part.shape) - 1)
    result = where(constant(ctx, column - row == offset, "diagonal"), spread, moved)
    return moves.move(result, (-2, -1), (first, second))


_STRIDE = {"stride": "of memory, which each value has for itself"}

_DIAGONAL: Any = {"offset": Int(0), "first": Int(0, name="dim1"), "second": Int(1, name="dim2")}
_LINE: Any = {
    "start": Float(0.0),
    "stop": Float(0.0, name="end"),
    "count": Int(name="steps"),
    "dtype": Element(FLOAT),
}

TABLE: dict[str, Converter[Context]] = {
    "aten.arange.default": row(_arange, dtype=Element(None)),
    "aten.arange.start": row(_arange, dtype=Element(None)),
    "aten.arange.start_step": row(_arange, dtype=Element(None)),
    "aten.diagonal.default": row(diagonal, "self", **_DIAGONAL),
    "aten.diagonal_scatter.default": row(_diagonal_scatter, "self src", **_DIAGONAL),
    "aten.empty.memory_format": _of_shape(0),
    "aten.empty_like.default": _like(0),
    "aten.empty_permuted.default": _of_shape(0),
    "aten.empty_strided.default": replace(_of_shape(0), unread=_STRIDE),
    "aten.eye.default": row(_eye, rows=Int(name="n"), columns=Int(None, name="m"), dtype=Element(FLOAT)),
    "aten.eye.m": row(_eye, rows=Int(name="n"), columns=Int(None, name="m"), dtype=Element(FLOAT)),
    "aten.fill.Scalar": _like(None, "value"),
    "aten.fill.Tensor": _like(None, "value"),
    "aten.full.default": row(_full, shape=Ints(name="size"), dtype=Element(None)),
    "aten.full_like.default": _like(None),
    "aten.hann_window.default": _window(0.5, -0.5),
    "aten.hann_window.periodic": _window(0.5, -0.5),
    "aten.hamming_window.default": _window(0.54, -0.46),
    "aten.linspace.default": row(numbers_between, **_LINE),
    "aten.new_empty.default": replace(_like(0), unread=_STRIDE),
    "aten.new_full.default": _like(None),
    "aten.new_ones.default": _like(1),
    "aten.new_zeros.default": _like(0),
    "aten.one_hot.default": row(_one_hot, "self", count=Int(-1, name="num_classes")),
    "aten.ones.default": _of_shape(1),
    "aten.ones_like.default": _like(1),
    "aten.scalar_tensor.default": row(_scalar, dtype=Element(FLOAT)),
    "aten.tril.default": row(partial(moves.triangle, upper=False), "self", diagonal=Int(0)),
    "aten.tril_indices.default": _triangle_indices(np.tril_indices),
    "aten.triu.default": row(partial(moves.triangle, upper=True), "self", diagonal=Int(0)),
    "aten.triu_indices.default": _triangle_indices(np.triu_indices),
    "aten.zero.default": _like(0),
    "aten.zeros.default": _of_shape(0),
    "aten.zeros_like.default": _like(0),
}
