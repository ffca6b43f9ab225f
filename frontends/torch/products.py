"""Matrix products, linear layers and einsum."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.matmul import BiasAddOp
from ...dialects.relay.transform import ReshapeOp
from ...dialects.sizes import same_shape
from ..importing.converter import Converter
from ..importing.einsum import contraction
from ..importing.products import dense, product, reshaped, scaled
from ..importing.tensor import shape_of
from ..importing.terms import Term
from .context import Context


def linear(ctx: Context, data: SSAValue, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
    """Rows times the transpose of a weight (outputs, inputs), then the bias."""
    *batch, depth = shape_of(data)
    if len(shape_of(weight)) == 1:
        result = product(ctx, data, weight)
        return result if bias is None else (Term(ctx, result) + Term(ctx, bias)).value
    rows = reshaped(ctx, data, (prod(batch), depth))
    result = dense(ctx, rows, weight, True)
    if bias is not None:
        result = ctx.emit(BiasAddOp, result, bias, axis=-1)
    return reshaped(ctx, result, (*batch, shape_of(weight)[0]))


def _linear(ctx: Context) -> SSAValue:
    return linear(ctx, ctx.of("input"), ctx.of("weight"), ctx.optional("bias"))


def _product(left: str, right: str) -> Converter[Context]:
    """numpy's matmul of two arguments."""
    return Converter(lambda ctx: product(ctx, ctx.of(left), ctx.of(right)))


def _dot(ctx: Context) -> SSAValue:
    name = "other" if ctx.given("other") else "tensor"
    return (ctx.term("self") * ctx.term(name)).sum(0).reshape().value


def _outer(ctx: Context) -> SSAValue:
    rows, columns = ctx.term("self"), ctx.term("vec2")
    return (rows.reshape(rows.shape[0], 1) * columns.reshape(1, columns.shape[0])).value


def _with_sum(left: str, right: str) -> Converter[Context]:
    """beta * self + alpha * (left @ right)."""

    def convert(ctx: Context) -> SSAValue:
        total = scaled(ctx, product(ctx, ctx.of(left), ctx.of(right)), ctx.float("alpha", 1.0))
        beta = ctx.float("beta", 1.0)
        if beta == 0.0:
            return total
        bias = scaled(ctx, ctx.of("self"), beta)
        if len(shape_of(total)) == 2 and same_shape(shape_of(bias), shape_of(total)[1:]):
            return ctx.emit(BiasAddOp, total, bias, axis=-1)
        return (Term(ctx, total) + Term(ctx, bias)).value

    return Converter(convert)


def _einsum(ctx: Context) -> SSAValue:
    terms = [Term(ctx, value) for value in ctx.list_of("tensors")]
    return contraction(ctx, ctx.word("equation", "").replace(" ", ""), terms)


def _bilinear(ctx: Context) -> SSAValue:
    """y[.., o] = sum of x1[.., i] * weight[o, i, j] * x2[.., j]."""
    x, y, weight = ctx.term("input1"), ctx.term("input2"), ctx.term("weight")
    *batch, _ = x.shape
    rows = prod(batch)
    flat = [x.reshape(rows, x.shape[-1]), y.reshape(rows, y.shape[-1])]
    result = Term(ctx, contraction(ctx, "bi,oij,bj->bo", [flat[0], weight, flat[1]]))
    if ctx.given("bias"):
        result = result + ctx.term("bias")
    return ctx.emit(ReshapeOp, result.value, newshape=(*batch, weight.shape[0]), allowzero=1)


TABLE: dict[str, Converter[Context]] = {
    "aten.addmm.default": _with_sum("mat1", "mat2"),
    "aten.addmv.default": _with_sum("mat", "vec"),
    "aten.baddbmm.default": _with_sum("batch1", "batch2"),
    "aten.bilinear.default": Converter(_bilinear),
    "aten.bmm.default": _product("self", "mat2"),
    "aten.dot.default": Converter(_dot),
    "aten.einsum.default": Converter(_einsum),
    "aten.linear.default": Converter(_linear),
    "aten.matmul.default": _product("self", "other"),
    "aten.mm.default": _product("self", "mat2"),
    "aten.mv.default": _product("self", "vec"),
    "aten.outer.default": Converter(_outer),
}
