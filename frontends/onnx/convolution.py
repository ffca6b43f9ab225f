"""Convolutions of one to three spatial axes."""

from __future__ import annotations

from typing import cast

from ...dialects.relay import elementwise as ew
from ...dialects.sizes import size_max
from ..importing.attributes import Floats, Int, Ints, Word
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import activations, windows
from ..meanings.windows import Sizes, biased, halves, window_back
from .context import Context
from .window import auto_pad, explicit_pads, image_of, steps, window


def _kernel(ctx: Context, image: Sizes, weight: Term, names: str = "outputs, inputs") -> Sizes:
    """The spatial extents of the weight, which `kernel_shape` may repeat."""
    if len(weight.shape) != len(image) + 2:
        ctx.fail(f"a {len(image) + 2}-d weight ({names}, height, width)", f"shape {list(weight.shape)}")
    kernel = weight.shape[2:]
    if (given := ctx.ints("kernel_shape", None)) is not None and given != kernel:
        ctx.fail(f"kernel_shape {list(kernel)} as the weight has", str(list(given)))
    return kernel


def conv(ctx: Context, x: Term, weight: Term, bias: Term | None, group: int) -> Term:
    image = image_of(ctx)
    return biased(windows.conv(x, weight, window(ctx, image, _kernel(ctx, image, weight)), groups=group), bias)


def fused_conv(
    ctx: Context,
    x: Term,
    weight: Term,
    bias: Term | None,
    addend: Term | None,
    group: int,
    activation: str,
    activation_params: tuple[float, ...],
) -> Term:
    """`conv`, plus another input if there is one, then an activation."""
    result = conv(ctx, x, weight, bias, group)
    result = result if addend is None else result + addend
    match activation, activation_params:
        case "", _:
            return result
        case "Relu", _:
            return activations.relu(result)
        case "Sigmoid", _:
            return result.apply(ew.SigmoidOp)
        case "Tanh", _:
            return result.apply(ew.TanhOp)
        case "LeakyRelu", (alpha,):
            return activations.leaky_relu(result, alpha)
        case "Clip", (low, high):
            return result.clip(low, high)
        case "HardSigmoid", (alpha, beta):
            return activations.hard_sigmoid(result, alpha, beta)
        case _:
            expected = "activation Relu, Sigmoid, Tanh, LeakyRelu, Clip or HardSigmoid"
            ctx.fail(expected, f"{activation} {list(activation_params)}")


def conv_transpose(
    ctx: Context,
    x: Term,
    weight: Term,
    bias: Term | None,
    group: int,
    output_shape: tuple[int, ...] | None = None,
    pads: tuple[Sizes, Sizes] | None = None,
) -> Term:
    """A given `output_shape`, or SAME, says how much padding there is; where that is less than none, the result grows.

    pads: those before and after, where they are no attribute.
    """
    image = image_of(ctx)
    rank, kernel = len(image), _kernel(ctx, image, weight, "inputs, outputs")
    strides, dilation = steps(ctx, rank)
    more, mode = ctx.ints("output_padding", 0, count=rank, least=0), auto_pad(ctx)
    if output_shape is None and mode.startswith("same"):
        output_shape = tuple(extent * s for extent, s in zip(image, strides, strict=True))
    if output_shape is not None:
        wanted = output_shape[-rank:]
        columns = zip(image, kernel, strides, dilation, more, wanted, strict=True)
        surplus = [(extent - 1) * s + d * (k - 1) + 1 + m - out for extent, k, s, d, m, out in columns]
        before, _ = halves([cast(int, size_max(n, 0)) for n in surplus], lower=mode != "same")
        sliding, more = window_back(wanted, image, kernel, strides, dilation, before)
    else:
        before, after = (pads or explicit_pads(ctx, rank)) if mode == "explicit" else ((0,) * rank,) * 2
        sliding = windows.Window(kernel, strides, dilation, before, after)
    return biased(windows.conv_transpose(x, weight, sliding, more, groups=group), bias)


def conv_transpose_with_pads(
    ctx: Context, x: Term, weight: Term, pads: Sizes | None, bias: Term | None, group: int, output_shape: Sizes | None
) -> Term:
    """`conv_transpose`, whose pads are an input."""
    rank = len(x.shape) - 2
    if pads is not None and (len(pads) != 2 * rank or min(pads, default=0) < 0):
        ctx.fail(f"{2 * rank} non-negative numbers as 'pads'", str(list(pads)))
    sides = None if pads is None else (pads[:rank], pads[rank:])
    return conv_transpose(ctx, x, weight, bias, group, output_shape, sides)


def deform_conv(
    ctx: Context,
    x: Term,
    weight: Term,
    offset: Term,
    bias: Term | None,
    mask: Term | None,
    group: int,
    offset_group: int,
) -> Term:
    image = image_of(ctx)
    if len(image) != 2:
        ctx.fail("a 4-d input (batch, channels, height, width)", f"shape {list(x.shape)}")
    sliding = window(ctx, image, _kernel(ctx, image, weight))
    return biased(windows.deformable_conv(x, offset, weight, mask, sliding, group, offset_group), bias)


TABLE = {
    "Conv": row(conv, "X W B?", group=Int(1)),
    "ConvTranspose": row(conv_transpose, "X W B?", group=Int(1), output_shape=Ints(None)),
    "DeformConv": row(deform_conv, "X W offset B? mask?", group=Int(1), offset_group=Int(1)),
}
MICROSOFT = {
    "ConvTransposeWithDynamicPads": row(
        conv_transpose_with_pads, "X W Pads:ints? B?", group=Int(1), output_shape=Ints(None)
    ),
    "FusedConv": row(fused_conv, "X W B? Z?", group=Int(1), activation=Word(""), activation_params=Floats(())),
}
