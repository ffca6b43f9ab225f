"""Convolutions and poolings: NHWC, with SAME or VALID padding."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.relay.nn import Conv2DOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import SPATIAL
from ..importing.converter import Converter
from ..importing.moves import arranged
from ..importing.rows import row
from ..importing.terms import Term, sqrt, term
from ..meanings import pools
from ..meanings.windows import (
    Sizes,
    Window,
    biased,
    conv,
    conv_transpose,
    moved,
    same_window_back,
    window_back,
)
from .activations import fused
from .context import Context

SAME, VALID = 0, 1
_LONGEST = (1 << 15) - 1
"""The longest stride that the kernels take."""


def strides_of(ctx: Context, axes: str) -> Sizes:
    strides = _positive(ctx, [f"Stride{axis}" for axis in axes], "strides")
    if max(strides) > _LONGEST:
        ctx.fail(f"strides up to {_LONGEST}", str(list(strides)))
    return strides


def _positive(ctx: Context, names: Sequence[str], what: str) -> Sizes:
    found = tuple(int(ctx.int(name, 0)) for name in names)
    if min(found) < 1:
        ctx.fail(f"positive {what}", str(list(found)))
    return found


def window(ctx: Context, image: Sizes, kernel: Sizes, *, dilated: bool, axes: str = "HW") -> Window:
    """The window of an operator; SAME padding puts an odd element after."""
    strides = strides_of(ctx, axes)
    dilation = _positive(ctx, [f"Dilation{a}Factor" for a in axes], "dilations") if dilated else (1,) * len(axes)
    if (mode := ctx.int("Padding", SAME)) not in (SAME, VALID):
        ctx.fail("padding SAME or VALID", f"number {mode}")
    return Window.padded("same" if mode == SAME else "valid", image, kernel, strides, dilation)


def image_of(ctx: Context, index: int = 0, rank: int = 2) -> Sizes:
    """The spatial extents of input `index`, which is NHWC (or NDHWC)."""
    shape = ctx.shape(index)
    if len(shape) != rank + 2:
        spatial = "depth, height, width" if rank == 3 else "height, width"
        ctx.fail(f"a {rank + 2}-d input (batch, {spatial}, channels)", f"shape {list(shape)}")
    return shape[1:-1]


def ordered(ctx: Context, index: int, *axes: int) -> Term:
    """Input `index`, its axes in another order."""
    if len(ctx.shape(index)) != len(axes):
        ctx.fail(f"a {len(axes)}-d weight", f"shape {list(ctx.shape(index))}")
    return arranged(ctx, ctx.tensor(index), axes)


def with_bias(ctx: Context, x: Term, index: int = 2) -> Term:
    return biased(x, term(ctx, index) if ctx.has(index) else None, len(x.shape) - 1)


def conv2d(ctx: Context, data: Term, *numbers: Term, op: type[Operator] = Conv2DOp) -> Term:
    """A convolution on NHWC and HWIO (the file has OHWI); fewer input channels in the weight are groups."""
    image, filters = image_of(ctx), ctx.shape(1)
    if len(filters) != 4 or not all(filters) or ctx.shape(0)[3] % filters[3]:
        ctx.fail(f"a 4-d weight (outputs, height, width, part of {ctx.shape(0)[3]})", f"shape {list(filters)}")
    kernel = _as_wide(ordered(ctx, 1, 1, 2, 3, 0), data)
    sliding, groups = window(ctx, image, filters[1:3], dilated=True), ctx.shape(0)[3] // filters[3]
    layouts = {"layout": "NHWC", "kernel_layout": "HWIO"}
    return conv(data, kernel, sliding, *numbers, op=op, groups=groups, channels=filters[0], **layouts)


def depthwise_conv2d(ctx: Context, data: Term, *numbers: Term, op: type[Operator] = Conv2DOp) -> Term:
    """As many groups as input channels, on NHWC and HWOI (the file has 1, height, width, outputs)."""
    image, filters, channels = image_of(ctx), ctx.shape(1), ctx.shape(0)[3]
    if len(filters) != 4 or filters[0] != 1 or not channels or not all(filters) or filters[3] % channels:
        ctx.fail(f"a 4-d weight (1, height, width, a multiple of {channels})", f"shape {list(filters)}")
    kernel = _as_wide(arranged(ctx, ctx.tensor(1), shape=(*filters[1:], 1)), data)
    sliding, layouts = window(ctx, image, filters[1:3], dilated=True), {"layout": "NHWC", "kernel_layout": "HWOI"}
    return conv(data, kernel, sliding, *numbers, op=op, groups=channels, channels=filters[3], **layouts)


def _as_wide(kernel: Term, data: Term) -> Term:
    """A kernel of bytes as sums of wider integers take it."""
    return kernel.to(data.dtype) if data.dtype.name in ("int32", "int64") else kernel


def conv_2d(ctx: Context) -> SSAValue:
    return fused(ctx, with_bias(ctx, conv2d(ctx, term(ctx, 0))).value)


def depthwise_conv_2d(ctx: Context) -> SSAValue:
    return fused(ctx, with_bias(ctx, depthwise_conv2d(ctx, term(ctx, 0))).value)


def conv_3d(ctx: Context) -> SSAValue:
    """On NDHWC and DHWIO, as the file has them."""
    image, filters = image_of(ctx, rank=3), ctx.shape(1)
    if len(filters) != 5 or not filters[3] or ctx.shape(0)[4] % filters[3]:
        ctx.fail(f"a 5-d weight (depth, height, width, part of {ctx.shape(0)[4]}, outputs)", f"shape {list(filters)}")
    sliding, data = window(ctx, image, filters[:3], dilated=True, axes="DHW"), moved(term(ctx, 0), "NDHWC", "NCDHW")
    result = conv(data, ordered(ctx, 1, 4, 3, 0, 1, 2), sliding, groups=ctx.shape(0)[4] // filters[3])
    return fused(ctx, with_bias(ctx, moved(result, "NCDHW", "NDHWC")).value)


def convolved_back(ctx: Context, data: Term, kernel: Term) -> Term:
    """The transposed convolution, to the extents that input 0 has, of data whose channels are last; kernels IO.."""
    wanted, (_, outputs, *size) = ctx.known_ints(0, "the output's shape"), kernel.shape
    rank = len(size)
    image, first, last = image_of(ctx, 2, rank), f"NC{SPATIAL[rank]}", f"N{SPATIAL[rank]}C"
    if len(wanted) != rank + 2 or min(wanted) < 1 or wanted[-1] != outputs:
        ctx.fail(f"an output's shape of {rank + 2} dimensions, {outputs} channels", str(list(wanted)))
    columns = (wanted[1:-1], image, tuple(size), strides_of(ctx, SPATIAL[rank]), (1,) * rank)
    same = ctx.int("Padding", SAME) == SAME
    sliding, more = same_window_back(*columns) if same else window_back(*columns, (0,) * rank)
    return moved(conv_transpose(moved(data, last, first), kernel, sliding, more), first, last)


def transpose_conv(ctx: Context) -> SSAValue:
    """Inputs: the output's shape, a weight (outputs, height, width, inputs), the data, and perhaps a bias."""
    result = convolved_back(ctx, term(ctx, 2), ordered(ctx, 1, 3, 0, 1, 2))
    return fused(ctx, with_bias(ctx, result, 3).value)


