"""Convolutions of one to three spatial axes."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import NodeProto, helper
from xdsl.ir import SSAValue

from ...dialects.relay.convolution_transpose import Conv1DTransposeOp, Conv2DTransposeOp, Conv3DTransposeOp
from ...dialects.relay.elementwise import AddOp, ClipOp, LeakyReluOp, MultiplyOp, ReluOp, SigmoidOp, TanhOp
from ...dialects.relay.nn import BiasAddOp, Conv1DOp, Conv2DOp, Conv3DOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.window_indices import DeformableConv2DOp
from ..importing.converter import Converter, convert_all_parts
from .context import Context
from .window import Sizes, explicit_pads, halves, image_of, positive, window

CONV: Mapping[int, type[Operator]] = {1: Conv1DOp, 2: Conv2DOp, 3: Conv3DOp}
CONV_TRANSPOSE: Mapping[int, type[Operator]] = {1: Conv1DTransposeOp, 2: Conv2DTransposeOp, 3: Conv3DTransposeOp}


def _kernel(ctx: Context, image: Sizes, names: str) -> Sizes:
    """The spatial extents of the weight, which `kernel_shape` may repeat."""
    weight = ctx.shape(1)
    if len(weight) != len(image) + 2:
        ctx.fail(f"a {len(image) + 2}-d weight ({names}, height, width)", f"shape {list(weight)}")
    kernel = weight[2:]
    if (given := ctx.ints("kernel_shape", None)) is not None and given != kernel:
        ctx.fail(f"kernel_shape {list(kernel)} as the weight has", str(list(given)))
    return kernel


def conv(ctx: Context) -> SSAValue:
    """nn.conv1d, 2d or 3d, then nn.bias_add if there is a bias."""
    image = image_of(ctx)
    found = window(ctx, image, _kernel(ctx, image, "outputs, inputs"))
    result = ctx.emit(
        CONV[len(image)],
        ctx.value(0),
        ctx.value(1),
        strides=found.strides,
        padding=found.padding,
        dilation=found.dilation,
        groups=ctx.int("group", 1),
    )
    return _with_bias(ctx, result)


def _with_bias(ctx: Context, result: SSAValue, index: int = 2) -> SSAValue:
    return ctx.emit(BiasAddOp, result, ctx.value(index)) if ctx.has(index) else result


def fused_conv(ctx: Context) -> SSAValue:
    """`conv`, plus input 3 if there is one, then an activation."""
    result = conv(ctx)
    if ctx.has(3):
        result = ctx.emit(AddOp, result, ctx.value(3))
    kind, numbers = ctx.word("activation", ""), list(ctx.floats("activation_params", None) or ())
    match kind, len(numbers):
        case "", _:
            return result
        case "Relu", _:
            return ctx.emit(ReluOp, result)
        case "Sigmoid", _:
            return ctx.emit(SigmoidOp, result)
        case "Tanh", _:
            return ctx.emit(TanhOp, result)
        case "LeakyRelu", 1:
            return ctx.emit(LeakyReluOp, result, alpha=numbers[0])
        case "Clip", 2:
            return ctx.emit(ClipOp, result, a_min=numbers[0], a_max=numbers[1])
        case "HardSigmoid", 2:
            line = ctx.emit(MultiplyOp, result, ctx.scalar(numbers[0], result))
            line = ctx.emit(AddOp, line, ctx.scalar(numbers[1], result))
            return ctx.emit(ClipOp, line, a_min=0.0, a_max=1.0)
        case _:
            ctx.fail("activation Relu, Sigmoid, Tanh, LeakyRelu, Clip or HardSigmoid", f"{kind} {numbers}")


def conv_transpose(ctx: Context) -> SSAValue:
    """nn.conv1d_transpose, 2d or 3d, then nn.bias_add if there is a bias.

    A given `output_shape`, or SAME, says how much padding there is; where that is less than none, the result grows.
    """
    image = image_of(ctx)
    rank, kernel = len(image), _kernel(ctx, image, "inputs, outputs")
    strides, dilation = positive(ctx, "strides", rank, 1), positive(ctx, "dilations", rank, 1)
    more = ctx.ints("output_padding", None) or (0,) * rank
    if len(more) != rank or min(more) < 0:
        ctx.fail(f"{rank} non-negative numbers as 'output_padding'", str(list(more)))
    mode, wanted = ctx.word("auto_pad", "NOTSET") or "NOTSET", ctx.ints("output_shape", None)
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        ctx.fail("auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode)
    if wanted is None and mode.startswith("SAME"):
        wanted = tuple(extent * s for extent, s in zip(image, strides, strict=True))
    if wanted is not None:
        wanted = wanted[-rank:]
        columns = zip(image, kernel, strides, dilation, more, wanted, strict=True)
        surplus = [(extent - 1) * s + d * (k - 1) + 1 + m - out for extent, k, s, d, m, out in columns]
        before, after = halves([max(0, n) for n in surplus], mode)
        more = tuple(m + max(0, -n) for m, n in zip(more, surplus, strict=True))
    else:
        before, after = explicit_pads(ctx, rank) if mode == "NOTSET" else ((0,) * rank,) * 2
    result = ctx.emit(
        CONV_TRANSPOSE[rank],
        ctx.value(0),
        ctx.value(1),
        strides=strides,
        output_padding=more,
        padding=(*before, *after),
        dilation=dilation,
        groups=ctx.int("group", 1),
    )
    return _with_bias(ctx, result)


def conv_transpose_with_pads(ctx: Context) -> SSAValue:
    """`conv_transpose`, whose pads are input 2."""
    node = NodeProto()
    node.CopyFrom(ctx.node)
    if ctx.has(2):
        node.attribute.append(helper.make_attribute("pads", ctx.known_ints(2, "pads")))
    bias = ctx.tensor(3) if ctx.has(3) else None
    return convert_all_parts(conv_transpose, ctx.with_inputs([ctx.tensor(0), ctx.tensor(1), bias], node=node))


def deform_conv(ctx: Context) -> SSAValue:
    """nn.deformable_conv2d, then nn.bias_add if there is a bias."""
    image = image_of(ctx)
    if len(image) != 2:
        ctx.fail("a 4-d input (batch, channels, height, width)", f"shape {list(ctx.shape(0))}")
    found = window(ctx, image, _kernel(ctx, image, "outputs, inputs"))
    result = ctx.emit(
        DeformableConv2DOp,
        ctx.value(0),
        ctx.value(2),
        ctx.value(1),
        ctx.value(4) if ctx.has(4) else None,
        strides=found.strides,
        padding=found.padding,
        dilation=found.dilation,
        deformable_groups=ctx.int("offset_group", 1),
        groups=ctx.int("group", 1),
    )
    return _with_bias(ctx, result, 3)


TABLE = {
    "Conv": Converter(conv),
    "ConvTranspose": Converter(conv_transpose),
    "DeformConv": Converter(deform_conv),
}
MICROSOFT = {
    "ConvTransposeWithDynamicPads": Converter(conv_transpose_with_pads),
    "FusedConv": Converter(fused_conv),
}
