"""Reductions, sums along an axis, and what looks for the largest."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.sorting import TopKOp
from ..importing.converter import Converter
from ..importing.tensor import dtype_of
from .context import Context
from .values import DTYPES


def _reduction(op: type[Operator]) -> Converter[Context]:
    return Converter(lambda ctx: reduced(ctx, op, ctx.value(0)))


def reduced(ctx: Context, op: type[Operator], value: SSAValue) -> SSAValue:
    """Over the axes in input 1."""
    axes = ctx.axes(1, len(ctx.shape(0)))
    if not axes:
        return ctx.emit(ew.CopyOp, value)
    return ctx.emit(op, value, axis=axes, keepdims=bool(ctx.flag("KeepDims")))


_PLACES = {2: "int32", 4: "int64"}
"""The element types of positions, by their numbers in options."""


def _extreme(op: type[Operator]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        (axis,) = ctx.known_ints(1, "an axis") or (0,)
        result = ctx.emit(op, ctx.value(0), axis=[ctx.axis(axis, len(ctx.shape(0)))])
        dtype = DTYPES.get(ctx.out().type, np.dtype(np.int32)).name
        stated = _PLACES.get(ctx.int("OutputType", 0), dtype)
        if stated != dtype:
            ctx.fail(f"an output of {stated}, as the options say", dtype)
        return result if dtype_of(result).name == dtype else ctx.emit(ew.CastOp, result, dtype=dtype)

    return Converter(convert)


def cumsum(ctx: Context) -> SSAValue:
    (axis,) = ctx.known_ints(1, "an axis") or (0,)
    axis = ctx.axis(axis, len(ctx.shape(0)))
    exclusive, backwards = bool(ctx.flag("Exclusive")), bool(ctx.flag("Reverse"))
    return ctx.emit(CumsumOp, ctx.value(0), axis=axis, exclusive=exclusive, reverse=backwards)


def topk(ctx: Context) -> tuple[SSAValue, ...]:
    (k,) = ctx.known_ints(1, "a number of elements") or (1,)
    dtype = DTYPES.get(ctx.out(1).type, np.dtype(np.int32)).name
    return ctx.emit_all(TopKOp, ctx.value(0), k=k, axis=-1, ret_type="both", dtype=dtype)


TABLE = {
    "ARG_MAX": _extreme(reduce.ArgMaxOp),
    "ARG_MIN": _extreme(reduce.ArgMinOp),
    "CUMSUM": Converter(cumsum),
    "MEAN": _reduction(reduce.MeanOp),
    "REDUCE_ALL": _reduction(reduce.AllOp),
    "REDUCE_ANY": _reduction(reduce.AnyOp),
    "REDUCE_MAX": _reduction(reduce.MaxOp),
    "REDUCE_MIN": _reduction(reduce.MinOp),
    "REDUCE_PROD": _reduction(reduce.ProdOp),
    "SUM": _reduction(reduce.SumOp),
    "TOPK_V2": Converter(topk),
}
