"""Poolings of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from .attributes import boolean, ints, string
from .convolution import expand_padding, window_extent
from .layout import axes_of
from .numerics import AnyArray, along, divide, lowest, strided, widened
from .operator import Operator, Signature, Tensor
from .traits import OUT_ELEMWISE_FUSABLE


class Pool2D(Operator):
    """Shared by the 2-d poolings; the bare form pools the whole image."""

    data = operand_def(TensorType)
    result = result_def(TensorType)
    layout = string("NCHW")
    out_layout = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def image_axes(cls, sig: Signature) -> tuple[int, int]:
        """The positions of H and W."""
        axes = axes_of(sig, "layout", "NCHW")
        sig.rank(0, len(axes))
        letters = [axis.letter for axis in axes]
        return letters.index("H"), letters.index("W")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        axes = cls.image_axes(sig)
        shape = [1 if i in axes else extent for i, extent in enumerate(sig.shape(0))]
        return [TensorType(sig.types[0].element_type, shape)]


class WindowedPool2D(Pool2D):
    """Shared by the poolings over a sliding window."""

    pool_size = ints(1, 1)
    strides = ints(1, 1)
    dilation = ints(1, 1)
    padding = ints(0, 0)
    ceil_mode = boolean(False)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = list(sig.shape(0))
        top, left, bottom, right = expand_padding(sig, sig.ints("padding"))
        window, strides, dilation = sig.pair("pool_size"), sig.pair("strides"), sig.pair("dilation")
        ceil = bool(sig.get("ceil_mode"))
        for i, (axis, pads) in enumerate(zip(cls.image_axes(sig), (top + bottom, left + right), strict=True)):
            shape[axis] = window_extent(sig, shape[axis], window[i], strides[i], dilation[i], pads, ceil)
        return [TensorType(sig.types[0].element_type, shape)]


@dataclass(frozen=True)
class Window:
    """How a pooling window slides along one axis: `count` places, padding `before` and `after`."""

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


def _windows(sig: Signature) -> list[Window]:
    top, left, bottom, right = expand_padding(sig, sig.ints("padding"))
    (result,) = WindowedPool2D.infer(sig)
    axes = Pool2D.image_axes(sig)
    counts = [result.get_shape()[axis] for axis in axes]
    columns = (axes, sig.ints("pool_size"), sig.ints("strides"), sig.ints("dilation"), (top, left), (bottom, right))
    return [Window(*row) for row in zip(*columns, counts, strict=True)]


def _taps(windows: Sequence[Window], x: AnyArray, fill: float) -> list[AnyArray]:
    """Per position in the window, the elements there; `fill` outside the image."""
    widths = [(0, 0)] * x.ndim
    for w in windows:
        reach = (w.count - 1) * w.stride + w.dilation * (w.size - 1) + 1
        widths[w.axis] = (w.before, max(0, reach - w.before - x.shape[w.axis]))
    padded = np.pad(x, widths, constant_values=fill)
    axes, counts, strides = [w.axis for w in windows], [w.count for w in windows], [w.stride for w in windows]
    return [
        strided(padded, axes, [i * w.dilation for i, w in zip(place, windows, strict=True)], counts, strides)
        for place in np.ndindex(*(w.size for w in windows))
    ]


@irdl_op_definition
class MaxPool2DOp(WindowedPool2D):
    name = "relay.nn.max_pool2d"

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        first, *rest = _taps(_windows(sig), x, lowest(x.dtype))
        out = first.copy()
        for tap in rest:
            np.maximum(out, tap, out=out)
        return out


@irdl_op_definition
class AvgPool2DOp(WindowedPool2D):
    """Divides by the number of elements inside the image, with `count_include_pad` inside the padded image."""

    name = "relay.nn.avg_pool2d"
    count_include_pad = boolean(False)

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        """What `ceil_mode` reads beyond the padding never counts (ONNX AveragePool)."""
        x, windows = widened(data), _windows(sig)
        first, *rest = _taps(windows, x, 0)
        total = first.copy()
        for tap in rest:
            total += tap
        padded = bool(sig.get("count_include_pad"))
        for w in windows:
            count = np.maximum(w.elements(x.shape[w.axis], padded), 1).astype(x.dtype)
            total = divide(total, along(count, w.axis, x.ndim))
        return total


@irdl_op_definition
class GlobalMaxPool2DOp(Pool2D):
    name = "relay.nn.global_max_pool2d"

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.max(x, axis=Pool2D.image_axes(sig), keepdims=True, initial=lowest(x.dtype))


@irdl_op_definition
class GlobalAvgPool2DOp(Pool2D):
    name = "relay.nn.global_avg_pool2d"

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        axes = Pool2D.image_axes(sig)
        total = np.sum(widened(x), axis=axes, keepdims=True, dtype=widened(x).dtype)
        return divide(total, np.asarray(x.shape[axes[0]] * x.shape[axes[1]], total.dtype))
