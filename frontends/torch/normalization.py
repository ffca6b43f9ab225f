"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ..importing.attributes import Element, Flag, Float, Int, Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, constant, maximum, once, wide
from ..meanings import norms
from ..meanings.moves import of_one_shape
from ..meanings.products import vecdot
from ..meanings.reductions import norm
from .context import Context
from .promotion import FLOAT
from .tensors import precision

_NO_STATISTICS = "none (call .eval() on modules that keep them before torch.export)"
_TRAINING = "batch_norm in training mode (call .eval() before torch.export)"


def _batch_norm(
    x: Term,
    gamma: Term | None = None,
    beta: Term | None = None,
    mean: Term | None = None,
    variance: Term | None = None,
    *,
    epsilon: float,
    training: bool = False,
) -> tuple[Term, ...]:
    """By the running statistics; where none are kept by the batch's own, which follow."""
    if training:
        if mean is not None:
            x.ctx.fail("a model in inference mode", _TRAINING)
        result, *own = norms.batch_norm_by_own(wide(x), gamma, beta, epsilon)
        return result.to(x.dtype), *own
    if mean is None or variance is None:
        x.ctx.fail("running statistics", _NO_STATISTICS)
    return (norms.batch_norm(wide(x), gamma, beta, mean, variance, epsilon).to(x.dtype),)


def _batch_norm_alone(x: Term, *weights: Term | None, epsilon: float, training: bool = False) -> Term:
    return _batch_norm(x, *weights, epsilon=epsilon, training=training)[0]


def _parts(result: Term, mean: Term, variance: Term, epsilon: float) -> tuple[Term, ...]:
    """A result of a core operator, mean and inverse deviation: in its dtype, as exporters state them."""
    return result, mean.to(result.dtype), norms.inverse_deviation(variance, epsilon).to(result.dtype)


def _batch_norm_in_parts(x: Term, *weights: Term | None, epsilon: float, training: bool) -> tuple[Term, ...]:
    """The statistics of inference have no elements."""
    result, *own = _batch_norm(x, *weights, epsilon=epsilon, training=training)
    if own:
        return _parts(result, *own, epsilon=epsilon)
    empty = constant(x.ctx, np.zeros(0, x.dtype), "statistics")
    return result, empty, empty


def _instance_norm(
    x: Term, gamma: Term | None, beta: Term | None, *running: Term | None, epsilon: float, own: bool
) -> Term:
    """nn.instance_norm, or nn.batch_norm where running statistics are used."""
    if not own:
        return _batch_norm_alone(x, gamma, beta, *running, epsilon=epsilon)
    if running[0] is not None:
        x.ctx.fail("a model in inference mode", "statistics of training (call .eval() before torch.export)")
    return once(norms.instance_norm)(x, gamma, beta, epsilon)


def _trailing(x: Term, row: Sequence[int]) -> range:
    rank = len(x.shape)
    if not row or len(row) > rank:
        x.ctx.fail("1 or more axes of the data as normalized_shape", str(list(row)))
    return range(rank - len(row), rank)


@once
def _layer_norm(x: Term, gamma: Term | None, beta: Term | None, row: Sequence[int], epsilon: float) -> Term:
    return norms.layer_norm(x, gamma, beta, _trailing(x, row), epsilon)


def _layer_norm_in_parts(
    x: Term, gamma: Term | None, beta: Term | None, row: Sequence[int], epsilon: float
) -> tuple[Term, ...]:
    return _parts(_layer_norm(x, gamma, beta, row, epsilon), *norms.moments(wide(x), _trailing(x, row)), epsilon)


@once
def _rms_norm(x: Term, weight: Term | None, row: Sequence[int], epsilon: float | None) -> Term:
    """The default epsilon is that of the type that it is computed in."""
    scale = None if weight is None else weight.to(x.dtype)
    return norms.rms_norm(x, scale, _trailing(x, row), precision(x.dtype) if epsilon is None else epsilon)


def _group_norm_in_parts(
    x: Term, gamma: Term | None, beta: Term | None, groups: int, epsilon: float
) -> tuple[Term, ...]:
    result, batch = once(norms.group_norm)(x, gamma, beta, groups, epsilon), x.shape[0]
    statistics = norms.moments(wide(x).reshape(batch, groups, prod(x.shape[1:]) // groups), (2,))
    return _parts(result, *(part.reshape(batch, groups) for part in statistics), epsilon=epsilon)


def _vector_norm(x: Term, p: float, axes: Sequence[int], keepdims: bool, dtype: np.dtype[Any] | None) -> Term:
    dtype = dtype or x.dtype
    return norm(x.to(FLOAT if dtype.itemsize < 4 else dtype), p, axes or None, keepdims).to(dtype)


def _cosine_similarity(ctx: Context) -> SSAValue:
    """The product of two vectors, in the shape in which they meet, over that of their norms of at least `eps`."""
    a, b = of_one_shape(ctx.term("x1"), ctx.term("x2"))
    axis, eps = ctx.axis("dim", len(a.shape), 1), ctx.float("eps", 1e-8)
    lengths = (maximum(norm(x, 2.0, (axis,)), eps) for x in (a, b))
    return (vecdot(a, b, axis) / reduce(Term.__mul__, lengths)).value


_EPSILON = Float(1e-5, name="eps")
_OF_BATCH = "input weight? bias? running_mean? running_var?"
_ROW = Ints(name="normalized_shape")


def _norm(power: str) -> Converter[Context]:
    return row(
        _vector_norm,
        "self",
        p=Float(2.0, name=power),
        axes=Ints((), name="dim"),
        keepdims=Flag(False, name="keepdim"),
        dtype=Element(None),
    )


_batch_parts = row(_batch_norm_in_parts, _OF_BATCH, epsilon=_EPSILON, training=Flag(False))
TABLE: dict[str, Converter[Context]] = {
    "aten.batch_norm.default": row(_batch_norm_alone, _OF_BATCH, epsilon=_EPSILON, training=Flag(False)),
    "aten.native_batch_norm.default": _batch_parts,
    "aten._native_batch_norm_legit.default": _batch_parts,
    "aten._native_batch_norm_legit.no_stats": _batch_parts,
    "aten._native_batch_norm_legit_no_training.default": _batch_parts,
    "aten.cosine_similarity.default": Converter(_cosine_similarity),
    "aten.group_norm.default": row(
        once(norms.group_norm), "input weight? bias?", groups=Int(name="num_groups"), epsilon=_EPSILON
    ),
    "aten.instance_norm.default": row(
        _instance_norm, _OF_BATCH, epsilon=_EPSILON, own=Flag(True, name="use_input_stats")
    ),
    "aten.layer_norm.default": row(_layer_norm, "input weight? bias?", row=_ROW, epsilon=_EPSILON),
    "aten.linalg_vector_norm.default": _norm("ord"),
    "aten.native_group_norm.default": row(
        _group_norm_in_parts,
        "input weight? bias?",
        unread=dict.fromkeys(("N", "C", "HxW"), "the shape of the input says it"),
        groups=Int(name="group"),
        epsilon=_EPSILON,
    ),
    "aten.native_layer_norm.default": row(_layer_norm_in_parts, "input weight? bias?", row=_ROW, epsilon=_EPSILON),
    "aten.norm.Scalar": _norm("p"),
    "aten.norm.ScalarOpt_dim": _norm("p"),
    "aten.norm.ScalarOpt_dim_dtype": _norm("p"),
    "aten.rms_norm.default": row(_rms_norm, "input weight?", row=_ROW, epsilon=Float(None, name="eps")),
}
