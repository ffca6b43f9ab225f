"""Operations of `keras.ops` that layers are made of: convolutions, poolings and normalisations of tensors at hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.pooling import SPATIAL
from ...dialects.relay.transform import TransposeOp
from ..importing.attributes import Flag, Int, Ints
from ..importing.tensor import shape_of
from ..importing.terms import Term, once
from ..meanings import norms, pads, pools
from ..meanings.resizing import METHODS
from ..meanings.windows import Sizes, conv
from .context import Context
from .convolution import image_of, layout_of, window_of
from .images import resized
from .normalization import axes_of, scaled_norm
from .operands import argument_term, floating, operands
from .pooling import adaptive, windowed
from .preprocessing import encoded
from .rows import Row, declared


def _rank(ctx: Context) -> int:
    """The spatial axes of the input."""
    rank = len(shape_of(ctx.data(0, "inputs"))) - 2
    if rank not in (1, 2, 3):
        ctx.fail("an input of 3 to 5 dimensions", f"shape {list(shape_of(ctx.data(0, 'inputs')))}")
    return rank


def _both(ctx: Context) -> list[SSAValue]:
    return [term.value for term in operands(ctx, ctx.argument(0, "inputs"), ctx.argument(1, "kernel"))]


def _convolved(ctx: Context, data: SSAValue, kernel: SSAValue, depthwise: bool, point: bool = False) -> SSAValue:
    """The convolution with a kernel of the axes of space, inputs of a group, and outputs, or outputs of each input."""
    rank = len(shape_of(data)) - 2
    image, channels = image_of(ctx, data, rank)
    *size, inputs, outputs = shape_of(kernel)
    if len(size) != rank:
        ctx.fail(f"a kernel of {rank + 2} dimensions", f"shape {list(shape_of(kernel))}")
    ones, letters = (1,) * rank, SPATIAL[rank]
    weight, layout, groups = kernel, f"{letters}IO", 0 if inputs == 0 else channels // inputs
    if depthwise:
        weight = ctx.emit(TransposeOp, kernel, axes=(rank, rank + 1, *range(rank)))
        weight, layout, groups = Term(ctx, weight).reshape(inputs * outputs, 1, *size).value, f"OI{letters}", inputs
        outputs *= inputs
    elif ctx.channels_first():
        weight, layout = ctx.emit(TransposeOp, kernel, axes=(rank + 1, rank, *range(rank))), f"OI{letters}"
    if groups < 1 or channels % groups:
        ctx.fail(f"a kernel for {channels} channels", f"shape {list(shape_of(kernel))}")
    strides, dilation = (ones, ones) if point else (_sizes(ctx, "strides", rank), _sizes(ctx, "dilation_rate", rank))
    window = window_of(ctx, image, tuple(size), strides, dilation, "valid" if point else None)
    result = conv(
        *(Term(ctx, data), Term(ctx, weight), window),
        groups=groups,
        channels=outputs,
        layout=layout_of(ctx, rank),
        kernel_layout=layout,
    )
    return result.value


def _sizes(ctx: Context, name: str, rank: int) -> tuple[int, ...]:
    return (1,) * rank if ctx.option(name) is None else ctx.ints(name, count=rank, least=1)


def _conv(depthwise: bool) -> Row:
    def convert(ctx: Context) -> SSAValue:
        data, kernel = _both(ctx)
        return _convolved(ctx, data, kernel, depthwise)

    return Row(convert)


def _separable(ctx: Context) -> SSAValue:
    data, spread, mixing = (
        term.value
        for term in operands(
            ctx, ctx.argument(0, "inputs"), ctx.argument(1, "depthwise_kernel"), ctx.argument(2, "pointwise_kernel")
        )
    )
    return _convolved(ctx, _convolved(ctx, data, spread, True), mixing, False, point=True)


def _optional(ctx: Context, index: int, name: str) -> Term | None:
    return None if ctx.argument(index, name) is None else argument_term(ctx, index, name)


def _batch_norm(ctx: Context) -> SSAValue:
    x = argument_term(ctx)
    (axis,) = axes_of(ctx, len(x.shape))
    mean, variance = (argument_term(ctx, 1 + at, name) for at, name in enumerate(("mean", "variance")))
    offset, scale = _optional(ctx, 3, "offset"), _optional(ctx, 4, "scale")
    return norms.batch_norm(x, scale, offset, mean, variance, ctx.float("epsilon", 1e-3), axis).value


def _row_norm(ctx: Context) -> tuple[Term, tuple[int, ...], float]:
    """Data, the axes that are normalised, and what is added."""
    x = argument_term(ctx)
    epsilon = 1e-7 if ctx.option("epsilon") is None else ctx.float("epsilon")
    return x, axes_of(ctx, len(x.shape)), epsilon


def _layer_norm(ctx: Context) -> SSAValue:
    x, axes, epsilon = _row_norm(ctx)
    gamma, beta = _optional(ctx, 1, "gamma"), _optional(ctx, 2, "beta")
    return once(scaled_norm)(x, gamma, beta, axes, epsilon, ctx.flag("rms_scaling", False)).value


def _rms_norm(ctx: Context) -> SSAValue:
    x, axes, epsilon = _row_norm(ctx)
    return once(norms.rms_norm)(x, _optional(ctx, 1, "scale"), axes, epsilon).to(x.dtype).value


def _blocks(function: Callable[[Term, int, str], Term]) -> Row:
    def moved(ctx: Context, x: Term, block: int) -> Term:
        image_of(ctx, x.value, 2)
        return function(x, block, layout_of(ctx, 2))

    return declared(moved, "x", block=Int(least=1, name="block_size"))


def _resize(ctx: Context, x: Term, size: Sizes, crops: bool, pads: bool, antialias: bool) -> Term:
    if crops or pads:
        ctx.fail("crop_to_aspect_ratio and pad_to_aspect_ratio false", "true")
    image_of(ctx, x.value, 2)
    return resized(ctx, x, size, ctx.choice("interpolation", tuple(METHODS), "bilinear"), antialias)


def _gray(ctx: Context, x: Term) -> Term:
    """Red, green and blue as the brightness that eyes see."""
    x = floating(x)
    _, channels = image_of(ctx, x.value, 2)
    if channels != 3:
        ctx.fail("3 channels", str(channels))
    axis = 1 if ctx.channels_first() else 3
    weights = np.asarray([0.2989, 0.5870, 0.1140], x.dtype).reshape([3 if at == axis else 1 for at in range(4)])
    return (x * Term(ctx, ctx.constant(weights, "weights"))).sum(axis)


def _multi_hot(ctx: Context, x: Term, depth: int) -> Term:
    if ctx.option("axis", -1) != -1:
        ctx.fail("classes along the last axis", str(ctx.option("axis")))
    return encoded(ctx, x.to("int32"), depth, "multi_hot")


TABLE: dict[str, Row] = {
    "AdaptiveAveragePool": adaptive(pools.ADAPTIVE_AVERAGE, _rank),
    "AdaptiveMaxPool": adaptive(pools.ADAPTIVE_MAX, _rank),
    "AveragePool": windowed(pools.AVERAGE, _rank),
    "BatchNorm": Row(_batch_norm),
    "Conv": _conv(False),
    "DepthToSpace": _blocks(pads.depth_to_space),
    "DepthwiseConv": _conv(True),
    "LayerNorm": Row(_layer_norm),
    "MaxPool": windowed(pools.MAX, _rank),
    "MultiHot": declared(_multi_hot, "inputs", depth=Int(least=1, name="num_classes")),
    "RGBToGrayscale": declared(_gray, "images"),
    "RMSNorm": Row(_rms_norm),
    "Resize": declared(
        _resize,
        "images",
        size=Ints(count=2, least=1),
        crops=Flag(False, name="crop_to_aspect_ratio"),
        pads=Flag(False, name="pad_to_aspect_ratio"),
        antialias=Flag(False),
    ),
    "SeparableConv": Row(_separable),
    "SpaceToDepth": _blocks(pads.space_to_depth),
}
