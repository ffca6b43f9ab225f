"""Dropout: of elements or of whole channels. In training mode a random choice of them is gone, another in each call."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ..importing.converter import Converter
from ..importing.draws import number_type
from ..importing.tensor import shape_of
from ..importing.terms import Term, where
from .context import Context
from .random import below
from .shaping import broadcast


def _trains(ctx: Context) -> bool:
    """Return whether a dropout drops anything."""
    return ctx.flag("train" if ctx.given("train") else "training", False) and ctx.float("p", 0.5) > 0


def _kept(ctx: Context, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Term:
    """Truth values: the elements that a dropout keeps."""
    return below(ctx, 1.0 - ctx.float("p", 0.5), shape, number_type(dtype))


def _scaled(ctx: Context, data: Term, mask: Term) -> Term:
    """The elements that a dropout keeps, as much larger as others are gone."""
    rate = ctx.float("p", 0.5)
    return where(mask, data * (1 / (1 - rate) if rate < 1 else 0.0), 0.0)


def _channels(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a mask of whole channels."""
    return (*shape[:2], *[1] * (len(shape) - 2))


_SATURATION = -1.7580993408473766
"""The value of SELU at minus infinity, which alpha dropout puts in the place of elements."""


def _saturated(ctx: Context, data: Term, mask: Term) -> Term:
    """The elements that an alpha dropout keeps, brought to the mean and variance that all had."""
    rate = ctx.float("p", 0.5)
    if rate >= 1:
        return data * 0.0
    factor = 1 / sqrt((_SATURATION**2 * rate + 1) * (1 - rate))
    return where(mask, data * factor, _SATURATION * factor) - _SATURATION * factor * rate


_RATE = {"p": "drops nothing in inference"}


def _dropout(
    whole: Callable[[tuple[int, ...]], tuple[int, ...]], put: Callable[[Context, Term, Term], Term]
) -> Converter[Context]:
    """The converter of a dropout, which drops nothing in inference.

    whole: the shape of its mask, for that of the data. put: the result, for the data and the mask.
    """

    def convert(ctx: Context) -> SSAValue:
        if not _trains(ctx):
            return ctx.emit(CopyOp, ctx.of("input"))
        data = ctx.term("input")
        return put(ctx, data, _kept(ctx, whole(data.shape), data.dtype)).value

    return Converter(convert, unread=_RATE)


def _elements(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape


def _native_dropout(ctx: Context) -> tuple[SSAValue, SSAValue]:
    """The data and a mask of what stays: all in inference."""
    if _trains(ctx):
        data = ctx.term("input")
        mask = _kept(ctx, data.shape, data.dtype)
        return _scaled(ctx, data, mask).value, mask.value
    result = ctx.emit(CopyOp, ctx.of("input"))
    truth = ctx.constant(np.ones((), np.bool_), "mask")
    return result, broadcast(ctx, truth, shape_of(result))


TABLE = {
    "aten.dropout.default": _dropout(_elements, _scaled),
    "aten.feature_alpha_dropout.default": _dropout(_channels, _saturated),
    "aten.feature_dropout.default": _dropout(_channels, _scaled),
    "aten.alpha_dropout.default": _dropout(_elements, _saturated),
    "aten.native_dropout.default": Converter(_native_dropout, unread=_RATE),
}
