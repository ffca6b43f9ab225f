"""Convolutions of one to three spatial axes, depthwise, separable and transposed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ...dialects.relay.matmul import BiasAddOp
from ...dialects.relay.pooling import SPATIAL
from ..importing.tensor import shape_of
from ..importing.terms import Term
from ..meanings import windows
from ..meanings.windows import Sizes, Window
from .activations import activated
from .context import Context
from .rows import Row, own


def image_of(ctx: Context, data: SSAValue, rank: int) -> tuple[Sizes, int]:
    """The spatial extents of an image, and its channels."""
    shape = shape_of(data)
    if len(shape) != rank + 2:
        ctx.fail(f"an input of {rank + 2} dimensions (batch, {rank} of space, channels)", f"shape {list(shape)}")
    return (shape[2:], shape[1]) if ctx.channels_first() else (shape[1:-1], shape[-1])


def layout_of(ctx: Context, rank: int) -> str:
    """The letters of an image's axes."""
    return f"NC{SPATIAL[rank]}" if ctx.channels_first() else f"N{SPATIAL[rank]}C"


def window_of(
    ctx: Context, image: Sizes, kernel: Sizes, strides: Sizes, dilation: Sizes, padding: str | None = None
) -> Window:
    """A window; `same` puts an odd element of padding after, `causal` all of it before."""
    allowed = ("valid", "same", "causal") if len(image) == 1 else ("valid", "same")
    return Window.padded(padding or ctx.choice("padding", allowed, "valid"), image, kernel, strides, dilation)


def layer_window(ctx: Context, image: Sizes) -> Window:
    """The window that a layer states."""
    size, strides, dilation = (
        ctx.ints(name, count=len(image), least=1) for name in ("kernel_size", "strides", "dilation_rate")
    )
    return window_of(ctx, image, size, strides, dilation)


def with_bias(ctx: Context, result: SSAValue, channels: int) -> SSAValue:
    """The bias of the channels, where there is one, then the activation."""
    if ctx.has_weight("bias"):
        axis = 1 if ctx.channels_first() else len(shape_of(result)) - 1
        result = ctx.emit(BiasAddOp, result, ctx.weight("bias", (channels,)), axis=axis)
    return activated(ctx, result)


def convolved(
    ctx: Context,
    data: SSAValue,
    name: str,
    kernel: Sequence[int],
    window: Window,
    groups: int,
    *,
    depthwise: bool = False,
) -> SSAValue:
    """nn.conv1d, 2d or 3d with weight `name` of shape `kernel`: spatial, inputs of a group, outputs.

    depthwise: the kernel's last axes are inputs and outputs of each; there are as many groups as inputs.
    """
    rank, first = len(window.kernel), ctx.channels_first()
    inputs, outputs = kernel[-2:]
    if depthwise:
        inputs, outputs = 1, inputs * outputs
    letters = SPATIAL[rank]
    if first or depthwise:
        # Numbers in the order that the operator computes best with: outputs before inputs.
        if depthwise and not first:
            order, shape, layout = range(rank + 2), (*kernel[:-2], outputs, 1), f"{letters}OI"
        elif depthwise:
            order, shape, layout = (rank, rank + 1, *range(rank)), (outputs, 1, *kernel[:-2]), f"OI{letters}"
        else:
            order, shape, layout = (rank + 1, rank, *range(rank)), (outputs, inputs, *kernel[:-2]), f"OI{letters}"
        weight = ctx.arranged(name, kernel, tuple(order), shape)
    else:
        weight, layout = ctx.weight(name, kernel), f"{letters}IO"
    result = windows.conv(
        *(Term(ctx, data), Term(ctx, weight), window),
        groups=groups,
        channels=outputs,
        layout=layout_of(ctx, rank),
        kernel_layout=layout,
    )
    return result.value


