"""Images in another size, and their preparation."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.rearrange import RepeatOp
from ...dialects.relay.resize import Resize2DOp, Upsampling3DOp, UpsamplingOp
from ...dialects.relay.transform import ExpandDimsOp, SqueezeOp, StridedSliceOp
from ...dialects.sizes import symbols_of
from ...support.dtypes import Array
from ..importing.tensor import shape_of
from ..importing.terms import Term
from .context import Context
from .convolution import image_of, layout_of
from .masks import KEPT
from .nests import entries_of
from .rows import OF_TRAINING, Row

METHODS = {"nearest": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}


def resized(
    ctx: Context, data: SSAValue, size: tuple[int, int], interpolation: str, layout: str, antialias: bool = False
) -> SSAValue:
    """image.resize2d at the centres of pixels; a nearest one is the pixel that a centre lies in."""
    return ctx.emit(
        Resize2DOp,
        data,
        size=size,
        layout=layout,
        method=METHODS[interpolation],
        coordinate_transformation_mode="half_pixel",
        rounding_method="round_prefer_ceil" if interpolation == "nearest" else "",
        cubic_alpha=-0.5,
        cubic_exclude=1,
        antialias=antialias and interpolation != "nearest",
    )


def up_sampling_1d(ctx: Context) -> SSAValue:
    data = ctx.data()
    if len(shape_of(data)) != 3:
        ctx.fail("an input of 3 dimensions", f"shape {list(shape_of(data))}")
    return ctx.emit(RepeatOp, data, repeats=ctx.ints("size", count=1, least=1)[0], axis=1)


def up_sampling_2d(ctx: Context) -> SSAValue:
    data, (height, width) = ctx.data(), ctx.ints("size", count=2, least=1)
    image, _ = image_of(ctx, data, 2)
    method = ctx.choice("interpolation", tuple(METHODS), "nearest")
    layout = layout_of(ctx, 2)
    if method == "nearest":
        return ctx.emit(UpsamplingOp, data, scale_h=float(height), scale_w=float(width), layout=layout)
    return resized(ctx, data, (image[0] * height, image[1] * width), method, layout)


def up_sampling_3d(ctx: Context) -> SSAValue:
    data, size = ctx.data(), ctx.ints("size", count=3, least=1)
    image_of(ctx, data, 3)
    scales = dict(zip(("scale_d", "scale_h", "scale_w"), map(float, size), strict=True))
    mode = "asymmetric"
    return ctx.emit(Upsampling3DOp, data, layout=layout_of(ctx, 3), coordinate_transformation_mode=mode, **scales)


def resizing(ctx: Context) -> SSAValue:
    """To a height and width; what would change the ratio may be cut off first."""
    data, size = ctx.data(), (ctx.int("height", least=1), ctx.int("width", least=1))
    if ctx.flag("pad_to_aspect_ratio", False):
        ctx.fail("pad_to_aspect_ratio false", "true")
    batched = len(shape_of(data)) == 4
    if not batched:
        data = ctx.emit(ExpandDimsOp, data, axis=0)
    method, layout = ctx.choice("interpolation", tuple(METHODS), "bilinear"), layout_of(ctx, 2)
    image, _ = image_of(ctx, data, 2)
    data = Term(ctx, data).to(ctx.dtype_name).value
    if ctx.flag("crop_to_aspect_ratio", False):
        if any(map(symbols_of, image)):
            ctx.fail("an image of known size for crop_to_aspect_ratio", str(list(image)))
        height, width = image
        inner = (
            max(min(height, int(float(width * size[0]) / size[1])), 1),
            max(min(width, int(float(height * size[1]) / size[0])), 1),
        )
        begin = [int(float(whole - part) / 2) for whole, part in zip(image, inner, strict=True)]
        data = part_of(ctx, data, begin, inner)
    result = resized(ctx, data, size, method, layout, ctx.flag("antialias", False))
    return result if batched else ctx.emit(SqueezeOp, result, axis=(0,))


def part_of(ctx: Context, data: SSAValue, begin: list[int], size: tuple[int, int]) -> SSAValue:
    first = 2 if ctx.channels_first() else 1
    end = [b + n for b, n in zip(begin, size, strict=True)]
    return ctx.emit(StridedSliceOp, data, begin=begin, end=end, strides=[1, 1], axes=[first, first + 1])


def center_crop(ctx: Context) -> SSAValue:
    """The middle of an image; one that is smaller is resized, as much of it cut off as the ratio asks for."""
    data, size = ctx.data(), (ctx.int("height", least=1), ctx.int("width", least=1))
    image, _ = image_of(ctx, data, 2)
    data = Term(ctx, data).to(ctx.dtype_name).value
    if any(map(symbols_of, image)):
        ctx.fail("an image of known size", str(list(image)))
    if all(extent >= part for extent, part in zip(image, size, strict=True)):
        begin = [int((extent - part) / 2) for extent, part in zip(image, size, strict=True)]
        return part_of(ctx, data, begin, size)
    height, width = image
    inner = (min(height, int(width * size[0] / size[1])), min(width, int(height * size[1] / size[0])))
    begin = [int(float(whole - part) / 2) for whole, part in zip(image, inner, strict=True)]
    return resized(ctx, part_of(ctx, data, begin, inner), size, "bilinear", layout_of(ctx, 2))


def rescaling(ctx: Context) -> SSAValue:
    """Times a scale, plus an offset: numbers, or one for each channel."""
    x = Term(ctx, ctx.data()).to(ctx.dtype_name)
    for name, default in (("scale", 1.0), ("offset", 0.0)):
        option: Any = ctx.option(name, default)
        if (numpy := entries_of(option)) is not None:  # numbers of numpy are saved as tensors
            option = (entries_of(numpy.get("config")) or {}).get("value")
        array: Array = np.asarray(option)
        if array.dtype.kind not in "iuf":
            ctx.fail(f"numbers as '{name}'", repr(ctx.option(name)))
        factor = Term(ctx, ctx.constant(array.astype(x.dtype), name))
        x = x * factor if name == "scale" else x + factor
    return x.value


TABLE = {
    "CenterCrop": Row(center_crop),
    "Rescaling": Row(rescaling, masks=KEPT),
    "Resizing": Row(resizing, unread={"fill_value": "of pad_to_aspect_ratio"}),
    "UpSampling1D": Row(up_sampling_1d),
    "UpSampling2D": Row(up_sampling_2d),
    "UpSampling3D": Row(up_sampling_3d),
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
        Row(lambda ctx: Term(ctx, ctx.data()).to(ctx.dtype_name).value, unread=OF_TRAINING),
    ),
}
