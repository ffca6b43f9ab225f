"""Matrix products, inverses and determinants."""

from __future__ import annotations

from typing import Any

from ...dialects.relay import elementwise as ew
from ...dialects.relay.matmul import MatmulOp
from ..importing.attributes import Flag, Word
from ..importing.rows import row
from ..importing.terms import Term, maximum, sigmoid, tanh, term
from ..meanings import linear_algebra, products
from ..meanings.einsum import einsum
from ..meanings.moves import swap_last
from .context import Context


def _matmul(ctx: Context, left: Term, right: Term, transpose_left: bool, transpose_right: bool) -> Term:
    """Of two matrices; a constant right one is nn.dense's, transposed if need be."""
    if len(left.shape) != 2 or len(right.shape) != 2:
        ctx.fail("two matrices", f"shapes {list(left.shape)} and {list(right.shape)}")
    if not ctx.conversion.dense:
        return left.apply(MatmulOp, right, transpose_a=transpose_left, transpose_b=transpose_right)
    return products.dense(swap_last(left) if transpose_left else left, right, outputs_first=transpose_right)


def _batch_matmul(left: Term, right: Term, transpose_left: bool, transpose_right: bool) -> Term:
    if min(len(left.shape), len(right.shape)) < 2:
        left.ctx.fail("matrices", f"shapes {list(left.shape)} and {list(right.shape)}")
    return products.matmul(left, right, transpose_left, transpose_right)


def _fused_matmul(ctx: Context, left: Term, right: Term, transpose_left: bool, transpose_right: bool) -> Term:
    """With a bias and an activation, as TensorFlow's own optimiser puts them together."""
    result = _matmul(ctx, left, right, transpose_left, transpose_right)
    fused = ctx.attribute("fused_ops")
    steps = [] if fused is None else [name.decode() for name in fused.list.s]
    for name in steps:
        match name:
            case "BiasAdd":
                result = result + term(ctx, 2)
            case "Relu":
                result = result.apply(ew.ReluOp)
            case "Relu6":
                result = result.clip(0.0, 6.0)
            case "LeakyRelu":
                result = maximum(result, result * ctx.float("leakyrelu_alpha", 0.2))
            case "Tanh":
                result = tanh(result)
            case "Sigmoid":
                result = sigmoid(result)
            case _:
                ctx.fail("fused operators BiasAdd, Relu, Relu6, LeakyRelu, Tanh or Sigmoid", name)
    return result


def _inverse(x: Term, adjoint: bool) -> Term:
    return linear_algebra.inverse(swap_last(x) if adjoint else x)


def _transposes(left: str, right: str) -> dict[str, Any]:
    return {"transpose_left": Flag(False, name=left), "transpose_right": Flag(False, name=right)}


_OF_MATRICES, _OF_BATCHES = _transposes("transpose_a", "transpose_b"), _transposes("adj_x", "adj_y")
_batches = row(_batch_matmul, "x y", **_OF_BATCHES)
TABLE = {
    "BatchMatMul": _batches,
    "BatchMatMulV2": _batches,
    "BatchMatMulV3": _batches,
    "Einsum": row(einsum, "inputs*", equation=Word("")),
    "LogMatrixDeterminant": row(linear_algebra.sign_and_log_of_determinant, "input"),
    "MatMul": row(_matmul, "a b", **_OF_MATRICES),
    "MatrixDeterminant": row(linear_algebra.determinant, "input"),
    "MatrixInverse": row(_inverse, "input", adjoint=Flag(False)),
    "MatrixSolve": row(linear_algebra.solve, "matrix rhs", adjoint=Flag(False)),
    "_FusedMatMul": row(_fused_matmul, "a b", **_OF_MATRICES),
}
