"""Matrix products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import NodeProto
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, CastOp
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.transform import TransposeOp
from ...dialects.sizes import same_shape
from ..importing.converter import Converter, Result
from ..importing.node_parts import Asked
from ..importing.products import dense, product, scaled, transposed
from ..importing.tensor import Tensor, dtype_of, shape_of
from . import activations, elementwise
from .context import Context
from .schemas import schema_of


def gemm(ctx: Context) -> SSAValue:
    """`dense`; then the bias: nn.bias_add if it is 1-d, else add."""
    data = ctx.value(0)
    if ctx.int("transA", 0):
        data = transposed(ctx, data)
    product, own = dense(ctx, data, ctx.value(1), ctx.flag("transB")), ctx.dtype(0)
    alpha, beta = ctx.float("alpha", 1.0), ctx.float("beta", 1.0)
    if own.kind in "iu" and not (alpha.is_integer() and beta.is_integer()):
        # A fraction of integers is taken in float64, and the sum is rounded towards zero.
        product = ctx.emit(CastOp, product, dtype="float64")
    result = scaled(ctx, product, alpha)
    if not ctx.has(2):
        return _as(ctx, result, own)
    return _as(ctx, _with_bias(ctx, result, scaled(ctx, _as(ctx, ctx.value(2), dtype_of(result)), beta)), own)


def _as(ctx: Context, value: SSAValue, dtype: np.dtype[np.generic]) -> SSAValue:
    return value if dtype_of(value) == dtype else ctx.emit(CastOp, value, dtype=dtype.name)


def _with_bias(ctx: Context, result: SSAValue, bias: SSAValue) -> SSAValue:
    shape = shape_of(result)
    if same_shape(shape_of(bias), shape[1:]):
        return ctx.emit(BiasAddOp, result, bias)
    total = ctx.emit(AddOp, result, bias)
    if not same_shape(shape_of(total), shape):
        ctx.fail(f"a third operand that broadcasts to {list(shape)}", f"shape {list(shape_of(bias))}")
    return total


_ACTIVATIONS = {**elementwise.TABLE, **activations.TABLE}
_OF_ACTIVATION = "activation_"


def fused_gemm(ctx: Context) -> Result | tuple[Result, ...]:
    """`gemm`, then an activation, whose attributes are called `activation_alpha` and so on."""
    result, kind = gemm(ctx), ctx.word("activation", "")
    if kind not in _ACTIVATIONS:
        ctx.fail("the name of an activation", repr(kind))
    node = NodeProto(op_type=kind, input=ctx.node.input[:1], output=ctx.node.output)
    for name in schema_of(node, ctx.opset).attributes:
        if (attribute := ctx.attribute(f"{_OF_ACTIVATION}{name}")) is not None:
            own = node.attribute.add()
            own.CopyFrom(attribute)
            own.name = name
    inputs = [Tensor(ctx.node.output[0], value=result)]
    return _ACTIVATIONS[kind].apply(replace(ctx, node=node, inputs=inputs, asked=Asked()))


def matmul(ctx: Context) -> SSAValue:
    """numpy's matmul."""
    return product(ctx, ctx.value(0), ctx.value(1))


def fused_matmul(ctx: Context) -> SSAValue:
    """`product` of operands whose last two dimensions are swapped, or whose first comes last but one; times alpha."""
    operands: list[SSAValue] = []
    for index, which in enumerate("AB"):
        value = ctx.value(index)
        rank = len(shape_of(value))
        if ctx.int(f"transBatch{which}", 0) and rank > 2:
            value = ctx.emit(TransposeOp, value, axes=(*range(1, rank - 1), 0, rank - 1))
        if ctx.int(f"trans{which}", 0) and rank > 1:
            value = transposed(ctx, value)
        operands.append(value)
    return scaled(ctx, product(ctx, *operands), ctx.float("alpha", 1.0))


TABLE = {
    "Gemm": Converter(gemm),
    "MatMul": Converter(matmul),
}
MICROSOFT = {
    "FusedGemm": Converter(fused_gemm),
    "FusedMatMul": Converter(fused_matmul),
    "TransposeMatMul": Converter(fused_matmul),
}
