"""The sliding window of convolutions and poolings: ONNX's attributes resolved for an image."""

from __future__ import annotations

from ..meanings.windows import Sizes, Window
from .context import Context

_PADDINGS = {"NOTSET": "explicit", "VALID": "valid", "SAME_UPPER": "same", "SAME_LOWER": "same_lower"}


def auto_pad(ctx: Context) -> str:
    """The padding that a node names: `explicit`, or one of `Window.padded`."""
    mode = ctx.word("auto_pad", "NOTSET") or "NOTSET"
    if mode not in _PADDINGS:
        ctx.fail("auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode)
    return _PADDINGS[mode]


def image_of(ctx: Context) -> Sizes:
    """The spatial extents of input 0, which has batch and channels before them."""
    shape = ctx.shape(0)
    if not 3 <= len(shape) <= 5:
        ctx.fail("a 3-d, 4-d or 5-d input (batch, channels, height, width)", f"shape {list(shape)}")
    return shape[2:]


def explicit_pads(ctx: Context, rank: int) -> tuple[Sizes, Sizes]:
    """Attribute `pads`, before and after."""
    nothing = ctx.ints("pads", ()) == ()
    pads = (0,) * (2 * rank) if nothing else ctx.ints("pads", count=2 * rank, least=0)
    return pads[:rank], pads[rank:]


def steps(ctx: Context, rank: int) -> tuple[Sizes, Sizes]:
    """Attributes `strides` and `dilations`."""
    return ctx.ints("strides", 1, count=rank, least=1), ctx.ints("dilations", 1, count=rank, least=1)


def window(ctx: Context, image: Sizes, kernel: Sizes) -> Window:
    """The window of a node, its `auto_pad` resolved."""
    strides, dilation = steps(ctx, len(image))
    if (mode := auto_pad(ctx)) == "explicit":
        return Window(kernel, strides, dilation, *explicit_pads(ctx, len(image)))
    return Window.padded(mode, image, kernel, strides, dilation)
