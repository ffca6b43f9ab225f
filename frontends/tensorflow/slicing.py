"""Slices, and ranges of numbers."""

from __future__ import annotations

from typing import Any

from ...dialects.relay.transform import TakeOp
from ...dialects.sizes import symbols_of
from ...support.dtypes import Array
from ..importing.attributes import Int
from ..importing.converter import Result
from ..importing.rows import row
from ..importing.tensor import Tensor, Undecided
from ..importing.terms import Term, term
from ..meanings import creation, slices
from ..meanings.creation import Number
from ..meanings.dynamic_slices import dynamic_slice, elements_of
from .context import Context


def _slice(ctx: Context, x: Term, begins: Tensor, size: tuple[int, ...]) -> Term:
    """From `begin` on `size` elements along each axis; -1 is all that are left."""
    try:
        begin = ctx.known_ints(1, "begins")
    except Undecided:
        return _moving_slice(ctx, x, size)
    return slices.slice_from(x, begin, size)


def _moving_slice(ctx: Context, x: Term, size: tuple[int, ...]) -> Term:
    """A slice that begins where values say, as elements taken along each axis."""
    if -1 in size or any(map(symbols_of, (*size, *x.shape))):
        ctx.known_ints(1, "begins")
    return dynamic_slice(x, *elements_of(term(ctx, 1)), sizes=size)


def _strided_slice(ctx: Context, x: Term, **masks: Any) -> Term:
    """numpy's slices: masks leave out begins and ends, and say which axes are new, or go."""
    try:
        begin, end, strides = (ctx.known_ints(k, what) for k, what in ((1, "begins"), (2, "ends"), (3, "strides")))
    except Undecided:
        if ctx.shape(1) == (1,) and [name for name, mask in masks.items() if mask] == ["shrink_axis_mask"]:
            # One element along the first axis, at a place that is computed.
            return x.apply(TakeOp, term(ctx, 1).reshape(), axis=0)
        raise
    return slices.strided_slice(x, begin, end, strides, **masks)


def _range(ctx: Context, start: Number, limit: Number, step: Number) -> Result:
    return creation.numbers_from(ctx, start, limit, step, ctx.dtype(0), narrow=True)


def _lin_space(ctx: Context, start: float, stop: float, count: int) -> Array:
    if count < 1:
        ctx.fail("at least 1 element", str(count))
    return creation.numbers_between(ctx, start, stop, count, ctx.dtype(0))


_MASKS: Any = {f"{name}_mask": Int(0) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}

TABLE = {
    "LinSpace": row(_lin_space, "start:number stop:number num:size"),
    "Range": row(_range, "start:exact limit:exact delta:exact"),
    "Slice": row(_slice, "input begin:tensor size:ints"),
    "StridedSlice": row(_strided_slice, "input", **_MASKS),
}
