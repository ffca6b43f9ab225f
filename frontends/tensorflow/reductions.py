"""Reductions, sums along an axis, and what looks for the largest."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.division import TruncDivideOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.rearrange import ReverseOp
from ...dialects.relay.sorting import TopKOp
from ..importing.converter import Converter
from ..importing.tensor import dtype_of
from ..importing.terms import Term, sqrt, term
from .context import Context
from .indexing import picked_rows


def reduced(ctx: Context, op: type[Operator], value: SSAValue) -> SSAValue:
    """Over the axes in input 1; none are no reduction."""
    axes, keepdims = ctx.axes(1, len(ctx.shape(0))), ctx.flag("keep_dims")
    if not axes:
        return ctx.emit(ew.CopyOp, value)
    return ctx.emit(op, value, axis=axes, keepdims=keepdims)


def _reduction(op: type[Operator]) -> Converter[Context]:
    return Converter(lambda ctx: reduced(ctx, op, ctx.value(0)))


def mean(ctx: Context) -> SSAValue:
    """Of integers their sum, divided towards zero."""
    if ctx.dtype(0).kind not in "iu":
        return reduced(ctx, reduce.MeanOp, ctx.value(0))
    axes, shape = ctx.axes(1, len(ctx.shape(0))), ctx.shape(0)
    total = Term(ctx, reduced(ctx, reduce.SumOp, ctx.value(0)))
    return total.apply(TruncDivideOp, int(np.prod([shape[axis] for axis in axes], dtype=np.int64))).value


def euclidean_norm(ctx: Context) -> SSAValue:
    x = term(ctx, 0)
    return sqrt(Term(ctx, reduced(ctx, reduce.SumOp, (x * x).value))).value


def l2_loss(ctx: Context) -> SSAValue:
    """Half the sum of the squares of all elements."""
    x = term(ctx, 0)
    return ((x * x).apply(reduce.SumOp) * 0.5).value


def _extreme(op: type[Operator]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        axis = ctx.axis(ctx.one(1, "an axis"), len(ctx.shape(0)))
        result, dtype = ctx.emit(op, ctx.value(0), axis=[axis]), ctx.element("output_type", np.dtype("int64")).name
        return result if dtype_of(result).name == dtype else ctx.emit(ew.CastOp, result, dtype=dtype)

    return Converter(convert)


def _cumulative(op: type[Operator]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        axis, backwards = ctx.axis(ctx.one(1, "an axis"), len(ctx.shape(0))), ctx.flag("reverse")
        value = ctx.emit(ReverseOp, ctx.value(0), axis=(axis,)) if backwards else ctx.value(0)
        result = ctx.emit(op, value, axis=axis, exclusive=ctx.flag("exclusive"))
        return ctx.emit(ReverseOp, result, axis=(axis,)) if backwards else result

    return Converter(convert)


def top_k(ctx: Context) -> tuple[SSAValue, ...]:
    k, dtype = ctx.one(1, "a number of elements"), ctx.element("index_type", np.dtype("int32")).name
    return ctx.emit_all(TopKOp, ctx.value(0), k=k, axis=-1, ret_type="both", dtype=dtype)


def in_top_k(ctx: Context) -> SSAValue:
    """True where fewer than k predictions are above that of the target."""
    predictions, k = term(ctx, 0), ctx.one(2, "a number of elements")
    own = picked_rows(ctx, predictions, term(ctx, 1))
    above = (predictions > own).to("int32").apply(reduce.SumOp, axis=(1,), keepdims=False)
    return (above < k).value


TABLE = {
    "L2Loss": Converter(l2_loss),
    "All": _reduction(reduce.AllOp),
    "Any": _reduction(reduce.AnyOp),
    "ArgMax": _extreme(reduce.ArgMaxOp),
    "ArgMin": _extreme(reduce.ArgMinOp),
    "Cumprod": _cumulative(CumprodOp),
    "Cumsum": _cumulative(CumsumOp),
    "EuclideanNorm": Converter(euclidean_norm),
    "InTopKV2": Converter(in_top_k),
    "Max": _reduction(reduce.MaxOp),
    "Mean": Converter(mean),
    "Min": _reduction(reduce.MinOp),
    "Prod": _reduction(reduce.ProdOp),
    "Sum": _reduction(reduce.SumOp),
    "TopKV2": Converter(top_k),
}
