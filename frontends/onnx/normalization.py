"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto

from ...dialects.relay.nn import LRNOp
from ...dialects.relay.transform import BroadcastToOp
from ..importing.attributes import Flag, Float, Int, Ints
from ..importing.rows import row
from ..importing.terms import Term, absolute, axis_of, once, sqrt, where, wide
from ..meanings import norms
from .context import Context

_STASHED: dict[int, str] = {TensorProto.FLOAT: "float32", TensorProto.BFLOAT16: "bfloat16"}


def _batch_norm(
    ctx: Context, x: Term, *weights: Term, epsilon: float, momentum: float, training: bool
) -> Term | tuple[Term, ...]:
    """By the running statistics, or in training by the data's own.

    weights: scale, bias, mean and variance. Training moves the last two; before opset 14 it gives the own ones, too.
    """
    data, gamma, beta, *running = (weight.to(norms.widest(x, *weights)) for weight in (x, *weights))
    if training or (ctx.opset < 14 and any(ctx.node.output[1:])):
        result, *own = norms.batch_norm_by_own(data, gamma, beta, epsilon)
        moved = [old * momentum + new * (1 - momentum) for old, new in zip(running, own, strict=True)]
        statistics = [*moved, *own] if ctx.opset < 14 else moved
        return result.to(x.dtype), *(statistic.to(weights[2].dtype) for statistic in statistics)
    if ctx.int("spatial", 1):
        return norms.batch_norm(x, *weights, epsilon=epsilon)
    return norms.affine(norms.standardised(data, *running, epsilon=epsilon), gamma, beta).to(x.dtype)


def _axes_from(x: Term, axis: int) -> range:
    return range(axis_of(x, axis), len(x.shape))


def _stash(ctx: Context, number: int) -> str:
    if number not in _STASHED:
        ctx.fail("stash_type 1 (float32) or 16 (bfloat16)", str(number))
    return _STASHED[number]


def _statistics(x: Term, axes: Sequence[int], epsilon: float, dtype: str = "float32") -> tuple[Term, Term]:
    """Mean and inverse deviation over axes, which stay as axes of 1."""
    mean, variance = norms.moments(wide(x), axes)
    return mean.to(dtype), norms.inverse_deviation(variance, epsilon).to(dtype)


def _results(ctx: Context, *results: Term | None) -> tuple[Term, ...]:
    """The results that the node names; those not computed, which nobody reads, are the first."""
    first = results[0]
    assert first is not None
    return tuple(result or first for result in results[: len(ctx.node.output)])


def _wants(ctx: Context, *indices: int) -> bool:
    """Return whether any of these outputs is read."""
    return any(index < len(ctx.node.output) and ctx.node.output[index] for index in indices)


def _layer_norm(
    ctx: Context, x: Term, scale: Term, bias: Term | None, axis: int, epsilon: float, stash_type: int
) -> tuple[Term, ...]:
    """nn.layer_norm; mean and inverse deviation where they are wanted."""
    axes, stash = _axes_from(x, axis), _stash(ctx, stash_type)
    result = norms.layer_norm(x, scale, bias, axes, epsilon)
    statistics = _statistics(x, axes, epsilon, stash) if _wants(ctx, 1, 2) else (None, None)
    return _results(ctx, result, *statistics)


def _inverse_root(x: Term, axes: Sequence[int], epsilon: float) -> Term:
    data = wide(x)
    return norms.inverse_deviation((data * data).mean(*axes), epsilon).to("float32")


def _rms_norm(ctx: Context, x: Term, scale: Term, axis: int, epsilon: float, stash_type: int) -> tuple[Term, ...]:
    """nn.rms_norm; the inverse root, an output of SimplifiedLayerNormalization, where it is wanted."""
    axes = _axes_from(x, axis)
    _stash(ctx, stash_type)
    inverse = _inverse_root(x, axes, epsilon) if _wants(ctx, 1) else None
    return _results(ctx, norms.rms_norm(x, scale, axes, epsilon), inverse)


