"""Normalisations over batches, windows of channels, and vectors."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.nn import BatchNormOp, LRNOp
from ...dialects.relay.reduce import MeanOp, VarianceOp
from ..importing.converter import Converter, Result
from ..importing.terms import Term, term
from .context import Context


def fused_batch_norm(ctx: Context) -> tuple[Result, ...]:
    """nn.batch_norm; while training by the data's own mean and variance, which it gives, too."""
    layout = ctx.word("data_format", "NHWC")
    rank = len(ctx.shape(0))
    channel = 1 if layout.startswith("NC") else rank - 1
    own = ctx.dtype(0)
    data, gamma, beta = (term(ctx, index) for index in range(3))
    wide = gamma.dtype
    epsilon, factor = ctx.float("epsilon", 1e-4), ctx.float("exponential_avg_factor", 1.0)
    if not ctx.flag("is_training", True):
        mean, variance = term(ctx, 3), term(ctx, 4)
        statistics = mean, variance
    else:
        mean = data.to(wide).apply(MeanOp, axis=(channel,), keepdims=False, exclude=True)
        whole = data.to(wide).apply(MeanOp, axis=(channel,), keepdims=True, exclude=True)
        variance = data.to(wide).apply(VarianceOp, whole, axis=(channel,), keepdims=False, exclude=True)
        count = prod(extent for axis, extent in enumerate(data.shape) if axis != channel)
        statistics = mean, (variance * (count / max(count - 1, 1)) if ctx.node.outputs > 2 else variance)
        if factor != 1.0:
            before = term(ctx, 3), term(ctx, 4)
            pairs = zip(statistics, before, strict=True)
            first, second = (statistic * factor + old * (1.0 - factor) for statistic, old in pairs)
            statistics = first, second
    operands = [operand.value for operand in (data.to(wide), gamma, beta, mean, variance)]
    result = Term(ctx, ctx.emit(BatchNormOp, *operands, axis=channel, epsilon=epsilon)).to(own)
    return (result.value, *(statistic.value for statistic in statistics), mean.value, variance.value, mean.value)


def batch_norm_with_global_normalization(ctx: Context) -> SSAValue:
    """Inputs: images, mean, variance, beta, gamma."""
    data, mean, variance, beta, gamma = (ctx.value(index) for index in range(5))
    result = ctx.emit_all(
        BatchNormOp,
        *(data, gamma, beta, mean, variance),
        axis=len(ctx.shape(0)) - 1,
        epsilon=ctx.float("variance_epsilon", 1e-3),
        scale=ctx.flag("scale_after_normalization"),
    )
    return result[0]


def lrn(ctx: Context) -> SSAValue:
    """Over the channels; alpha is not divided by how many there are."""
    radius = ctx.int("depth_radius", 5)
    if radius < 0:
        ctx.fail("a depth_radius of at least 0", str(radius))
    size = 2 * radius + 1
    return ctx.emit(
        LRNOp,
        ctx.value(0),
        size=size,
        axis=len(ctx.shape(0)) - 1,
        bias=ctx.float("bias", 1.0),
        alpha=ctx.float("alpha", 1.0) * size,
        beta=ctx.float("beta", 0.5),
    )


_GATHERED: dict[str, str] = dict.fromkeys(
    ("mean", "variance"), "of other batches, while those of this one are computed"
)

TABLE = {
    "BatchNormWithGlobalNormalization": Converter(batch_norm_with_global_normalization),
    "FusedBatchNorm": Converter(fused_batch_norm, unread=_GATHERED),
    "FusedBatchNormV2": Converter(fused_batch_norm, unread=_GATHERED),
    "FusedBatchNormV3": Converter(fused_batch_norm, unread=_GATHERED),
    "LRN": Converter(lrn),
}
