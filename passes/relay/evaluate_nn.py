"""What the neural network operators mean, in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects.relay import nn as ops
from ...dialects.relay.operator import Operator, Signature
from .evaluate_elementwise import AnyArray, Evaluator, divide, is_float, widened
from .evaluate_transform import layout_view


def _window(x: AnyArray, axes: Sequence[int], starts: Sequence[int], counts: Sequence[int], strides: Sequence[int]):
    """The element at offset `starts` of every window: strided slices of `axes`."""
    index = [slice(None)] * x.ndim
    for axis, start, count, stride in zip(axes, starts, counts, strides, strict=True):
        index[axis] = slice(start, start + (count - 1) * stride + 1, stride)
    return x[tuple(index)]


def conv2d(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    """In NCHW and OIHW: one matrix product per tap of the kernel, summed."""
    x = widened(layout_view(inputs[0], sig.str("data_layout"), "NCHW"))
    w = widened(layout_view(inputs[1], sig.str("kernel_layout"), "OIHW"))
    top, left, bottom, right = ops.expand_padding(sig, sig.ints("padding"))
    strides, dilation, groups = sig.ints("strides"), sig.ints("dilation"), sig.int("groups")
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    (n, _, height, width), (channels, depth, kh, kw) = x.shape, w.shape
    oh = (height - dilation[0] * (kh - 1) - 1) // strides[0] + 1
    ow = (width - dilation[1] * (kw - 1) - 1) // strides[1] + 1
    w = w.reshape(groups, channels // groups, depth, kh, kw)
    total = np.zeros((n, groups, channels // groups, oh * ow), x.dtype)
    for y, z in np.ndindex(kh, kw):
        tap = _window(x, (2, 3), (y * dilation[0], z * dilation[1]), (oh, ow), strides)
        tap = tap.reshape(n, groups, depth, oh * ow)
        total += w[..., y, z] * tap if depth == 1 else np.matmul(w[..., y, z], tap)
    out = total.reshape(n, channels, oh, ow)
    return (layout_view(out, "NCHW", sig.str("out_layout") or sig.str("data_layout")),)


def dense(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    data, weight = map(widened, inputs)
    return (np.matmul(data, weight.T),)


def dense_pack(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    data, weight = map(widened, inputs)
    panels, depth, block = weight.shape
    return (np.matmul(data, weight.transpose(0, 2, 1).reshape(panels * block, depth).T),)


def batch_matmul(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    x, y = map(widened, inputs)
    x = x.transpose(0, 2, 1) if sig.get("transpose_a") else x
    y = y.transpose(0, 2, 1) if sig.get("transpose_b") else y
    return (np.matmul(x, y),)


def _along(vector: AnyArray, axis: int, rank: int) -> AnyArray:
    """A 1-d array placed along `axis` of `rank` dimensions."""
    return vector.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def bias_add(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    data, bias = inputs
    return (data + _along(bias, sig.int("axis"), data.ndim),)


def batch_norm(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    data, gamma, beta, mean, variance = map(widened, inputs)
    factor = 1 / np.sqrt(variance + variance.dtype.type(sig.get("epsilon")))
    if sig.get("scale"):
        factor = factor * gamma
    shift = -mean * factor
    if sig.get("center"):
        shift = shift + beta
    axis = sig.int("axis")
    out = data * _along(factor, axis, data.ndim) + _along(shift, axis, data.ndim)
    return (out, inputs[3], inputs[4])


def layer_norm(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    data, gamma, beta = map(widened, inputs)
    axis = sig.int("axis")
    centred = data - np.mean(data, axis=axis, keepdims=True)
    variance = np.mean(centred * centred, axis=axis, keepdims=True)
    out = centred / np.sqrt(variance + variance.dtype.type(sig.get("epsilon")))
    if sig.get("scale"):
        out = out * _along(gamma, axis, data.ndim)
    if sig.get("center"):
        out = out + _along(beta, axis, data.ndim)
    return (out,)


def dropout(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    return (inputs[0], np.ones_like(inputs[0]))


def lrn(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    """Of an even `size` the neighbour more is the later one (ONNX LRN)."""
    x = widened(inputs[0])
    size, axis = sig.int("size"), sig.int("axis") % x.ndim
    before = (size - 1) // 2
    widths = [(before, size - 1 - before) if i == axis else (0, 0) for i in range(x.ndim)]
    squares = np.pad(x * x, widths)
    total = np.zeros_like(x)
    for start in range(size):
        total += _window(squares, (axis,), (start,), (x.shape[axis],), (1,))
    scalar = x.dtype.type
    return (x / (scalar(sig.get("bias")) + scalar(sig.get("alpha") / size) * total) ** scalar(sig.get("beta")),)


def softmax(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    x, axis = widened(inputs[0]), sig.int("axis")
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return (powers / np.sum(powers, axis=axis, keepdims=True),)


def log_softmax(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    x, axis = widened(inputs[0]), sig.int("axis")
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return (shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)),)


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
    top, left, bottom, right = ops.expand_padding(sig, sig.ints("padding"))
    (result,) = ops.WindowedPool2D.infer(sig)
    axes = ops.Pool2D.image_axes(sig)
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
        _window(padded, axes, [i * w.dilation for i, w in zip(place, windows, strict=True)], counts, strides)
        for place in np.ndindex(*(w.size for w in windows))
    ]


def max_pool2d(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    x = inputs[0]
    first, *rest = _taps(_windows(sig), x, -np.inf if is_float(x.dtype) else np.iinfo(x.dtype).min)
    out = first.copy()
    for tap in rest:
        np.maximum(out, tap, out=out)
    return (out,)


def avg_pool2d(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    """Divides by the elements inside the image, with `count_include_pad` inside the padded image.

    What `ceil_mode` reads beyond the padding never counts (ONNX AveragePool).
    """
    x, windows = widened(inputs[0]), _windows(sig)
    first, *rest = _taps(windows, x, 0)
    total = first.copy()
    for tap in rest:
        total += tap
    padded = bool(sig.get("count_include_pad"))
    for w in windows:
        count = np.maximum(w.elements(x.shape[w.axis], padded), 1).astype(x.dtype)
        total = divide(total, _along(count, w.axis, x.ndim))
    return (total,)


def global_max_pool2d(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    return (np.max(inputs[0], axis=ops.Pool2D.image_axes(sig), keepdims=True),)


def global_avg_pool2d(sig: Signature, inputs: Sequence[AnyArray]) -> Sequence[AnyArray]:
    return (np.mean(widened(inputs[0]), axis=ops.Pool2D.image_axes(sig), keepdims=True),)


TABLE: dict[type[Operator], Evaluator] = {
    ops.Conv2DOp: conv2d,
    ops.ContribConv2DNCHWcOp: conv2d,
    ops.ContribDepthwiseConv2DNCHWcOp: conv2d,
    ops.DenseOp: dense,
    ops.ContribDensePackOp: dense_pack,
    ops.BatchMatmulOp: batch_matmul,
    ops.BiasAddOp: bias_add,
    ops.BatchNormOp: batch_norm,
    ops.LayerNormOp: layer_norm,
    ops.DropoutOp: dropout,
    ops.LRNOp: lrn,
    ops.SoftmaxOp: softmax,
    ops.LogSoftmaxOp: log_softmax,
    ops.MaxPool2DOp: max_pool2d,
    ops.AvgPool2DOp: avg_pool2d,
    ops.GlobalMaxPool2DOp: global_max_pool2d,
    ops.GlobalAvgPool2DOp: global_avg_pool2d,
}
