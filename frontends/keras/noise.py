"""Dropout and noise: data pass through, but in calls with `training=True`, each of which draws others.

Other layers that compute something else in training are refused in such calls.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from xdsl.ir import SSAValue

from ..importing.draws import normal, number_type, uniform
from ..importing.terms import Term, where
from .context import Config, Context
from .masks import KEPT
from .nests import entries_of, items_of, whole
from .rows import OF_TRAINING, Row

_SATURATION = -1.7580993408473766
"""The value of SELU at minus infinity, which alpha dropout puts in the place of elements."""
_MODES = ("BatchNormalization", "SpectralNormalization", "StochasticDepth")
"""Layers that compute something else in training, besides those that drop or augment."""
_AUGMENTS = ("AugMix", "CutMix", "MixUp", "RandAugment", "Random")
"""The beginnings of the names of layers that augment images."""


def trains_otherwise(kind: str, config: Config) -> bool:
    """Return whether a layer, or one in it, computes something else in training than what its row computes."""
    stack: list[tuple[str, Any]] = [(kind, config)]
    while stack:
        kind, value = stack.pop()
        if (entries := entries_of(value)) is None:
            stack += [("", item) for item in items_of(value) or ()]
            continue
        kind = str(entries.get("class_name") or kind)
        inner = entries_of(entries.get("config"))
        own = entries if inner is None else inner
        if kind in _MODES and own.get("trainable", True) is not False:
            return True
        if kind.startswith(_AUGMENTS) or any(own.get(name) for name in ("dropout", "recurrent_dropout")):
            return True
        if inner is not None and kind in TABLE:
            return True
        stack += [("", item) for item in entries.values() if entries_of(item) is not None or items_of(item) is not None]
    return False


def _rate(ctx: Context) -> float:
    rate = ctx.float("rate")
    if not 0 <= rate <= 1:
        ctx.fail("a rate from 0 to 1", str(rate))
    return rate


def _seed(ctx: Context) -> int | None:
    return whole(ctx.option("seed"))


def _kept(ctx: Context, data: Term, shape: tuple[int, ...]) -> Term:
    """Truth values of a shape: the parts that stay."""
    return uniform(ctx, shape, number_type(data.dtype), _seed(ctx)) < 1.0 - _rate(ctx)


def _noise_shape(ctx: Context, data: Term) -> tuple[int, ...]:
    """The shape of the mask: `noise_shape`, where None is the extent of the data."""
    extents = items_of(ctx.option("noise_shape"))
    if extents is None:
        return data.shape
    if len(extents) != len(data.shape) or any(extent is not None and whole(extent) is None for extent in extents):
        ctx.fail(f"a noise shape of {len(data.shape)} extents", repr(extents))
    return tuple(own if extent is None else whole(extent) or 1 for own, extent in zip(data.shape, extents, strict=True))


def _channels(ctx: Context, data: Term) -> tuple[int, ...]:
    """The shape of a mask of whole channels."""
    batch, *places = data.shape
    ones = [1] * (len(places) - 1)
    return (batch, places[0], *ones) if ctx.channels_first() else (batch, *ones, places[-1])


def _dropped(ctx: Context, data: Term, mask: Term) -> Term:
    rate = _rate(ctx)
    return where(mask, data * (1 / (1 - rate) if rate < 1 else 0.0), 0.0)


def _dropout(ctx: Context, data: Term) -> Term:
    return _dropped(ctx, data, _kept(ctx, data, _noise_shape(ctx, data)))


def _spatial(ctx: Context, data: Term) -> Term:
    return _dropped(ctx, data, _kept(ctx, data, _channels(ctx, data)))


def _alpha(ctx: Context, data: Term) -> Term:
    """The mean and variance stay those of the data."""
    rate = _rate(ctx)
    if rate >= 1:
        return data * 0.0
    factor = 1 / sqrt((1 - rate) * (1 + rate * _SATURATION**2))
    mask = _kept(ctx, data, _noise_shape(ctx, data))
    return where(mask, data * factor, _SATURATION * factor) - _SATURATION * factor * rate


def _noise(ctx: Context, data: Term) -> Term:
    drawn = normal(ctx, data.shape, number_type(data.dtype), _seed(ctx)).to(data.dtype.name)
    return data + drawn * ctx.float("stddev")


def _gaussian_dropout(ctx: Context, data: Term) -> Term:
    rate = _rate(ctx)
    if rate >= 1:
        ctx.fail("a rate below 1", str(rate))
    drawn = normal(ctx, data.shape, number_type(data.dtype), _seed(ctx)).to(data.dtype.name)
    return data * (drawn * sqrt(rate / (1 - rate)) + 1.0)


def _in_training(compute: Callable[[Context, Term], Term]) -> Row:
    def convert(ctx: Context) -> SSAValue:
        if ctx.argument(1, "training") is not True:
            return ctx.data()
        return compute(ctx, Term(ctx, ctx.data())).value

    return Row(convert, masks=KEPT, unread=OF_TRAINING)


TABLE = {
    "AlphaDropout": _in_training(_alpha),
    "Dropout": _in_training(_dropout),
    "GaussianDropout": _in_training(_gaussian_dropout),
    "GaussianNoise": _in_training(_noise),
    "SpatialDropout1D": _in_training(_spatial),
    "SpatialDropout2D": _in_training(_spatial),
    "SpatialDropout3D": _in_training(_spatial),
}
