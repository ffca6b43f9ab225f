"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.normalization import BatchNormOp, LayerNormOp
from ...dialects.relay.norms import GroupNormOp, RMSNormOp
from ...dialects.relay.reduce import VarianceOp
from ...dialects.relay.transform import TransposeOp
from ..importing.terms import Term, maximum
from ..importing.terms import sqrt as root
from .context import Config, Context
from .masks import KEPT
from .nests import whole, wholes
from .rows import Row, own
from .weights import Variables


def _wide(ctx: Context, value: SSAValue) -> Term:
    """Half precision as float32: normalisations are computed in it."""
    x = Term(ctx, value)
    return x.to("float32") if x.dtype.itemsize < 4 else x


def _wide_weight(ctx: Context, name: str, shape: Sequence[int], like: Term, default: float = 0.0) -> Term:
    """A weight in a term's dtype; `default` where the layer has none."""
    if not ctx.has_weight(name):
        return Term(ctx, ctx.constant(np.full(tuple(shape), default, like.dtype), f"{name}s"))
    return Term(ctx, super(Context, ctx).value(ctx.weight_place(name, shape))).to(like.dtype)


def axes_of(ctx: Context, rank: int, default: int = -1) -> tuple[int, ...]:
    """The axes that `axis` names, in order."""
    option = ctx.option("axis", default)
    axes = [number] if (number := whole(option)) is not None else wholes(option)
    if not axes:
        ctx.fail("an axis, or a list of them", repr(option))
    return tuple(sorted(ctx.axis(axis, rank) for axis in axes))


def batch_norm(ctx: Context) -> SSAValue:
    """nn.batch_norm by the moving statistics."""
    x = _wide(ctx, ctx.data())
    axes = axes_of(ctx, len(x.shape))
    if len(axes) != 1:
        ctx.fail("one axis", str(list(axes)))
    shape = (x.shape[axes[0]],)
    gamma, beta = _wide_weight(ctx, "gamma", shape, x, 1.0), _wide_weight(ctx, "beta", shape, x)
    mean, variance = _wide_weight(ctx, "moving_mean", shape, x), _wide_weight(ctx, "moving_variance", shape, x)
    operands = [term.value for term in (x, gamma, beta, mean, variance)]
    result = ctx.emit(BatchNormOp, *operands, axis=axes[0], epsilon=ctx.float("epsilon", 1e-3))
    return Term(ctx, result).to(ctx.dtype_name).value


def _rows(ctx: Context, x: Term, axes: tuple[int, ...]) -> tuple[Term, tuple[int, ...]]:
    """The data with the normalised axes last, as one; and the order that they were brought in."""
    rank = len(x.shape)
    order = (*(at for at in range(rank) if at not in axes), *axes)
    moved = x if order == tuple(range(rank)) else x.apply(TransposeOp, axes=order)
    kept = moved.shape[: rank - len(axes)]
    return moved.reshape(*kept, prod(x.shape[axis] for axis in axes)), order


def _back(x: Term, shape: Sequence[int], order: tuple[int, ...]) -> Term:
    whole = x.reshape(*(shape[at] for at in order))
    back = tuple(order.index(at) for at in range(len(order)))
    return whole if back == order == tuple(range(len(order))) else whole.apply(TransposeOp, axes=back)


def layer_norm(ctx: Context) -> SSAValue:
    """nn.layer_norm of the normalised axes as one; with `rms_scaling` nn.rms_norm by the variance."""
    x = _wide(ctx, ctx.data())
    axes = axes_of(ctx, len(x.shape))
    row = tuple(x.shape[axis] for axis in axes)
    epsilon = ctx.float("epsilon", 1e-3)
    gamma = _wide_weight(ctx, "gamma", row, x, 1.0).reshape(prod(row))
    flat, order = _rows(ctx, x, axes)
    if ctx.flag("rms_scaling", False):
        last = len(flat.shape) - 1
        variance = flat.apply(VarianceOp, flat.mean(last), axis=(last,), keepdims=True)
        result = flat / root(variance + epsilon) * gamma
    else:
        beta = _wide_weight(ctx, "beta", row, x).reshape(prod(row))
        result = flat.apply(LayerNormOp, gamma, beta, epsilon=epsilon)
    return _back(result, x.shape, order).to(ctx.dtype_name).value


