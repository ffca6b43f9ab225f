"""The windows of convolutions and poolings: attributes in the order of the layout, padding by name."""

from __future__ import annotations

from collections.abc import Sequence

from ..meanings.windows import Sizes, Window
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
    if (mode := padding_of(ctx)) == "EXPLICIT":
        return Window(kernel, strides, dilation, *explicit(ctx, layout))
    return Window.padded(mode.lower(), image, kernel, strides, dilation)


def padding_of(ctx: Context) -> str:
    return ctx.word("padding", among=("SAME", "VALID", "EXPLICIT"))


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
