"""The windows of convolutions and poolings: attributes in the order of the layout, padding by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.transform import TransposeOp
from ..importing.window import Sizes, Window, same_padding
from .context import Context

_LONGEST = (1 << 15) - 1
"""The longest stride that the kernels take."""
LAYOUTS = {"NHWC": 2, "NCHW": 2, "NDHWC": 3, "NCDHW": 3}
"""Layout -> the number of its spatial axes."""


def layout_of(ctx: Context, rank: int = 2) -> str:
    """The layout that the node states, of `rank` spatial axes."""
    layout = ctx.word("data_format", "NHWC" if rank == 2 else "NDHWC") or "NHWC"
    if LAYOUTS.get(layout) != rank:
        ctx.fail(f"a layout of {rank} spatial axes", layout)
    return layout


def spatial(layout: str, values: Sequence[int]) -> Sizes:
    """The values of the spatial axes."""
    return tuple(value for letter, value in zip(layout, values, strict=True) if letter not in "NC")


def image_of(ctx: Context, layout: str, index: int = 0) -> Sizes:
    """The spatial extents of input `index`."""
    shape = ctx.shape(index)
    if len(shape) != len(layout):
        ctx.fail(f"an input of {len(layout)} dimensions ({layout})", f"shape {list(shape)}")
    return spatial(layout, shape)


def numbers(ctx: Context, name: str, layout: str) -> Sizes:
    """An attribute with a number for each axis of the layout; those of images and channels must be 1."""
    values = ctx.ints(name, ()) or (1,) * len(layout)
    if len(values) != len(layout) or min(values) < 1 or max(values) > _LONGEST:
        ctx.fail(f"{len(layout)} {name} from 1 to {_LONGEST}", str(list(values)))
    if any(value != 1 for letter, value in zip(layout, values, strict=True) if letter in "NC"):
        ctx.fail(f"{name} of 1 along images and channels", str(list(values)))
    return spatial(layout, values)


def window(ctx: Context, layout: str, image: Sizes, kernel: Sizes, *, dilations: str = "dilations") -> Window:
    """The window of a node; SAME padding puts an odd element after."""
    strides, dilation = numbers(ctx, "strides", layout), numbers(ctx, dilations, layout)
    match ctx.word("padding", ""):
        case "SAME":
            total = same_padding(image, strides, dilation, kernel)
        case "VALID":
            total = [0] * len(kernel)
        case "EXPLICIT":
            before, after = explicit(ctx, layout)
            return Window(kernel, strides, dilation, before, after)
        case other:
            ctx.fail("padding SAME, VALID or EXPLICIT", repr(other))
    before = tuple(n // 2 for n in total)
    return Window(kernel, strides, dilation, before, tuple(n - b for n, b in zip(total, before, strict=True)))


def explicit(ctx: Context, layout: str) -> tuple[Sizes, Sizes]:
    """The padding before and after each spatial axis that an attribute lists for all axes."""
    pads = ctx.ints("explicit_paddings", ())
    if len(pads) != 2 * len(layout) or min(pads) < 0:
        ctx.fail(f"{2 * len(layout)} explicit_paddings, none negative", str(list(pads)))
    pairs = list(zip(layout, pads[::2], pads[1::2], strict=True))
    if any(before or after for letter, before, after in pairs if letter in "NC"):
        ctx.fail("paddings of 0 along images and channels", str(list(pads)))
    inside = [(before, after) for letter, before, after in pairs if letter not in "NC"]
    return tuple(before for before, _ in inside), tuple(after for _, after in inside)


def ordered(ctx: Context, index: int, axes: Sequence[int]) -> SSAValue:
    """Input `index` with its axes in another order: of a known one its numbers, which stay that tensor's."""
    tensor = ctx.tensor(index)
    if tensor.array is None or tensor.symbolic:
        return ctx.emit(TransposeOp, ctx.value(index), axes=axes)
    with ctx.builder.located(tensor.location):
        return ctx.constant(np.ascontiguousarray(tensor.array.transpose(axes)), tensor.name)


def moved(ctx: Context, value: SSAValue, source: str, target: str) -> SSAValue:
    """A value in another layout."""
    return value if source == target else ctx.emit(TransposeOp, value, axes=[source.index(axis) for axis in target])
