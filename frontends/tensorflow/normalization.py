"""Normalisations over batches, windows of channels, and vectors."""

from __future__ import annotations

from math import prod

from ...dialects.relay.reduce import MeanOp, VarianceOp
from ..importing.attributes import Flag, Float, Int, Word
from ..importing.rows import row
from ..importing.terms import Term, term
from ..meanings import norms
from .context import Context


def _fused_batch_norm(
    ctx: Context, x: Term, gamma: Term, beta: Term, layout: str, epsilon: float, factor: float, training: bool
) -> tuple[Term, ...]:
    """By statistics, or while training by the data's own, which it gives, too."""
    channel = 1 if layout.startswith("NC") else len(x.shape) - 1
    if training:
        data = x.to(gamma.dtype)
        mean, whole = (data.apply(MeanOp, axis=(channel,), keepdims=kept, exclude=True) for kept in (False, True))
        variance = data.apply(VarianceOp, whole, axis=(channel,), keepdims=False, exclude=True)
        count = prod(extent for axis, extent in enumerate(x.shape) if axis != channel)
        statistics = mean, (variance * (count / max(count - 1, 1)) if ctx.node.outputs > 2 else variance)
    else:
        statistics = mean, variance = term(ctx, 3), term(ctx, 4)
    if training and factor != 1.0:
        pairs = zip(statistics, (term(ctx, 3), term(ctx, 4)), strict=True)
        first, second = (statistic * factor + old * (1.0 - factor) for statistic, old in pairs)
        statistics = first, second
    result = norms.batch_norm(x, gamma, beta, mean, variance, epsilon, channel)
    return result, *statistics, mean, variance, mean


def _global_batch_norm(
    x: Term, mean: Term, variance: Term, beta: Term, gamma: Term, epsilon: float, scaled: bool
) -> Term:
    return norms.batch_norm(x, gamma if scaled else None, beta, mean, variance, epsilon, len(x.shape) - 1)


_fused = row(
    _fused_batch_norm,
    "x scale offset",
    unread=dict.fromkeys(("mean", "variance"), "of other batches, while those of this one are computed"),
    layout=Word("NHWC", name="data_format"),
    epsilon=Float(1e-4),
    factor=Float(1.0, name="exponential_avg_factor"),
    training=Flag(True, name="is_training"),
)

TABLE = {
    "BatchNormWithGlobalNormalization": row(
        _global_batch_norm,
        "t m v beta gamma",
        epsilon=Float(1e-3, name="variance_epsilon"),
        scaled=Flag(False, name="scale_after_normalization"),
    ),
    "FusedBatchNorm": _fused,
    "FusedBatchNormV2": _fused,
    "FusedBatchNormV3": _fused,
    "LRN": row(
        norms.local_response_norm,
        "input",
        radius=Int(5, name="depth_radius", least=0),
        bias=Float(1.0),
        alpha=Float(1.0),
        beta=Float(0.5),
    ),
}
