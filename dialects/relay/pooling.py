"""Poolings of one to three spatial axes: over a sliding window, and of the whole image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import boolean, ints, string
from .convolution import expand_padding, window_extent
from .layout import axes_of
from .layout_traits import OF_IMAGE, OwnLayouts
from .numerics import AnyArray, along, divide, lowest, strided, widened
from .operator import Operator, Signature, Tensor
from .traits import OUT_ELEMWISE_FUSABLE, Averages, Selects

SPATIAL = ("", "W", "HW", "DHW")
"""The letters of that many spatial axes."""


class Pool(Operator):
    """Shared by the poolings; the bare form pools the whole image."""

    SPATIAL: ClassVar[str]
    """The letters of the spatial axes."""
    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OUT_ELEMWISE_FUSABLE, OwnLayouts(blocks=("C",)), OF_IMAGE)

    @classmethod
    def image_axes(cls, sig: Signature) -> tuple[int, ...]:
        """The positions of the spatial axes."""
        axes = axes_of(sig, "layout", "NC" + cls.SPATIAL)
        sig.rank(0, len(axes))
        letters = [axis.letter for axis in axes]
        return tuple(letters.index(letter) for letter in cls.SPATIAL)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        axes = cls.image_axes(sig)
        sig.require_source(0, [sig.shape(0)[axis] for axis in axes], ())
        shape = [1 if i in axes else extent for i, extent in enumerate(sig.shape(0))]
        return [tensor_of(sig.types[0].element_type, shape)]


class WindowedPool(Pool):
    """Shared by the poolings over a sliding window."""

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape, rank = list(sig.shape(0)), len(cls.SPATIAL)
        pads = expand_padding(sig, sig.ints("padding"), rank)
        window, strides, dilation = (sig.spatial(name, rank) for name in ("pool_size", "strides", "dilation"))
        ceil = bool(sig.get("ceil_mode"))
        for i, axis in enumerate(cls.image_axes(sig)):
            around = pads[i] + pads[i + rank]
            sig.require(shape[axis] - 1, "an image of some pixels", str(sig.types[0]))
            shape[axis] = window_extent(sig, shape[axis], window[i], strides[i], dilation[i], around, ceil, none=True)
        return [tensor_of(sig.types[0].element_type, shape)]

    @classmethod
    def windows(cls, sig: Signature) -> list[Window]:
        """Return the way the window slides along each spatial axis."""
        rank = len(cls.SPATIAL)
        pads = expand_padding(sig, sig.ints("padding"), rank)
        shape = cls.infer(sig)[0].get_shape()
        axes = cls.image_axes(sig)
        columns = (axes, *map(sig.ints, ("pool_size", "strides", "dilation")), pads[:rank], pads[rank:])
        counts = [shape[axis] for axis in axes]
        return [Window(*row) for row in zip(*columns, counts, strict=True)]


@dataclass(frozen=True)
class Window:
    """The way a pooling window slides along one axis: `count` places, padding `before` and `after`."""

    axis: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int

    def elements(self, extent: int, padded: bool) -> AnyArray:
        """Per place, how many of the window's elements are inside the image, or inside the padded image."""
        at = np.arange(self.count)[:, None] * self.stride + np.arange(self.size) * self.dilation - self.before
        low, high = (-self.before, extent + self.after) if padded else (0, extent)
        return np.sum((at >= low) & (at < high), axis=1)


def taps(windows: Sequence[Window], x: AnyArray, fill: float) -> list[AnyArray]:
    """Per position in the window, the elements there; `fill` outside the image."""
    widths = [(0, 0)] * x.ndim
    for w in windows:
        reach = (w.count - 1) * w.stride + w.dilation * (w.size - 1) + 1
        widths[w.axis] = (w.before, max(0, reach - w.before - x.shape[w.axis]))
    padded = np.pad(x, widths, constant_values=fill)
    axes, counts, strides = [w.axis for w in windows], [w.count for w in windows], [w.stride for w in windows]
    return [
        strided(padded, axes, [i * w.dilation for i, w in zip(position, windows, strict=True)], counts, strides)
        for position in np.ndindex(*(w.size for w in windows))
    ]


class MaxPool(WindowedPool):
    """The largest element of each window."""

    traits = traits_def(Selects())

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        first, *rest = taps(cls.windows(sig), x, lowest(x.dtype))
        out = first.copy()
        for tap in rest:
            np.maximum(out, tap, out=out)
        return out


def _max_pool(rank: int) -> type[MaxPool]:
    @irdl_op_definition
    class Row(MaxPool):
        name = f"relay.nn.max_pool{rank}d"
        SPATIAL: ClassVar[str] = SPATIAL[rank]
        pool_size = ints(*[1] * rank)
        strides = ints(*[1] * rank)
        dilation = ints(*[1] * rank)
        padding = ints(*[0] * rank)
        layout = string(f"NC{SPATIAL}")
        out_layout = string("")
        ceil_mode = boolean(False)

    return Row


MaxPool1DOp, MaxPool2DOp, MaxPool3DOp = map(_max_pool, (1, 2, 3))


