"""Normalisations of rows and of images, as frontends share them."""

from __future__ import annotations

from math import prod

import numpy as np

from ...dialects.relay.nn import LayerNormOp
from ...dialects.relay.norms import RMSNormOp
from ...dialects.relay.transform import BroadcastToOp
from ...dialects.sizes import broadcast_sizes, proves, same
from .context import Context
from .terms import Term, ones


def wider(a: np.dtype[np.generic], b: np.dtype[np.generic]) -> np.dtype[np.generic]:
    if a == b:
        return a
    # float16 and bfloat16 meet in float32.
    return np.dtype(np.float32) if a.itemsize == b.itemsize else max(a, b, key=lambda dtype: dtype.itemsize)


def _differs_by_row(value: Term, row: tuple[int, ...]) -> bool:
    """Return whether a scale or bias has axes before those that are normalised."""
    return len(value.shape) > len(row) and any(not same(extent, 1) for extent in value.shape[: -len(row)])


def _check_broadcast(ctx: Context, value: Term | None, shape: tuple[int, ...]) -> None:
    """Complain of a scale or bias that does not broadcast to the data."""
    if value is not None and broadcast_sizes(value.shape, shape) != shape:
        ctx.fail(f"a scale and bias that broadcast to {list(shape)}", f"shape {list(value.shape)}")


def _vector(value: Term, row: tuple[int, ...]) -> Term:
    """A scale or bias that broadcasts to the normalised axes, as a vector."""
    if len(value.shape) > len(row):
        value = value.reshape(*value.shape[-len(row) :])
    if value.shape != row:
        value = value.apply(BroadcastToOp, shape=row)
    return value.reshape(prod(row))


def layer_norm(ctx: Context, data: Term, row: tuple[int, ...], gamma: Term, beta: Term | None, epsilon: float) -> Term:
    """nn.layer_norm along the last axis; several normalised axes become one and come back.

    A scale or bias that differs between rows comes after it, and is never rounded for.
    """
    shape = data.shape
    if any(weight is not None and _differs_by_row(weight, row) for weight in (gamma, beta)):
        for weight in (gamma, beta):
            _check_broadcast(ctx, weight, shape)
        wide = data if data.dtype.itemsize >= 4 else data.to("float32")
        result = layer_norm(ctx, wide, row, ones(ctx, 1, wide.dtype), None, epsilon) * gamma.to(wide.dtype)
        return (result if beta is None else result + beta.to(wide.dtype)).to(data.dtype)
    flat = data.reshape(*shape[: len(shape) - len(row)], prod(row))
    scale = _vector(gamma, row)
    shift = scale if beta is None else _vector(beta, row)
    return flat.apply(LayerNormOp, scale, shift, epsilon=epsilon, center=beta is not None).reshape(*shape)


def rms_norm(ctx: Context, data: Term, row: tuple[int, ...], scale: Term, epsilon: float) -> Term:
    """nn.rms_norm; computed in the wider dtype of data and scale, and rounded to the scale's."""
    shape = data.shape
    common = wider(data.dtype, scale.dtype)
    if _differs_by_row(scale, row):
        _check_broadcast(ctx, scale, shape)
        wide = np.dtype(np.float32) if common.itemsize < 4 else common
        found = rms_norm(ctx, data.to(wide), row, ones(ctx, 1, wide), epsilon) * scale.to(wide)
        return found.to(scale.dtype)
    flat = data.to(common).reshape(*shape[: len(shape) - len(row)], prod(row))
    result = flat.apply(RMSNormOp, _vector(scale.to(common), row), epsilon=epsilon)
    return result.reshape(*shape).to(scale.dtype)


_VECTOR = 8
"""Elements that most machines' vectors hold, or fewer."""


def as_image(data: Term) -> Term:
    """Data (n, c, ..); their axes after the second as one, if they are no whole number of vectors together."""
    shape = data.shape
    if len(shape) < 2:
        data.ctx.fail("data of at least 2 dimensions", f"shape {list(shape)}")
    extent = prod(shape[2:])
    return data if proves(extent % _VECTOR, "==", 0) and len(shape) > 2 else data.reshape(*shape[:2], extent)
