"""Products of tensors, over any of their axes."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import Float64Type

from ..importing.attributes import Stated
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.products import dot_general, matmul
from .context import Context


def _dot_general(ctx: Context, lhs: Term, rhs: Term, accumulation: Any) -> Term:
    """Both sides as batches of matrices; the batch axes come first in the result, then those of the left side."""
    sides = (("lhs", len(lhs.shape)), ("rhs", len(rhs.shape)))
    batch, inner = (
        [ctx.axes(f"{name}_{kind}_dimensions", rank) for name, rank in sides] for kind in ("batching", "contracting")
    )
    if len(batch[0]) != len(batch[1]) or len(inner[0]) != len(inner[1]):
        ctx.fail("as many dimensions of both sides", f"{batch} and {inner}")
    if any(set(b) & set(c) for b, c in zip(batch, inner, strict=True)):
        ctx.fail("batch dimensions that are not contracted", f"{batch} and {inner}")
    wanted = ctx.result_dtype()
    if isinstance(accumulation, Float64Type) and wanted.itemsize < 8:
        ctx.fail(f"sums in {wanted.name}", "f64")
    return dot_general(lhs.to(wanted), rhs.to(wanted), (batch[0], batch[1]), (inner[0], inner[1]))


def _dot(lhs: Term, rhs: Term) -> Term:
    """Of vectors and matrices, over the last axis of the left and the first of the right side."""
    ranks = len(lhs.shape), len(rhs.shape)
    if not all(1 <= rank <= 2 for rank in ranks):
        lhs.ctx.fail("vectors and matrices", f"shapes {list(lhs.shape)} and {list(rhs.shape)}")
    return matmul(lhs, rhs)


_ROUNDED = "operands and products that may be rounded, and are not"
_ALGORITHM: dict[str, str] = dict.fromkeys(
    (
        *("lhs_precision_type", "rhs_precision_type", "lhs_component_count", "rhs_component_count"),
        *("num_primitive_operations", "allow_imprecise_accumulation"),
    ),
    _ROUNDED,
)

TABLE: dict[str, Converter[Context]] = {
    "dot": row(_dot, "lhs rhs"),
    "dot_general": row(_dot_general, "lhs rhs", unread=_ALGORITHM, accumulation=Stated(None, name="accumulation_type")),
}