def conv_3d_transpose(ctx: Context) -> SSAValue:
    """`transpose_conv` of a weight (depth, height, width, outputs, inputs)."""
    result = convolved_back(ctx, term(ctx, 2), ordered(ctx, 1, 4, 3, 0, 1, 2))
    return fused(ctx, with_bias(ctx, result, 3).value)


def pooling_window(ctx: Context) -> Window:
    kernel = _positive(ctx, ("FilterHeight", "FilterWidth"), "windows")
    return window(ctx, image_of(ctx), kernel, dilated=False)


def pool(ctx: Context, ops: pools.ByRank, x: Term) -> Term:
    """A pooling; what is outside the image does not count."""
    return pools.pool(ops, x, pooling_window(ctx), "NHWC")


def _average_pool_2d(ctx: Context, x: Term) -> SSAValue:
    return fused(ctx, pool(ctx, pools.AVERAGE, x).value)


def _max_pool_2d(ctx: Context, x: Term) -> SSAValue:
    return fused(ctx, pool(ctx, pools.MAX, x).value)


def _l2_pool_2d(ctx: Context, x: Term) -> SSAValue:
    return fused(ctx, sqrt(pool(ctx, pools.AVERAGE, x * x)).value)


TABLE = {
    "AVERAGE_POOL_2D": row(_average_pool_2d, "input"),
    "CONV_2D": Converter(conv_2d, inputs="input filter bias"),
    "CONV_3D": Converter(conv_3d, inputs="input filter bias"),
    "CONV_3D_TRANSPOSE": Converter(conv_3d_transpose, inputs="output_shape filter input bias"),
    "DEPTHWISE_CONV_2D": Converter(depthwise_conv_2d, inputs="input filter bias"),
    "L2_POOL_2D": row(_l2_pool_2d, "input"),
    "MAX_POOL_2D": row(_max_pool_2d, "input"),
    "TRANSPOSE_CONV": Converter(transpose_conv, inputs="output_shape weights input bias"),
}