def _skip_layer_norm(
    ctx: Context, x: Term, skip: Term, gamma: Term, beta: Term | None, bias: Term | None, epsilon: float
) -> tuple[Term, ...]:
    """The sum of input, skip and bias, normalised; its statistics and itself are the other outputs."""
    total = norms.affine(x + skip, None, bias)
    axes = _axes_from(total, -1)
    result = norms.layer_norm(total, gamma, beta, axes, epsilon)
    statistics = _statistics(total, axes, epsilon) if _wants(ctx, 1, 2) else (None, None)
    return _results(ctx, result, *statistics, total)


def _skip_rms_norm(
    ctx: Context, x: Term, skip: Term, gamma: Term, bias: Term | None, epsilon: float
) -> tuple[Term, ...]:
    total = norms.affine(x + skip, None, bias)
    axes = _axes_from(total, -1)
    inverse = _inverse_root(total, axes, epsilon) if _wants(ctx, 1, 2) else None
    return _results(ctx, norms.rms_norm(total, gamma, axes, epsilon), inverse, inverse, total)


def _group_norm(ctx: Context, x: Term, scale: Term, bias: Term, groups: int, epsilon: float) -> Term:
    """nn.group_norm; before opset 21 scale and bias are those of a group."""
    channels = x.shape[1] if len(x.shape) > 1 else 1

    def of_channels(weight: Term) -> Term:
        if ctx.opset >= 21 or weight.shape == (channels,) or groups < 1 or channels % groups:
            return weight
        every = (groups, channels // groups)
        return weight.reshape(groups, 1).apply(BroadcastToOp, shape=every).reshape(channels)

    return norms.group_norm(x, of_channels(scale), of_channels(bias), groups, epsilon)


@once
def _lp_normalization(x: Term, axis: int, p: int) -> Term:
    """Divided by the norm along an axis; where that is 0, the elements are 0, too."""
    match p:
        case 1:
            norm = absolute(x).sum(axis)
        case 2:
            norm = sqrt((x * x).sum(axis))
        case other:
            x.ctx.fail("p of 1 or 2", str(other))
    return x / where(norm.equal(0.0), 1.0, norm)


@once
def _mean_variance_normalization(x: Term, axes: Sequence[int]) -> Term:
    mean, variance = norms.moments(x, axes or (0, 2, 3))
    return (x - mean) / (sqrt(variance) + 1e-9)


_EPSILON = Float(1e-5)
_OF_SUMS = Float(1e-12)
_rms_row = row(_rms_norm, "X scale", axis=Int(-1), epsilon=_EPSILON, stash_type=Int(TensorProto.FLOAT))

TABLE = {
    "BatchNormalization": row(
        _batch_norm,
        "X scale B input_mean input_var",
        unread={"is_test": "checked with the opset, before anything is converted"},
        epsilon=_EPSILON,
        momentum=Float(0.9),
        training=Flag(False, name="training_mode", others=False),
    ),
    "GroupNormalization": row(_group_norm, "X scale bias", groups=Int(name="num_groups"), epsilon=_EPSILON),
    "InstanceNormalization": row(norms.instance_norm, "input scale B", epsilon=_EPSILON),
    "LRN": row(LRNOp, "X", size=Int(least=1), bias=Float(1.0), alpha=Float(1e-4), beta=Float(0.75)),
    "LayerNormalization": row(
        _layer_norm, "X Scale B?", axis=Int(-1), epsilon=_EPSILON, stash_type=Int(TensorProto.FLOAT)
    ),
    "LpNormalization": row(_lp_normalization, "input", axis=Int(-1), p=Int(2)),
    "MeanVarianceNormalization": row(_mean_variance_normalization, "X", axes=Ints((0, 2, 3))),
    "RMSNormalization": _rms_row,
    "SimplifiedLayerNormalization": _rms_row,
}

MICROSOFT = {
    "SimplifiedLayerNormalization": _rms_row,
    "SkipLayerNormalization": row(_skip_layer_norm, "input skip gamma beta? bias?", epsilon=_OF_SUMS),
    "SkipSimplifiedLayerNormalization": row(_skip_rms_norm, "input skip gamma bias?", epsilon=_OF_SUMS),
}
