"""Normalisations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import SSAValue

from ..importing.terms import Term, maximum, sqrt, wide
from ..meanings import norms
from .context import Config, Context
from .masks import KEPT, UNMASKED, Masks
from .nests import whole, wholes
from .rows import Row, own
from .weights import Variables


def _weight(ctx: Context, name: str, shape: Sequence[int]) -> Term:
    """A weight in its own dtype."""
    return Term(ctx, super(Context, ctx).value(ctx.weight_place(name, shape)))


def _weight_or_none(ctx: Context, name: str, shape: Sequence[int]) -> Term | None:
    return _weight(ctx, name, shape) if ctx.has_weight(name) else None


def axes_of(ctx: Context, rank: int, default: int = -1) -> tuple[int, ...]:
    """The axes that `axis` names, in order."""
    option = ctx.option("axis", default)
    axes = [number] if (number := whole(option)) is not None else wholes(option)
    if not axes:
        ctx.fail("an axis, or a list of them", repr(option))
    return tuple(sorted(ctx.axis(axis, rank) for axis in axes))


def _axis(ctx: Context, rank: int) -> int:
    axes = axes_of(ctx, rank)
    if len(axes) != 1:
        ctx.fail("one axis", str(list(axes)))
    return axes[0]


def _batch_norm(ctx: Context, x: Term) -> Term:
    """By the moving statistics."""
    axis = _axis(ctx, len(x.shape))
    shape = (x.shape[axis],)
    gamma, beta = (_weight_or_none(ctx, name, shape) for name in ("gamma", "beta"))
    mean, variance = (_weight(ctx, name, shape) for name in ("moving_mean", "moving_variance"))
    return norms.batch_norm(x, gamma, beta, mean, variance, ctx.float("epsilon", 1e-3), axis)


def scaled_norm(
    x: Term, gamma: Term | None, beta: Term | None, axes: Sequence[int], epsilon: float, by_deviation: bool
) -> Term:
    """The norm of a layer; `by_deviation` (`rms_scaling`) divides by the deviation, less nothing, and adds nothing."""
    if not by_deviation:
        return norms.layer_norm(x, gamma, beta, axes, epsilon)
    shape = [extent if at in axes else 1 for at, extent in enumerate(x.shape)]
    scale = None if gamma is None else gamma.to(x.dtype).reshape(*shape)
    return norms.affine(x / sqrt(norms.moments(x, axes)[1] + epsilon), scale, None)


def _layer_norm(ctx: Context, x: Term) -> Term:
    axes = axes_of(ctx, len(x.shape))
    gamma, beta = (_weight_or_none(ctx, name, [x.shape[axis] for axis in axes]) for name in ("gamma", "beta"))
    return scaled_norm(x, gamma, beta, axes, ctx.float("epsilon", 1e-3), ctx.flag("rms_scaling", False))


def _rms_norm(ctx: Context, x: Term) -> Term:
    axes = axes_of(ctx, len(x.shape))
    scale = _weight(ctx, "scale", [x.shape[axis] for axis in axes])
    return norms.rms_norm(x, scale, axes, ctx.float("epsilon", 1e-6))


def _group_norm(ctx: Context, x: Term) -> Term:
    """-1 groups are as many as channels."""
    axis, groups = _axis(ctx, len(x.shape)), ctx.int("groups", 32)
    gamma, beta = (_weight_or_none(ctx, name, (x.shape[axis],)) for name in ("gamma", "beta"))
    groups = x.shape[axis] if groups == -1 else groups
    return norms.group_norm(x, gamma, beta, groups, ctx.float("epsilon", 1e-3), axis)


def _unit_norm(ctx: Context, x: Term) -> Term:
    return norms.unit_norm(x, axes_of(ctx, len(x.shape)), 1e-12)


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


def _row(
    function: Callable[[Context, Term], Term],
    variables: Callable[[Config], Sequence[Variables]] = own(),
    masks: Masks = KEPT,
) -> Row:
    """A layer that computes in no less than float32."""
    return Row(lambda ctx: function(ctx, wide(Term(ctx, ctx.data()))).to(ctx.dtype_name).value, variables, masks)


_AFFINE = ("gamma?scale", "beta?center")
TABLE = {
    "BatchNormalization": _row(_batch_norm, own(*_AFFINE, "moving_mean", "moving_variance")),
    "GroupNormalization": _row(_group_norm, own(*_AFFINE)),
    "LayerNormalization": _row(_layer_norm, _of_layer_norm),
    "Normalization": Row(normalization, _statistics, KEPT),
    "RMSNormalization": _row(_rms_norm, own("scale"), UNMASKED),
    "UnitNormalization": _row(_unit_norm),
}
