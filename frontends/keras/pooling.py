"""Poolings of one to three spatial axes: over a window, and of the whole image."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import SSAValue

from ...dialects.relay.nn import AvgPool1DOp, AvgPool2DOp, AvgPool3DOp, MaxPool1DOp, MaxPool2DOp, MaxPool3DOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.pooling import (
    AdaptiveAvgPool1DOp,
    AdaptiveAvgPool2DOp,
    AdaptiveAvgPool3DOp,
    AdaptiveMaxPool1DOp,
    AdaptiveMaxPool2DOp,
    AdaptiveMaxPool3DOp,
    GlobalAvgPool2DOp,
    GlobalMaxPool2DOp,
)
from ...dialects.relay.reduce import MaxOp, MeanOp
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from ..importing.terms import Term, where
from .context import Context
from .convolution import image_of, layout_of, window_of
from .masks import Masks
from .rows import Row

MAX: Mapping[int, type[Operator]] = {1: MaxPool1DOp, 2: MaxPool2DOp, 3: MaxPool3DOp}
AVERAGE: Mapping[int, type[Operator]] = {1: AvgPool1DOp, 2: AvgPool2DOp, 3: AvgPool3DOp}


ADAPTIVE_AVERAGE: Mapping[int, type[Operator]] = {
    1: AdaptiveAvgPool1DOp,
    2: AdaptiveAvgPool2DOp,
    3: AdaptiveAvgPool3DOp,
}
ADAPTIVE_MAX: Mapping[int, type[Operator]] = {1: AdaptiveMaxPool1DOp, 2: AdaptiveMaxPool2DOp, 3: AdaptiveMaxPool3DOp}


def pool(ops: Mapping[int, type[Operator]], rank: int) -> Callable[[Context], SSAValue]:
    """A pooling in which elements outside of the image count for no maximum and no average."""

    def convert(ctx: Context) -> SSAValue:
        data = ctx.data()
        image, _ = image_of(ctx, data, rank)
        size = ctx.ints("pool_size", count=rank, least=1)
        strides = size if ctx.option("strides") is None else ctx.ints("strides", count=rank, least=1)
        window = window_of(ctx, image, size, strides, (1,) * rank)
        return ctx.emit(
            ops[rank],
            data,
            pool_size=window.kernel,
            strides=window.strides,
            padding=window.padding,
            layout=layout_of(ctx, rank),
        )

    return convert


def global_pool(op: type[Operator], whole: type[Operator], rank: int) -> Callable[[Context], SSAValue]:
    def convert(ctx: Context) -> SSAValue:
        data = ctx.data()
        _, channels = image_of(ctx, data, rank)
        axes = tuple(range(2, rank + 2)) if ctx.channels_first() else tuple(range(1, rank + 1))
        keep = ctx.flag("keepdims", False)
        if rank != 2:
            return ctx.emit(op, data, axis=axes, keepdims=keep)
        result = ctx.emit(whole, data, layout=layout_of(ctx, rank))
        return result if keep else reshaped(ctx, result, (shape_of(data)[0], channels))

    return convert


def _masked_average(ctx: Context) -> SSAValue:
    """The average of all steps, or of those that the mask counts."""
    mask = ctx.mask(1)
    if mask is None:
        return _average(ctx)
    x = Term(ctx, ctx.data())
    image_of(ctx, x.value, 1)
    batch, time = shape_of(mask)
    axis = 2 if ctx.channels_first() else 1
    steps = Term(ctx, mask).reshape(*((batch, 1, time) if axis == 2 else (batch, time, 1)))
    total, count = where(steps, x, 0.0).sum(axis), steps.to(x.dtype).sum(axis)
    result = total / count
    if ctx.flag("keepdims", False):
        return result.value
    return reshaped(ctx, result.value, tuple(n for at, n in enumerate(result.shape) if at != axis))


def adaptive(ops: Mapping[int, type[Operator]], rank: int) -> Callable[[Context], SSAValue]:
    """A pooling to a size, whose windows may overlap by an element."""

    def convert(ctx: Context) -> SSAValue:
        data, size = ctx.data(), ctx.ints("output_size", count=rank, least=1)
        image_of(ctx, data, rank)
        return ctx.emit(ops[rank], data, output_size=size, layout=layout_of(ctx, rank))

    return convert


_average = global_pool(MeanOp, GlobalAvgPool2DOp, 1)
TABLE = {
    **{f"AdaptiveAveragePooling{rank}D": Row(adaptive(ADAPTIVE_AVERAGE, rank)) for rank in (1, 2, 3)},
    **{f"AdaptiveMaxPooling{rank}D": Row(adaptive(ADAPTIVE_MAX, rank)) for rank in (1, 2, 3)},
    **{f"AveragePooling{rank}D": Row(pool(AVERAGE, rank)) for rank in (1, 2, 3)},
    **{f"MaxPooling{rank}D": Row(pool(MAX, rank)) for rank in (1, 2, 3)},
    "GlobalAveragePooling1D": Row(_masked_average, masks=Masks({"mask": 1})),
    **{f"GlobalAveragePooling{rank}D": Row(global_pool(MeanOp, GlobalAvgPool2DOp, rank)) for rank in (2, 3)},
    **{f"GlobalMaxPooling{rank}D": Row(global_pool(MaxOp, GlobalMaxPool2DOp, rank)) for rank in (1, 2, 3)},
}
