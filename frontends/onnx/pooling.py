"""Poolings. Global ones of other ranks than 4 become reductions."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ...dialects.relay.nn import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp, Pool2D
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import MaxOp, MeanOp, PadOp
from .context import Context
from .converter import Converter
from .window import image_of, pair, window


def pool(op: type[Operator]) -> Callable[[Context], SSAValue]:
    """The converter of a windowed pooling.

    `ceil_mode` becomes padding below and right. That padding is never part of an average, not even under
    `count_include_pad`; there the other padding is made a part of the image first.
    """

    def convert(ctx: Context) -> SSAValue:
        image = image_of(ctx)
        found = window(ctx, image, pair(ctx, "kernel_shape"))
        data = ctx.value(0)
        top, left, bottom, right = found.padding
        below, beside = found.outgrowth(image) if ctx.int("ceil_mode", 0) else (0, 0)
        counts_padding = op is AvgPool2DOp and bool(ctx.int("count_include_pad", 0))
        if counts_padding and (below or beside):
            width = (0, 0, 0, 0, top, bottom, left, right)
            data = ctx.emit(PadOp, data, ctx.scalar(0.0, data), pad_width=width)
            top = left = bottom = right = 0
            counts_padding = False
        extra = {"count_include_pad": True} if counts_padding else {}
        return ctx.emit(
            op,
            data,
            pool_size=found.kernel,
            strides=found.strides,
            dilation=found.dilation,
            padding=(top, left, bottom + below, right + beside),
            **extra,
        )

    return convert


def global_pool(op: type[Pool2D], reduction: type[Operator]) -> Callable[[Context], SSAValue]:
    """The converter of a pooling over the whole image."""

    def convert(ctx: Context) -> SSAValue:
        rank = len(ctx.shape(0))
        if rank == 4:
            return ctx.emit(op, ctx.value(0))
        if rank < 3:
            ctx.fail("an input of at least 3 dimensions", f"shape {list(ctx.shape(0))}")
        return ctx.emit(reduction, ctx.value(0), axis=tuple(range(2, rank)), keepdims=True)

    return convert


TABLE = {
    "AveragePool": Converter(pool(AvgPool2DOp)),
    "GlobalAveragePool": Converter(global_pool(GlobalAvgPool2DOp, MeanOp)),
    "GlobalMaxPool": Converter(global_pool(GlobalMaxPool2DOp, MaxOp)),
    "MaxPool": Converter(pool(MaxPool2DOp)),
}
