"""Normalisations: by statistics of batches, rows, groups and images, or by those at hand; local ones, and by a norm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np

from ...dialects.relay.normalization import BatchNormOp, LayerNormOp, LRNOp
from ...dialects.relay.norms import GroupNormOp, InstanceNormOp, RMSNormOp
from ...dialects.relay.reduce import VarianceOp
from ...dialects.relay.transform import BroadcastToOp
from ...dialects.sizes import broadcast_sizes, same
from ..importing.terms import Term, along_rows, maximum, ones, sqrt, wide
from .reductions import norm


def wider(a: np.dtype[np.generic], b: np.dtype[np.generic]) -> np.dtype[np.generic]:
    if a == b:
        return a
    # float16 and bfloat16 meet in float32.
    return np.dtype(np.float32) if a.itemsize == b.itemsize else max(a, b, key=lambda dtype: dtype.itemsize)


def widest(*terms: Term) -> np.dtype[np.generic]:
    return reduce(wider, (x.dtype for x in terms))


def moments(x: Term, axes: Sequence[int]) -> tuple[Term, Term]:
    """Mean and variance over axes, which stay as axes of 1."""
    mean = x.mean(*axes)
    return mean, x.apply(VarianceOp, mean, axis=axes, keepdims=True)


def inverse_deviation(variance: Term, epsilon: float) -> Term:
    return 1.0 / sqrt(variance + epsilon)


def affine(x: Term, gamma: Term | None, beta: Term | None) -> Term:
    """x gamma + beta, each as far as it is there."""
    x = x if gamma is None else x * gamma
    return x if beta is None else x + beta


def standardised(x: Term, mean: Term, variance: Term, epsilon: float) -> Term:
    return (x - mean) / sqrt(variance + epsilon)


def batch_norm(
    x: Term, gamma: Term | None, beta: Term | None, mean: Term, variance: Term, epsilon: float, axis: int = 1
) -> Term:
    """nn.batch_norm by statistics at hand: in the widest dtype of all, and rounded to that of x."""
    weights = [mean if weight is None else weight for weight in (gamma, beta, mean, variance)]
    data, *operands = (weight.to(widest(x, *weights)) for weight in (x, *weights))
    scale, center = gamma is not None, beta is not None
    return data.apply(BatchNormOp, *operands, axis=axis, epsilon=epsilon, scale=scale, center=center).to(x.dtype)


def batch_norm_by_own(
    x: Term, gamma: Term | None, beta: Term | None, epsilon: float, axis: int = 1
) -> tuple[Term, Term, Term]:
    """The data by their own mean and variance along an axis, and these as vectors."""
    rank, channels = len(x.shape), x.shape[axis]
    mean, variance = moments(x, [at for at in range(rank) if at != axis])
    position = [channels if at == axis else 1 for at in range(rank)]
    weights = (None if weight is None else weight.to(x.dtype).reshape(*position) for weight in (gamma, beta))
    result = affine(standardised(x, mean, variance, epsilon), *weights)
    return result, mean.reshape(channels), variance.reshape(channels)


def _differs_by_row(value: Term, row: tuple[int, ...]) -> bool:
    """Return whether a scale or bias has axes before those that are normalised."""
    return len(value.shape) > len(row) and any(not same(extent, 1) for extent in value.shape[: -len(row)])


def _check_broadcast(value: Term | None, shape: tuple[int, ...]) -> None:
    """Complain of a scale or bias that does not broadcast to the data."""
    if value is not None and broadcast_sizes(value.shape, shape) != shape:
        value.ctx.fail(f"a scale and bias that broadcast to {list(shape)}", f"shape {list(value.shape)}")


def _vector(value: Term, row: tuple[int, ...]) -> Term:
    """A scale or bias that broadcasts to the normalised axes, as a vector."""
    if len(value.shape) > len(row):
        value = value.reshape(*value.shape[-len(row) :])
    if value.shape != row:
        value = value.apply(BroadcastToOp, shape=row)
    return value.reshape(prod(row))


def layer_norm(x: Term, gamma: Term | None, beta: Term | None, axes: Sequence[int], epsilon: float) -> Term:
    """nn.layer_norm along axes, in order, as if they were one.

    gamma, beta: what broadcasts to these axes. One that differs between rows comes after, and is never rounded for.
    """
    row = tuple(x.shape[axis] for axis in axes)
    if any(weight is not None and _differs_by_row(weight, row) for weight in (gamma, beta)):
        for weight in (gamma, beta):
            _check_broadcast(weight, x.shape)
        data = wide(x)
        after = (None if weight is None else weight.to(data.dtype) for weight in (gamma, beta))
        return affine(layer_norm(data, None, None, axes, epsilon), *after).to(x.dtype)
    scale = ones(x.ctx, prod(row), x.dtype) if gamma is None else _vector(gamma.to(x.dtype), row)
    shift = scale if beta is None else _vector(beta.to(x.dtype), row)
    return along_rows(
        lambda rows: rows.apply(LayerNormOp, scale, shift, epsilon=epsilon, center=beta is not None), x, axes
    )


def rms_norm(x: Term, scale: Term | None, axes: Sequence[int], epsilon: float) -> Term:
    """nn.rms_norm along axes as if they were one: in the wider dtype of x and scale, and rounded to that of the scale.

    scale: as those of `layer_norm`; without one, ones of the dtype of x.
    """
    row = tuple(x.shape[axis] for axis in axes)
    if scale is None:
        scale = ones(x.ctx, prod(row), x.dtype).reshape(*row)
    common = wider(x.dtype, scale.dtype)
    if _differs_by_row(scale, row):
        _check_broadcast(scale, x.shape)
        common = np.dtype(np.float32) if common.itemsize < 4 else common
        return (rms_norm(x.to(common), None, axes, epsilon) * scale.to(common)).to(scale.dtype)
    weight = _vector(scale.to(common), row)
    return along_rows(lambda rows: rows.apply(RMSNormOp, weight, epsilon=epsilon), x.to(common), axes).to(scale.dtype)


def _as_image(x: Term) -> Term:
    """Data (n, c, ..); those of two axes with a third one of extent 1."""
    shape = x.shape
    if len(shape) < 2:
        x.ctx.fail("data of at least 2 dimensions", f"shape {list(shape)}")
    return x if len(shape) > 2 else x.reshape(*shape, 1)


def group_norm(x: Term, gamma: Term | None, beta: Term | None, groups: int, epsilon: float, axis: int = 1) -> Term:
    """nn.group_norm of data (n, ..) with channels along an axis; gamma and beta are vectors of these."""
    image = _as_image(x) if axis == 1 else x
    channels = x.shape[axis]
    if groups < 1 or channels % groups:
        x.ctx.fail(f"groups that divide {channels} channels", str(groups))
    weights, stated = _of_channels(x, channels, gamma, beta)
    return image.apply(GroupNormOp, *weights, axis=axis, num_groups=groups, epsilon=epsilon, **stated).reshape(*x.shape)


def instance_norm(x: Term, gamma: Term | None, beta: Term | None, epsilon: float) -> Term:
    """nn.instance_norm of data (n, c, ..); gamma and beta are vectors of channels."""
    image = _as_image(x)
    weights, stated = _of_channels(x, x.shape[1], gamma, beta)
    return image.apply(InstanceNormOp, *weights, epsilon=epsilon, **stated).reshape(*x.shape)


def _of_channels(
    x: Term, channels: int, gamma: Term | None, beta: Term | None
) -> tuple[tuple[Term, Term], dict[str, bool]]:
    """Scale and shift as operands, of which those that are left out are ones, and whether they are stated."""
    scale = ones(x.ctx, channels, x.dtype) if gamma is None else gamma.to(x.dtype)
    shift = scale if beta is None else beta.to(x.dtype)
    return (scale, shift), {"scale": gamma is not None, "center": beta is not None}


def local_response_norm(x: Term, radius: int, bias: float, alpha: float, beta: float) -> Term:
    """nn.lrn along the last axis; alpha is not divided by the number of channels that a window has."""
    size = 2 * radius + 1
    return x.apply(LRNOp, size=size, axis=len(x.shape) - 1, bias=bias, alpha=alpha * size, beta=beta)


def unit_norm(x: Term, axes: Sequence[int], least: float, p: float = 2.0) -> Term:
    """Divided by the p-norm over axes, or by `least` where that is larger."""
    return x / maximum(norm(x, p, axes, keepdims=True), least)
