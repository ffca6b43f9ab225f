"""Normalisation by given statistics."""

from __future__ import annotations

from ..importing.attributes import Float, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of
from ..meanings import norms
from .context import Context


def _batch_norm(x: Term, *weights: Term, epsilon: float, axis: int) -> Term:
    return norms.batch_norm(x, *weights, epsilon=epsilon, axis=axis_of(x, axis))


TABLE: dict[str, Converter[Context]] = {
    "batch_norm_inference": row(
        _batch_norm, "operand scale offset mean variance", epsilon=Float(), axis=Int(name="feature_index")
    )
}
