"""Activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.relay import elementwise as ew
from ...dialects.sizes import same
from ..importing.attributes import Element, Flag, Float, Int, Word
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import activations
from .context import Context
from .promotion import FLOAT, floating


def _prelu(x: Term, slopes: Term) -> Term:
    """One slope, or one for each channel."""
    if len(slopes.shape) != 1 or same(slopes.shape[0], 1) or len(x.shape) < 2:
        alone = len(x.shape) == 1 and len(slopes.shape) == 1
        return activations.prelu(x, slopes if alone else slopes.reshape(*(1,) * len(x.shape)))
    return activations.prelu(x, slopes, 1)


def _along(function: Callable[[Term, int], Term]) -> Converter[Context]:
    """A function of floats along an axis; in another element type if `dtype` says so."""

    def computed(x: Term, dim: int, dtype: np.dtype[Any] | None, wide: bool) -> Term:
        return function(x.to(dtype or (FLOAT if wide else floating(x.dtype))), dim)

    return row(computed, "self", dim=Int(), dtype=Element(None), wide=Flag(False, name="half_to_float"))


_softplus = row(activations.softplus, "self", beta=Float(1.0), threshold=Float(20.0))
_softmax, _log_softmax = _along(activations.softmax), _along(activations.log_softmax)
TABLE: dict[str, Converter[Context]] = {
    "aten._log_softmax.default": _log_softmax,
    "aten._prelu_kernel.default": row(_prelu, "self weight"),
    "aten._safe_softmax.default": _along(activations.safe_softmax),
    "aten._softmax.default": _softmax,
    "aten.celu.default": row(activations.celu, "self", alpha=Float(1.0)),
    "aten.elu.default": row(activations.elu, "self", alpha=Float(1.0), scale=Float(1.0), input_scale=Float(1.0)),
    "aten.gelu.default": row(activations.gelu, "self", approximate=Word("none", among=("none", "tanh"))),
    "aten.glu.default": row(activations.glu, "self", axis=Int(-1, name="dim")),
    "aten.hardsigmoid.default": row(activations.hard_sigmoid, "self"),
    "aten.hardswish.default": row(activations.hard_swish, "self"),
    "aten.hardtanh.default": row(
        activations.hard_tanh, "self", low=Float(-1.0, name="min_val"), high=Float(1.0, name="max_val")
    ),
    "aten.leaky_relu.default": row(ew.LeakyReluOp, "self", alpha=Float(0.01, name="negative_slope")),
    "aten.log_sigmoid.default": row(activations.log_sigmoid, "self"),
    "aten.log_softmax.int": _log_softmax,
    "aten.mish.default": row(activations.mish, "self"),
    "aten.prelu.default": row(_prelu, "self weight"),
    "aten.relu.default": row(ew.ReluOp, "self"),
    "aten.relu6.default": row(activations.clipped(0.0, 6.0), "self"),
    "aten.selu.default": row(activations.selu, "self"),
    "aten.silu.default": row(activations.swish, "self"),
    "aten.softmax.int": _softmax,
    "aten.softplus.default": _softplus,
    "aten.threshold.default": row(activations.threshold, "self", threshold=Float(), value=Float()),
}
