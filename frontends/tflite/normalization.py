"""Normalisations of vectors, and over windows of channels."""

from __future__ import annotations

from ..importing.attributes import Float, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import norms
from .activations import fused
from .context import Context


def _l2_normalization(ctx: Context, x: Term) -> Term:
    """Over the last axis; a norm below 1e-6 counts as that."""
    return Term(ctx, fused(ctx, norms.unit_norm(x, (len(x.shape) - 1,), 1e-6).value))


TABLE: dict[str, Converter[Context]] = {
    "L2_NORMALIZATION": row(_l2_normalization, "input"),
    "LOCAL_RESPONSE_NORMALIZATION": row(
        norms.local_response_norm,
        "input",
        radius=Int(0, name="Radius"),
        bias=Float(0.0, name="Bias"),
        alpha=Float(0.0, name="Alpha"),
        beta=Float(0.0, name="Beta"),
    ),
}
