"""Matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from onnx import NodeProto

from ...dialects.relay.transform import TransposeOp
from ...dialects.sizes import same_shape
from ..importing.attributes import Flag, Float, Word
from ..importing.converter import Result
from ..importing.node_parts import Asked
from ..importing.rows import row
from ..importing.tensor import Tensor
from ..importing.terms import Term
from ..meanings.moves import swap_last
from ..meanings.products import dense, matmul, scaled, with_addend
from . import activations, elementwise
from .context import Context
from .schemas import schema_of


def _gemm(a: Term, b: Term, c: Term | None, alpha: float, beta: float, transpose_a: bool, transpose_b: bool) -> Term:
    """`dense`; then what is added: a fraction of integers is taken in float64, and the sum rounded towards zero."""
    product = dense(swap_last(a) if transpose_a else a, b, outputs_first=transpose_b)
    if a.dtype.kind in "iu" and not (alpha.is_integer() and beta.is_integer()):
        product = product.to("float64")
    if c is None:
        return scaled(product, alpha).to(a.dtype)
    total = with_addend(product, c.to(product.dtype), alpha, beta)
    if not same_shape(total.shape, product.shape):
        a.ctx.fail(f"a third operand that broadcasts to {list(product.shape)}", f"shape {list(c.shape)}")
    return total.to(a.dtype)


_ACTIVATIONS = {**elementwise.TABLE, **activations.TABLE}
_OF_ACTIVATION = "activation_"


def _fused_gemm(
    ctx: Context, a: Term, b: Term, c: Term | None, kind: str, **attributes: Any
) -> Result | tuple[Result, ...]:
    """`_gemm`, then an activation, whose attributes are called `activation_alpha` and so on."""
    if kind not in _ACTIVATIONS:
        ctx.fail("the name of an activation", repr(kind))
    result = _gemm(a, b, c, **attributes)
    node = NodeProto(op_type=kind, input=ctx.node.input[:1], output=ctx.node.output)
    for name in schema_of(node, ctx.opset).attributes:
        if (attribute := ctx.attribute(f"{_OF_ACTIVATION}{name}")) is not None:
            own = node.attribute.add()
            own.CopyFrom(attribute)
            own.name = name
    inputs = [Tensor(ctx.node.output[0], value=result.value)]
    return _ACTIVATIONS[kind].apply(replace(ctx, node=node, inputs=inputs, asked=Asked()))


def _fused_matmul(
    a: Term, b: Term, alpha: float, batch_a: bool, batch_b: bool, transpose_a: bool, transpose_b: bool
) -> Term:
    """`matmul` of operands whose last two dimensions are swapped, or whose first comes last but one; times alpha."""

    def turned(x: Term, from_batch: bool, transpose: bool) -> Term:
        rank = len(x.shape)
        if from_batch and rank > 2:
            x = x.apply(TransposeOp, axes=(*range(1, rank - 1), 0, rank - 1))
        return swap_last(x) if transpose and rank > 1 else x

    return scaled(matmul(turned(a, batch_a, transpose_a), turned(b, batch_b, transpose_b)), alpha)


_TRANSPOSES: Mapping[str, Any] = {
    "transpose_a": Flag(False, name="transA"),
    "transpose_b": Flag(False, name="transB"),
}
_GEMM: Mapping[str, Any] = {"alpha": Float(1.0), "beta": Float(1.0), **_TRANSPOSES}
_fused_matmul_row = row(
    _fused_matmul,
    "A B",
    alpha=Float(1.0),
    batch_a=Flag(False, name="transBatchA"),
    batch_b=Flag(False, name="transBatchB"),
    **_TRANSPOSES,
)

TABLE = {
    "Gemm": row(_gemm, "A B C?", **_GEMM),
    "MatMul": row(matmul, "A B"),
}
MICROSOFT = {
    "FusedGemm": row(_fused_gemm, "A B C?", kind=Word("", name="activation"), **_GEMM),
    "FusedMatMul": _fused_matmul_row,
    "TransposeMatMul": _fused_matmul_row,
}