class AvgPool(WindowedPool):
    """Divides by the number of elements inside the image, with `count_include_pad` inside the padded image."""

    traits = traits_def(Averages())

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        """Elements that `ceil_mode` reads beyond the padding never count (ONNX AveragePool)."""
        x, windows = widened(data), cls.windows(sig)
        first, *rest = taps(windows, x, 0)
        total = first.copy()
        for tap in rest:
            total += tap
        padded = bool(sig.get("count_include_pad"))
        for w in windows:
            count = np.maximum(w.elements(x.shape[w.axis], padded), 1).astype(x.dtype)
            total = divide(total, along(count, w.axis, x.ndim))
        return total


def _avg_pool(rank: int) -> type[AvgPool]:
    @irdl_op_definition
    class Row(AvgPool):
        name = f"relay.nn.avg_pool{rank}d"
        SPATIAL: ClassVar[str] = SPATIAL[rank]
        pool_size = ints(*[1] * rank)
        strides = ints(*[1] * rank)
        dilation = ints(*[1] * rank)
        padding = ints(*[0] * rank)
        layout = string(f"NC{SPATIAL}")
        out_layout = string("")
        ceil_mode = boolean(False)
        count_include_pad = boolean(False)

    return Row


AvgPool1DOp, AvgPool2DOp, AvgPool3DOp = map(_avg_pool, (1, 2, 3))


@irdl_op_definition
class GlobalMaxPool2DOp(Pool):
    name = "relay.nn.global_max_pool2d"
    traits = traits_def(Selects())
    SPATIAL: ClassVar[str] = "HW"
    layout = string("NCHW")
    out_layout = string("")

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.max(x, axis=cls.image_axes(sig), keepdims=True, initial=lowest(x.dtype))


@irdl_op_definition
class GlobalAvgPool2DOp(Pool):
    name = "relay.nn.global_avg_pool2d"
    traits = traits_def(Averages())
    SPATIAL: ClassVar[str] = "HW"
    layout = string("NCHW")
    out_layout = string("")

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        axes = cls.image_axes(sig)
        total = np.sum(widened(x), axis=axes, keepdims=True, dtype=widened(x).dtype)
        return divide(total, np.asarray(prod(x.shape[axis] for axis in axes), total.dtype))


class AdaptivePool(Pool):
    """Shared by the poolings to `output_size`: place i of n takes floor(i * extent / n) to ceil((i + 1) * extent / n).

    Without an `output_size` the image keeps its size; one number serves all axes.
    """

    @classmethod
    def sizes(cls, sig: Signature) -> tuple[int, ...]:
        """The places along each spatial axis."""
        extents, axes = sig.ints("output_size"), cls.image_axes(sig)
        if not extents:
            return tuple(sig.shape(0)[axis] for axis in axes)
        sizes = extents * len(axes) if len(extents) == 1 else extents
        if len(sizes) != len(axes) or min(sizes) < 1:
            sig.fail(f"output_size of {len(axes)} positive ints", str(list(extents)))
        return sizes

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = list(sig.shape(0))
        for axis, size in zip(cls.image_axes(sig), cls.sizes(sig), strict=True):
            sig.require_source(0, [shape[axis]], [size])
            shape[axis] = size
        return [tensor_of(sig.types[0].element_type, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        """Pool one axis after the other, as the windows of several axes are products of those of one."""
        x = widened(data)
        for axis, size in zip(cls.image_axes(sig), cls.sizes(sig), strict=True):
            extent = x.shape[axis]
            parts = [
                cls.combined(x.take(range(i * extent // size, -(-(i + 1) * extent // size)), axis), axis)
                for i in range(size)
            ]
            x = np.concatenate(parts, axis=axis)
        return x

    @classmethod
    def combined(cls, x: AnyArray, axis: int) -> AnyArray:
        """Combine all elements along `axis` into one, and keep the axis."""
        raise NotImplementedError


class AdaptiveMaxPool(AdaptivePool):
    """The largest element of each window."""

    traits = traits_def(Selects())

    @classmethod
    def combined(cls, x: AnyArray, axis: int) -> AnyArray:
        return x.max(axis=axis, keepdims=True)


class AdaptiveAvgPool(AdaptivePool):
    """The mean of each window."""

    traits = traits_def(Averages())

    @classmethod
    def combined(cls, x: AnyArray, axis: int) -> AnyArray:
        return divide(x.sum(axis=axis, keepdims=True, dtype=x.dtype), np.asarray(x.shape[axis], x.dtype))


def _adaptive(rank: int, base: type[AdaptivePool], kind: str) -> type[AdaptivePool]:
    @irdl_op_definition
    class Row(base):
        name = f"relay.nn.adaptive_{kind}_pool{rank}d"
        SPATIAL: ClassVar[str] = SPATIAL[rank]
        output_size = ints()
        layout = string(f"NC{SPATIAL}")
        out_layout = string("")

    return Row


AdaptiveMaxPool1DOp, AdaptiveMaxPool2DOp, AdaptiveMaxPool3DOp = (
    _adaptive(rank, AdaptiveMaxPool, "max") for rank in (1, 2, 3)
)
AdaptiveAvgPool1DOp, AdaptiveAvgPool2DOp, AdaptiveAvgPool3DOp = (
    _adaptive(rank, AdaptiveAvgPool, "avg") for rank in (1, 2, 3)
)
