"""Dropout and noise: data pass through, but in calls with `training=True`, each of which draws others.

Other layers that compute something else in training are refused in such calls.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from xdsl.ir import SSAValue

from ..importing.terms import Term
from ..meanings import draws
from .context import Config, Context
from .masks import KEPT
from .nests import entries_of, items_of, whole
from .rows import OF_TRAINING, Row

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


def _noise_shape(ctx: Context, data: Term) -> tuple[int, ...]:
    """The shape of the mask: `noise_shape`, where None is the extent of the data."""
    extents = items_of(ctx.option("noise_shape"))
    if extents is None:
        return data.shape
    if len(extents) != len(data.shape) or any(extent is not None and whole(extent) is None for extent in extents):
        ctx.fail(f"a noise shape of {len(data.shape)} extents", repr(extents))
    return tuple(own if extent is None else whole(extent) or 1 for own, extent in zip(data.shape, extents, strict=True))


def _dropout(ctx: Context, data: Term) -> Term:
    return draws.dropout(data, _rate(ctx), _noise_shape(ctx, data), _seed(ctx))[0]


def _spatial(ctx: Context, data: Term) -> Term:
    channels = draws.of_channels(data.shape, 1 if ctx.channels_first() else -1)
    return draws.dropout(data, _rate(ctx), channels, _seed(ctx))[0]


def _alpha(ctx: Context, data: Term) -> Term:
    return draws.alpha_dropout(data, _rate(ctx), _noise_shape(ctx, data), _seed(ctx))


def _normal(ctx: Context, data: Term) -> Term:
    return draws.normal(ctx, data.shape, data.dtype, _seed(ctx))


def _noise(ctx: Context, data: Term) -> Term:
    return data + _normal(ctx, data) * ctx.float("stddev")


def _gaussian_dropout(ctx: Context, data: Term) -> Term:
    rate = _rate(ctx)
    if rate >= 1:
        ctx.fail("a rate below 1", str(rate))
    return data * (_normal(ctx, data) * sqrt(rate / (1 - rate)) + 1.0)


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
