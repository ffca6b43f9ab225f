"""Convolutions of one to three spatial axes. Data without a batch axis get one of extent 1 for the convolution."""

from __future__ import annotations

from ..importing.attributes import Flag, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import windows
from ..meanings.windows import Window, biased, with_batch, without_batch
from .context import Context


def _conv(ctx: Context, x: Term, weight: Term, bias: Term | None, groups: int, transposed: bool) -> Term:
    rank, kernel = len(weight.shape) - 2, weight.shape[2:]
    if rank not in windows.CONV:
        ctx.fail("a weight of 3 to 5 dimensions", f"shape {list(weight.shape)}")
    x, added = with_batch(x, rank)
    dilation, strides = ctx.ints("dilation", 1, count=rank), ctx.ints("stride", 1, count=rank)
    if (mode := ctx.argument("padding")) in ("valid", "same"):
        window = Window.padded(str(mode), x.shape[2:], kernel, strides, dilation)
    else:
        pads = ctx.ints("padding", 0, count=rank)
        window = Window(kernel, strides, dilation, pads, pads)
    # Torch looks at it in a transposed convolution only.
    more = ctx.ints("output_padding", 0, count=rank)
    if transposed:
        channels = weight.shape[1] * groups
        result = windows.conv_transpose(x, weight, window, more, groups=groups, channels=channels)
    else:
        result = windows.conv(x, weight, window, groups=groups, channels=weight.shape[0])
    return without_batch(biased(result, bias), added)


def _plain(ctx: Context, x: Term, weight: Term, bias: Term | None, groups: int) -> Term:
    return _conv(ctx, x, weight, bias, groups, False)


def _transposed(ctx: Context, x: Term, weight: Term, bias: Term | None, groups: int) -> Term:
    return _conv(ctx, x, weight, bias, groups, True)


def _deformable(
    ctx: Context,
    x: Term,
    weight: Term,
    offset: Term,
    bias: Term | None,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Term:
    """torchvision's, whose numbers come apart."""
    mask = ctx.term("mask") if use_mask else None
    strides, pads, dilation = ((ctx.int(f"{name}_h"), ctx.int(f"{name}_w")) for name in ("stride", "pad", "dilation"))
    window = Window(weight.shape[2:], strides, dilation, pads, pads)
    return biased(windows.deformable_conv(x, offset, weight, mask, window, groups, offset_groups), bias)


_INPUTS = "input weight bias?"
_CONV, _BACK = row(_plain, _INPUTS, groups=Int(1)), row(_transposed, _INPUTS, groups=Int(1))
_EITHER = row(_conv, _INPUTS, groups=Int(1), transposed=Flag(False))

TABLE: dict[str, Converter[Context]] = {
    **{f"aten.conv{rank}d.{overload}": _CONV for rank in windows.CONV for overload in ("default", "padding")},
    "aten.conv_transpose1d.default": _BACK,
    "aten.conv_transpose2d.input": _BACK,
    "aten.conv_transpose3d.input": _BACK,
    "aten.convolution.default": _EITHER,
    "aten._convolution.default": _EITHER,
    "aten._convolution_mode.default": _CONV,
    "torchvision.deform_conv2d.default": row(
        _deformable,
        "input weight offset bias?",
        groups=Int(1),
        offset_groups=Int(1),
        use_mask=Flag(False),
    ),
}
