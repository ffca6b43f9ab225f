"""Normalisations and dropout."""

from __future__ import annotations

from functools import reduce

import numpy as np
from onnx import TensorProto
from xdsl.ir import SSAValue

from ...dialects.relay.nn import BatchNormOp, DropoutOp, LRNOp
from ...dialects.relay.norms import GroupNormOp, InstanceNormOp
from ...dialects.relay.reduce import VarianceOp
from ...dialects.relay.transform import BroadcastToOp
from ...support.dtypes import Array
from ..importing import norms
from ..importing.converter import Converter, Result
from ..importing.norms import as_image, wider
from ..importing.terms import Term, absolute, constant, sqrt, term, where, wide_term
from .context import Context
from .known import filled
from .random import uniform

_STASHED: dict[int, str] = {TensorProto.FLOAT: "float32", TensorProto.BFLOAT16: "bfloat16"}


def _epsilon(ctx: Context, default: float = 1e-5) -> float:
    return ctx.float("epsilon", default)


def batch_norm(ctx: Context) -> Result | tuple[Result, ...]:
    """nn.batch_norm, of which the normalised data is taken. Dtypes that differ meet in the widest."""
    own = [ctx.dtype(index) for index in range(5)]
    widest = reduce(wider, own)
    data, gamma, beta, mean, variance = (term(ctx, index).to(widest) for index in range(5))
    older = ctx.opset < 14 and any(ctx.node.output[1:])
    if ctx.is_one("training_mode") or older:
        return _trained(ctx, data, (gamma, beta, mean, variance), own)
    if not ctx.int("spatial", 1):
        return ((data - mean) / sqrt(variance + _epsilon(ctx)) * gamma + beta).to(own[0]).value
    operands = [operand.value for operand in (data, gamma, beta, mean, variance)]
    return Term(ctx, ctx.emit(BatchNormOp, *operands, epsilon=_epsilon(ctx))).to(own[0]).value


def _trained(
    ctx: Context, data: Term, given: tuple[Term, Term, Term, Term], own: list[np.dtype[np.generic]]
) -> tuple[Result, ...]:
    """The data by their own mean and variance, and these in the running ones; before opset 14 the own ones, too."""
    gamma, beta, old_mean, old_variance = given
    rank, channels = len(data.shape), data.shape[1]
    axes = [axis for axis in range(rank) if axis != 1]
    mean = data.mean(*axes)
    variance = data.apply(VarianceOp, mean, axis=axes, keepdims=True)
    shape = (channels, *[1] * (rank - 2))
    result = (data - mean) / sqrt(variance + _epsilon(ctx)) * gamma.reshape(*shape) + beta.reshape(*shape)
    momentum = ctx.float("momentum", 0.9)
    saved = [mean.reshape(channels), variance.reshape(channels)]
    running = [old * momentum + new * (1 - momentum) for old, new in zip((old_mean, old_variance), saved, strict=True)]
    statistics = [*running, *saved] if ctx.opset < 14 else running
    return (result.to(own[0]).value, *(one.to(own[3]).value for one in statistics))