def rms_norm(ctx: Context) -> SSAValue:
    x = _wide(ctx, ctx.data())
    axes = axes_of(ctx, len(x.shape))
    row = tuple(x.shape[axis] for axis in axes)
    scale = _wide_weight(ctx, "scale", row, x).reshape(prod(row))
    flat, order = _rows(ctx, x, axes)
    result = flat.apply(RMSNormOp, scale, epsilon=ctx.float("epsilon", 1e-6))
    return _back(result, x.shape, order).to(ctx.dtype_name).value


def group_norm(ctx: Context) -> SSAValue:
    """nn.group_norm; -1 groups are as many as channels."""
    x = _wide(ctx, ctx.data())
    (axis,) = axes_of(ctx, len(x.shape))
    channels, groups = x.shape[axis], ctx.int("groups", 32)
    groups = channels if groups == -1 else groups
    if groups < 1 or channels % groups:
        ctx.fail(f"groups that divide {channels} channels", str(groups))
    gamma, beta = _wide_weight(ctx, "gamma", (channels,), x, 1.0), _wide_weight(ctx, "beta", (channels,), x)
    epsilon = ctx.float("epsilon", 1e-3)
    result = x.apply(GroupNormOp, gamma, beta, axis=axis, num_groups=groups, epsilon=epsilon)
    return result.to(ctx.dtype_name).value


def unit_norm(ctx: Context) -> SSAValue:
    """Divided by the norm along axes."""
    x = _wide(ctx, ctx.data())
    squares = (x * x).sum(*axes_of(ctx, len(x.shape)))
    return (x / maximum(root(squares), 1e-12)).to(ctx.dtype_name).value


def normalization(ctx: Context) -> SSAValue:
    """Less the mean, divided by the deviation: weights that were adapted to data, or numbers of the configuration."""
    x = Term(ctx, ctx.data())
    if x.dtype.kind != "f":
        x = x.to(ctx.dtype_name)
    axis_option = ctx.option("axis", -1)
    axes = (
        []
        if axis_option is None
        else sorted(ctx.axis(axis, len(x.shape)) for axis in np.atleast_1d(axis_option).tolist())
    )
    broadcast = tuple(x.shape[at] if at in axes else 1 for at in range(len(x.shape)))
    if ctx.option("mean") is not None:
        shape = tuple(x.shape[at] for at in axes)
        mean, variance = (
            np.broadcast_to(np.asarray(ctx.option(name), np.float64), shape).reshape(broadcast).astype(x.dtype)
            for name in ("mean", "variance")
        )
        steps = [Term(ctx, ctx.constant(array, "statistics")) for array in (mean, np.sqrt(variance))]
    else:
        shape = tuple(x.shape[at] for at in axes)
        mean, variance = (ctx.numbers(name, shape).reshape(broadcast) for name in ("mean", "variance"))
        steps = [Term(ctx, ctx.of_weight(*row)) for row in (("mean", mean), ("variance", np.sqrt(variance)))]
    if ctx.flag("invert", False):
        return (x * maximum(steps[1], 1e-7) + steps[0]).value
    return ((x - steps[0]) / maximum(steps[1], 1e-7)).value


def _statistics(config: Config) -> tuple[Variables, ...]:
    return (Variables(("mean", "variance", "count")),) if config.get("mean") is None else ()


def _of_layer_norm(config: Config) -> tuple[Variables, ...]:
    rms = bool(config.get("rms_scaling", False))
    names = {"gamma": config.get("scale", True) or rms, "beta": config.get("center", True) and not rms}
    return (Variables(tuple(name for name, kept in names.items() if kept)),)


_AFFINE = ("gamma?scale", "beta?center")
TABLE = {
    "BatchNormalization": Row(batch_norm, own(*_AFFINE, "moving_mean", "moving_variance"), KEPT),
    "GroupNormalization": Row(group_norm, own(*_AFFINE), KEPT),
    "LayerNormalization": Row(layer_norm, _of_layer_norm, KEPT),
    "Normalization": Row(normalization, _statistics, KEPT),
    "RMSNormalization": Row(rms_norm, own("scale")),
    "UnitNormalization": Row(unit_norm, masks=KEPT),
}
