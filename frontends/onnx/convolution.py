"""Convolutions of one to three spatial axes."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from ...dialects.relay.nn import BiasAddOp, Conv1DOp, Conv2DOp, Conv3DOp
from ...dialects.relay.operator import Operator
from .context import Context
from .converter import Converter
from .window import Sizes, image_of, window

CONV: Mapping[int, type[Operator]] = {1: Conv1DOp, 2: Conv2DOp, 3: Conv3DOp}


def _kernel(ctx: Context, image: Sizes, names: str) -> Sizes:
    """The spatial extents of the weight, which `kernel_shape` may repeat."""
    weight = ctx.shape(1)
    if len(weight) != len(image) + 2:
        ctx.fail(f"a {len(image) + 2}-d weight ({names}, height, width)", f"shape {list(weight)}")
    kernel = weight[2:]
    if (given := ctx.ints("kernel_shape")) is not None and given != kernel:
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


TABLE = {
    "Conv": Converter(conv),
}
