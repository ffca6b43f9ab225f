"""Matrix products, linear layers and einsum."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ...dialects.sizes import same
from ..importing.attributes import Ints, Stated
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of
from ..meanings.einsum import einsum
from ..meanings.products import dense, matmul, outer, tensordot, vecdot, with_addend
from .context import Context


def linear(x: Term, weight: Term, bias: Term | None = None) -> Term:
    """Rows times the transpose of a weight (outputs, inputs), or a vector of inputs; then the bias."""
    if len(weight.shape) > 1:
        return dense(x, weight, bias, outputs_first=True, bias_axis=-1)
    return matmul(x, weight) if bias is None else matmul(x, weight) + bias


def _with_sum(names: str) -> Converter[Context]:
    """beta * self + alpha * (left @ right)."""

    def total(addend: Term, left: Term, right: Term, alpha: float, beta: float) -> Term:
        return with_addend(matmul(left, right), addend, alpha, beta)

    return row(total, f"self {names}", alpha=Stated(1), beta=Stated(1))


def _einsum(ctx: Context) -> SSAValue:
    return einsum(*(Term(ctx, value) for value in ctx.list_of("tensors")), equation=ctx.word("equation", "")).value


def _bilinear(x: Term, y: Term, weight: Term, bias: Term | None) -> Term:
    """y[.., o] = sum of x1[.., i] * weight[o, i, j] * x2[.., j]."""
    *batch, _ = x.shape
    rows = (part.reshape(prod(batch), part.shape[-1]) for part in (x, y))
    result = einsum(next(rows), weight, next(rows), equation="bi,oij,bj->bo")
    result = result if bias is None else result + bias
    return result.reshape(*batch, weight.shape[0])


def _tensordot(a: Term, b: Term, left: Sequence[int], right: Sequence[int]) -> Term:
    """Sum products over pairs of axes, of which an axis of one element meets each element of a longer one."""
    left, right = [axis_of(a, axis) for axis in left], [axis_of(b, axis) for axis in right]
    for axis, other in zip(left, right, strict=True):
        if same(a.shape[axis], 1) and not same(b.shape[other], 1):
            b = b.sum(other)
        elif same(b.shape[other], 1) and not same(a.shape[axis], 1):
            a = a.sum(axis)
    return tensordot(a, b, left, right)


def _dot(a: Term, b: Term) -> Term:
    return vecdot(a, b, 0)


_products = row(matmul, "self mat2")
TABLE: dict[str, Converter[Context]] = {
    "aten.addmm.default": _with_sum("mat1 mat2"),
    "aten.addmv.default": _with_sum("mat vec"),
    "aten.baddbmm.default": _with_sum("batch1 batch2"),
    "aten.bilinear.default": row(_bilinear, "input1 input2 weight bias?"),
    "aten.bmm.default": _products,
    "aten.dot.default": row(_dot, "self tensor"),
    "aten.einsum.default": Converter(_einsum),
    "aten.linear.default": row(linear, "input weight bias?"),
    "aten.matmul.default": row(matmul, "self other"),
    "aten.mm.default": _products,
    "aten.mv.default": row(matmul, "self vec"),
    "aten.outer.default": row(outer, "self vec2"),
    "aten.tensordot.default": row(_tensordot, "self other", left=Ints(name="dims_self"), right=Ints(name="dims_other")),
}
