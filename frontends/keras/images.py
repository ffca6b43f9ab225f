"""Images in another size, and their preparation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects.sizes import symbols_of
from ...support.dtypes import Array
from ..importing.attributes import Flag, Int, Ints
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.resizing import METHODS, resized_image
from ..meanings.windows import Sizes, with_batch, without_batch
from .context import Context
from .convolution import image_of, layout_of
from .masks import KEPT
from .nests import entries_of
from .reshaping import part_of
from .rows import OF_TRAINING, Row, declared


def resized(
    ctx: Context, x: Term, size: Sequence[int], interpolation: str = "bilinear", antialias: bool = False
) -> Term:
    """An image in another size, at the centres of its pixels; those outside of it weigh nothing."""
    method, layout = METHODS[interpolation], layout_of(ctx, len(size))
    return resized_image(x, size, layout, method, centred=True, inside=True, antialias=antialias)


def _up_sampling(rank: int) -> Row:
    """Each spatial axis so many times as long."""

    def upsampled(ctx: Context, x: Term, times: Sizes) -> Term:
        image, _ = image_of(ctx, x.value, rank)
        size = [extent * n for extent, n in zip(image, times, strict=True)]
        return resized(ctx, x, size, ctx.choice("interpolation", tuple(METHODS), "nearest"))

    return declared(upsampled, "inputs", times=Ints(count=rank, least=1, name="size"))


def _resizing(ctx: Context, x: Term, height: int, width: int, crops: bool, pads: bool, antialias: bool) -> Term:
    """To a height and width; what would change the ratio may be cut off first."""
    if pads:
        ctx.fail("pad_to_aspect_ratio false", "true")
    x, added = with_batch(x, 2)
    interpolation = ctx.choice("interpolation", tuple(METHODS), "bilinear")
    image, _ = image_of(ctx, x.value, 2)
    x = x.to(ctx.dtype_name)
    if crops:
        if any(map(symbols_of, image)):
            ctx.fail("an image of known size for crop_to_aspect_ratio", str(list(image)))
        inner = (
            max(min(image[0], int(float(image[1] * height) / width)), 1),
            max(min(image[1], int(float(image[0] * width) / height)), 1),
        )
        x = _middle(ctx, x, image, inner)
    return without_batch(resized(ctx, x, (height, width), interpolation, antialias), added)


def _middle(ctx: Context, x: Term, image: Sizes, size: Sizes) -> Term:
    begin = [int(float(whole - part) / 2) for whole, part in zip(image, size, strict=True)]
    return part_of(ctx, x, begin, [first + part for first, part in zip(begin, size, strict=True)])


def _center_crop(ctx: Context, x: Term, height: int, width: int) -> Term:
    """The middle of an image; one that is smaller is resized, as much of it cut off as the ratio asks for."""
    image, _ = image_of(ctx, x.value, 2)
    x = x.to(ctx.dtype_name)
    if any(map(symbols_of, image)):
        ctx.fail("an image of known size", str(list(image)))
    if image[0] >= height and image[1] >= width:
        return _middle(ctx, x, image, (height, width))
    inner = min(image[0], int(image[1] * height / width)), min(image[1], int(image[0] * width / height))
    return resized(ctx, _middle(ctx, x, image, inner), (height, width))


def _rescaling(ctx: Context, x: Term) -> Term:
    """Times a scale, plus an offset: numbers, or one for each channel."""
    x = x.to(ctx.dtype_name)
    for name, default in (("scale", 1.0), ("offset", 0.0)):
        option: Any = ctx.option(name, default)
        if (numpy := entries_of(option)) is not None:  # numbers of numpy are saved as tensors
            option = (entries_of(numpy.get("config")) or {}).get("value")
        array: Array = np.asarray(option)
        if array.dtype.kind not in "iuf":
            ctx.fail(f"numbers as '{name}'", repr(ctx.option(name)))
        factor = Term(ctx, ctx.constant(array.astype(x.dtype), name))
        x = x * factor if name == "scale" else x + factor
    return x


def _as_is(ctx: Context, x: Term) -> Term:
    return x.to(ctx.dtype_name)


_SIDE = Int(least=1)


TABLE = {
    "CenterCrop": declared(_center_crop, "inputs", height=_SIDE, width=_SIDE),
    "Rescaling": Row(row(_rescaling, "inputs").convert, masks=KEPT),
    "Resizing": Row(
        row(
            _resizing,
            "inputs",
            height=_SIDE,
            width=_SIDE,
            crops=Flag(False, name="crop_to_aspect_ratio"),
            pads=Flag(False, name="pad_to_aspect_ratio"),
            antialias=Flag(False),
        ).convert,
        unread={"fill_value": "of pad_to_aspect_ratio"},
    ),
    **{f"UpSampling{rank}D": _up_sampling(rank) for rank in (1, 2, 3)},
    **dict.fromkeys(
        (
            "RandomBrightness",
            "RandomContrast",
            "RandomFlip",
            "RandomRotation",
            "RandomTranslation",
            "RandomZoom",
            "RandomColorDegeneration",
            "RandomColorJitter",
            "RandomElasticTransform",
            "RandomErasing",
            "RandomGaussianBlur",
            "RandomGrayscale",
            "RandomHue",
            "RandomInvert",
            "RandomPerspective",
            "RandomPosterization",
            "RandomSaturation",
            "RandomSharpness",
            "RandomShear",
        ),
        Row(row(_as_is, "inputs").convert, unread=OF_TRAINING),
    ),
}
