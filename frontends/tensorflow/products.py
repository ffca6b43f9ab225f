"""Matrix products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.linear_algebra import EinsumOp
from ...dialects.relay.matmul import MatmulOp
from ...dialects.relay.transform import TransposeOp
from ..importing import products
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, maximum
from .context import Context


def matmul(ctx: Context) -> SSAValue:
    """Of two matrices; a constant right one is nn.dense's, transposed if need be."""
    left, right = ctx.value(0), ctx.value(1)
    if len(shape_of(left)) != 2 or len(shape_of(right)) != 2:
        ctx.fail("two matrices", f"shapes {list(shape_of(left))} and {list(shape_of(right))}")
    if not ctx.conversion.dense:
        transposes = {name: ctx.flag(name) for name in ("transpose_a", "transpose_b")}
        return ctx.emit(MatmulOp, left, right, **transposes)
    if ctx.flag("transpose_a"):
        left = ctx.emit(TransposeOp, left, axes=(1, 0))
    return products.dense(ctx, left, right, ctx.flag("transpose_b"))


def batch_matmul(ctx: Context) -> SSAValue:
    left, right = ctx.value(0), ctx.value(1)
    if min(len(shape_of(left)), len(shape_of(right))) < 2:
        ctx.fail("matrices", f"shapes {list(shape_of(left))} and {list(shape_of(right))}")
    left, right = (
        products.transposed(ctx, value) if ctx.flag(name) else value
        for name, value in (("adj_x", left), ("adj_y", right))
    )
    return products.product(ctx, left, right)


def fused_matmul(ctx: Context) -> SSAValue:
    """With a bias and an activation, as TensorFlow's own optimiser puts them together."""
    result = matmul(ctx)
    fused = ctx.attribute("fused_ops")
    steps = [] if fused is None else [name.decode() for name in fused.list.s]
    for name in steps:
        match name:
            case "BiasAdd":
                result = ctx.emit(ew.AddOp, result, ctx.value(2))
            case "Relu":
                result = ctx.emit(ew.ReluOp, result)
            case "Relu6":
                result = ctx.emit(ew.ClipOp, result, a_min=0.0, a_max=6.0)
            case "LeakyRelu":
                x = Term(ctx, result)
                result = maximum(x, x * ctx.float("leakyrelu_alpha", 0.2)).value
            case "Tanh":
                result = ctx.emit(ew.TanhOp, result)
            case "Sigmoid":
                result = ctx.emit(ew.SigmoidOp, result)
            case _:
                ctx.fail("fused operators BiasAdd, Relu, Relu6, LeakyRelu, Tanh or Sigmoid", name)
    return result


def einsum(ctx: Context) -> SSAValue:
    return ctx.emit(EinsumOp, ctx.values(), equation=ctx.word("equation", ""))


TABLE = {
    "BatchMatMul": Converter(batch_matmul),
    "BatchMatMulV2": Converter(batch_matmul),
    "BatchMatMulV3": Converter(batch_matmul),
    "Einsum": Converter(einsum),
    "MatMul": Converter(matmul),
    "_FusedMatMul": Converter(fused_matmul),
}