def conv(rank: int) -> Callable[[Context], SSAValue]:
    def convert(ctx: Context) -> SSAValue:
        data, filters, groups = ctx.data(), ctx.int("filters", least=1), ctx.int("groups", 1, least=1)
        image, channels = image_of(ctx, data, rank)
        if channels % groups or filters % groups:
            ctx.fail(f"channels and filters that {groups} groups share", f"{channels} and {filters}")
        window = layer_window(ctx, image)
        kernel = (*window.kernel, channels // groups, filters)
        return with_bias(ctx, convolved(ctx, data, "kernel", kernel, window, groups), filters)

    return convert


def depthwise_conv(rank: int) -> Callable[[Context], SSAValue]:
    def convert(ctx: Context) -> SSAValue:
        data, multiplier = ctx.data(), ctx.int("depth_multiplier", 1, least=1)
        image, channels = image_of(ctx, data, rank)
        window = layer_window(ctx, image)
        result = convolved(
            ctx, data, "kernel", (*window.kernel, channels, multiplier), window, channels, depthwise=True
        )
        return with_bias(ctx, result, channels * multiplier)

    return convert


def separable_conv(rank: int) -> Callable[[Context], SSAValue]:
    """A depthwise convolution, then one whose window is a single element."""

    def convert(ctx: Context) -> SSAValue:
        data, multiplier, filters = ctx.data(), ctx.int("depth_multiplier", 1, least=1), ctx.int("filters", least=1)
        image, channels = image_of(ctx, data, rank)
        window, ones = layer_window(ctx, image), (1,) * rank
        kernel = (*window.kernel, channels, multiplier)
        spread = convolved(ctx, data, "depthwise_kernel", kernel, window, channels, depthwise=True)
        point = Window(ones, ones, ones, (0,) * rank, (0,) * rank)
        mixed = convolved(ctx, spread, "pointwise_kernel", (*ones, channels * multiplier, filters), point, 1)
        return with_bias(ctx, mixed, filters)

    return convert


def conv_transpose(rank: int) -> Callable[[Context], SSAValue]:
    """nn.conv1d_transpose, 2d or 3d; Keras says of the padding what comes out, not what is cut off."""

    def convert(ctx: Context) -> SSAValue:
        data, filters = ctx.data(), ctx.int("filters", least=1)
        _, channels = image_of(ctx, data, rank)
        size, strides = ctx.ints("kernel_size", count=rank, least=1), ctx.ints("strides", count=rank, least=1)
        dilation = ctx.ints("dilation_rate", count=rank, least=1)
        wanted = ctx.ints("output_padding", count=rank) if ctx.option("output_padding") is not None else (None,) * rank
        same = ctx.choice("padding", ("valid", "same"), "valid") == "same"
        rows = (_cut(k, s, d, n, same) for k, s, d, n in zip(size, strides, dilation, wanted, strict=True))
        before, after, more = zip(*rows, strict=True)
        kernel = (*size, filters, channels)
        result = windows.conv_transpose(
            Term(ctx, data),
            Term(ctx, ctx.arranged("kernel", kernel, (rank + 1, rank, *range(rank)))),
            Window(size, strides, dilation, before, after),
            more,
            channels=filters,
            layout=layout_of(ctx, rank),
        )
        return with_bias(ctx, result.value, filters)

    return convert


def _cut(size: int, stride: int, dilation: int, wanted_padding: int | None, same: bool) -> tuple[int, int, int]:
    """The elements cut off before and after an axis, and those added at its end: TensorFlow's sizes of the result."""
    reach = (size - 1) * dilation + 1
    if same:
        wanted = stride + reach - 2 if wanted_padding is None else reach + reach % 2 - 2 + wanted_padding
        left = min(wanted // 2 + wanted % 2, reach - 1)
        right = wanted - left
    else:
        left = reach - 1
        right = reach - 1 + (max(reach, stride) - reach if wanted_padding is None else wanted_padding)
    return reach - 1 - left, max(reach - 1 - right, 0), max(right - reach + 1, 0)


_CONV = own("kernel", "bias?use_bias")
_DEPTHWISE = own("kernel|depthwise_kernel", "bias?use_bias")
_SEPARABLE = own("depthwise_kernel", "pointwise_kernel", "bias?use_bias")

TABLE = {
    **{f"Conv{rank}D": Row(conv(rank), _CONV) for rank in (1, 2, 3)},
    **{f"Conv{rank}DTranspose": Row(conv_transpose(rank), _CONV) for rank in (1, 2, 3)},
    **{f"DepthwiseConv{rank}D": Row(depthwise_conv(rank), _DEPTHWISE) for rank in (1, 2)},
    **{f"SeparableConv{rank}D": Row(separable_conv(rank), _SEPARABLE) for rank in (1, 2)},
}