def _rows(ctx: Context, axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents before `axis` and those from it on."""
    shape = ctx.shape(0)
    if not -len(shape) <= axis < len(shape):
        ctx.fail(f"axis in [{-len(shape)}, {len(shape)})", str(axis))
    return shape[: axis % len(shape)], shape[axis % len(shape) :]


def _stash(ctx: Context) -> str:
    if (stash := ctx.int("stash_type", TensorProto.FLOAT)) not in _STASHED:
        ctx.fail("stash_type 1 (float32) or 16 (bfloat16)", str(stash))
    return _STASHED[stash]


def _statistics(data: Term, row: tuple[int, ...], epsilon: float, dtype: str) -> list[Term]:
    """Mean and inverse deviation of the last axes, which stay as axes of 1."""
    data = data if data.dtype.itemsize >= 4 else data.to("float32")
    axes = [len(data.shape) - 1 - axis for axis in reversed(range(len(row)))]
    mean = data.mean(*axes)
    variance = data.apply(VarianceOp, mean, axis=axes, keepdims=True)
    return [mean.to(dtype), (1.0 / sqrt(variance + epsilon)).to(dtype)]


def _results(ctx: Context, *results: Term | None) -> tuple[Result, ...]:
    """The results that the node names; those not computed, which nobody reads, are the first."""
    first = results[0]
    assert first is not None
    return tuple((result or first).value for result in results[: len(ctx.node.output)])


def _wants(ctx: Context, *indices: int) -> bool:
    """Return whether any of these outputs is read."""
    return any(index < len(ctx.node.output) and ctx.node.output[index] for index in indices)


def layer_norm(ctx: Context) -> tuple[Result, ...]:
    """nn.layer_norm; mean and inverse deviation where they are wanted."""
    _, row = _rows(ctx, ctx.int("axis", -1))
    data, epsilon, stash = term(ctx, 0), _epsilon(ctx), _stash(ctx)
    result = norms.layer_norm(ctx, data, row, term(ctx, 1), term(ctx, 2) if ctx.has(2) else None, epsilon)
    statistics = _statistics(data, row, epsilon, stash) if _wants(ctx, 1, 2) else [None, None]
    return _results(ctx, result, *statistics)


def _inverse_root(data: Term, row: tuple[int, ...], epsilon: float) -> Term:
    wide = data if data.dtype.itemsize >= 4 else data.to("float32")
    axes = [len(data.shape) - 1 - axis for axis in reversed(range(len(row)))]
    return (1.0 / sqrt((wide * wide).mean(*axes) + epsilon)).to("float32")


def rms_norm(ctx: Context) -> tuple[Result, ...]:
    """nn.rms_norm; the inverse root, an output of SimplifiedLayerNormalization, where it is wanted."""
    _, row = _rows(ctx, ctx.int("axis", -1))
    data, epsilon = term(ctx, 0), _epsilon(ctx)
    _stash(ctx)
    inverse = _inverse_root(data, row, epsilon) if _wants(ctx, 1) else None
    return _results(ctx, norms.rms_norm(ctx, data, row, term(ctx, 1), epsilon), inverse)


def _skipped(ctx: Context, bias: int) -> Term:
    """Input and skip, and a bias if there is one, added up."""
    total = term(ctx, 0) + term(ctx, 1)
    return total + term(ctx, bias) if ctx.has(bias) else total


def skip_layer_norm(ctx: Context) -> tuple[Result, ...]:
    """The sum of input, skip and bias, normalised; its statistics and itself are the other outputs."""
    total, epsilon = _skipped(ctx, 4), _epsilon(ctx, 1e-12)
    row = total.shape[-1:]
    result = norms.layer_norm(ctx, total, row, term(ctx, 2), term(ctx, 3) if ctx.has(3) else None, epsilon)
    statistics = _statistics(total, row, epsilon, "float32") if _wants(ctx, 1, 2) else [None, None]
    return _results(ctx, result, *statistics, total)


def skip_rms_norm(ctx: Context) -> tuple[Result, ...]:
    total, epsilon = _skipped(ctx, 3), _epsilon(ctx, 1e-12)
    row = total.shape[-1:]
    inverse = _inverse_root(total, row, epsilon) if _wants(ctx, 1, 2) else None
    return _results(ctx, norms.rms_norm(ctx, total, row, term(ctx, 2), epsilon), inverse, inverse, total)


def instance_norm(ctx: Context) -> SSAValue:
    data = as_image(term(ctx, 0))
    result = data.apply(InstanceNormOp, term(ctx, 1), term(ctx, 2), epsilon=_epsilon(ctx))
    return result.reshape(*ctx.shape(0)).value


def group_norm(ctx: Context) -> SSAValue:
    """nn.group_norm; before opset 21 scale and bias are those of a group."""
    data, groups = as_image(term(ctx, 0)), ctx.int("num_groups", 0)
    channels = data.shape[1]
    if groups < 1 or channels % groups:
        ctx.fail(f"num_groups that divide {channels} channels", str(groups))

    def of_channels(index: int) -> Term:
        given = term(ctx, index)
        if ctx.opset >= 21 or given.shape == (channels,):
            return given
        every = (groups, channels // groups)
        return given.reshape(groups, 1).apply(BroadcastToOp, shape=every).reshape(channels)

    result = data.apply(GroupNormOp, of_channels(1), of_channels(2), num_groups=groups, epsilon=_epsilon(ctx))
    return result.reshape(*ctx.shape(0)).value


def lp_normalization(ctx: Context) -> SSAValue:
    """Divided by the norm along an axis; where that is 0, the elements are 0, too."""
    x, axis = wide_term(ctx, 0), ctx.int("axis", -1)
    match ctx.int("p", 2):
        case 1:
            norm = absolute(x).sum(axis)
        case 2:
            norm = sqrt((x * x).sum(axis))
        case other:
            ctx.fail("p of 1 or 2", str(other))
    return (x / where(norm.equal(0.0), 1.0, norm)).to(ctx.dtype(0)).value


def mean_variance_normalization(ctx: Context) -> SSAValue:
    x, axes = wide_term(ctx, 0), ctx.ints("axes", None) or (0, 2, 3)
    mean = x.mean(*axes)
    deviation = sqrt(x.apply(VarianceOp, mean, axis=axes, keepdims=True))
    return ((x - mean) / (deviation + 1e-9)).to(ctx.dtype(0)).value


def lrn(ctx: Context) -> SSAValue:
    """nn.lrn; the defaults are ONNX's, not TVM's."""
    if (size := ctx.int("size", 0)) < 1:
        ctx.fail("a size of at least 1", str(size))
    return ctx.emit(
        LRNOp,
        ctx.value(0),
        size=size,
        bias=ctx.float("bias", 1.0),
        alpha=ctx.float("alpha", 1e-4),
        beta=ctx.float("beta", 0.75),
    )


def dropout(ctx: Context) -> tuple[Result, Result] | SSAValue:
    """nn.dropout, which lets the data through; in training mode a random choice of them, scaled.

    The mask, if wanted, says what was kept (all ones of the data's dtype before opset 10).
    """
    if ctx.opset < 12:
        rate, training = ctx.float("ratio", 0.5), False
    else:
        rate = ctx.single(1, "a ratio") if ctx.has(1) else 0.5
        training = ctx.has(2) and bool(ctx.single(2, "a training mode"))
    wanted = any(ctx.node.output[1:])
    if training and rate:
        return _dropped(ctx, rate)
    result = ctx.emit(DropoutOp, ctx.value(0), rate=rate)
    if not wanted:
        return result
    one = np.ones((), np.bool_ if ctx.opset >= 10 else ctx.dtype(0))
    return result, filled(ctx, one, ctx.shape(0))


def _dropped(ctx: Context, rate: float) -> tuple[Result, Result]:
    data = term(ctx, 0)
    if rate >= 1:
        gone: Array = np.zeros((), np.bool_)
        return (data * 0.0).value, filled(ctx, gone, data.shape)
    threshold = constant(ctx, np.asarray(rate, np.float32), "ratio")
    kept = threshold < uniform(ctx, data.shape)
    return where(kept, data * (1 / (1 - rate)), 0.0).value, kept.value


_IS_TEST = "checked with the opset, before anything is converted"

TABLE = {
    "BatchNormalization": Converter(batch_norm, unread={"is_test": _IS_TEST, "momentum": "of training only"}),
    "Dropout": Converter(dropout, unread={"is_test": _IS_TEST, "seed": "of training only"}),
    "GroupNormalization": Converter(group_norm),
    "InstanceNormalization": Converter(instance_norm),
    "LRN": Converter(lrn),
    "LayerNormalization": Converter(layer_norm),
    "LpNormalization": Converter(lp_normalization),
    "MeanVarianceNormalization": Converter(mean_variance_normalization),
    "RMSNormalization": Converter(rms_norm),
    "SimplifiedLayerNormalization": Converter(rms_norm),
}

MICROSOFT = {
    "SimplifiedLayerNormalization": Converter(rms_norm),
    "SkipLayerNormalization": Converter(skip_layer_norm),
    "SkipSimplifiedLayerNormalization": Converter(skip_rms_norm),
}
