"""Builders whose parameters TVM has in another order, and operators of TVM that others here make up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType

from whence.dialects.relay.signature import Tensor
from whence.relay.builders import Builder, TupleWrapper, as_expr, builder, const
from whence.support.errors import FrontendError
from whence.syntax.relay import tvm_calls
from whence.syntax.relay.expr import Call, Expr, Op, Tuple, TupleGetItem
from whence.syntax.relay.infer import infer_expr


def deformable_conv2d(data: Any, offset: Any, weight: Any, *attributes: Any, mask: Any = None, **named: Any) -> Expr:
    """nn.deformable_conv2d; a mask, which TVM does not have, goes by name."""
    keys = (
        "strides padding dilation deformable_groups groups channels kernel_size data_layout kernel_layout out_layout "
        "out_dtype"
    ).split()
    options = {**dict(zip(keys, attributes, strict=False)), **named}
    return builder("nn.deformable_conv2d")(data, offset, weight, mask, **options)


def stft(
    data: Any,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: Any,
    normalized: bool = False,
    onesided: bool = True,
) -> Expr:
    """The Fourier transform of windows of a signal."""
    options = {"n_fft": n_fft, "hop_length": hop_length, "win_length": win_length}
    return builder("stft")(data, window, **options, normalized=normalized, onesided=onesided)


def dft(re_data: Any, im_data: Any, inverse: bool = False) -> TupleWrapper:
    """The Fourier transform along the last axis: real and imaginary parts."""
    return TupleWrapper(builder("dft")(re_data, im_data, inverse=inverse), 2)


def quantized_leaky_relu(
    x: Any, alpha: float, scale: Any, zero_point: Any, output_scale: Any, output_zero_point: Any
) -> Expr:
    """Return a leaky relu of quantised data."""
    return builder("qnn.leaky_relu")(x, scale, zero_point, output_scale, output_zero_point, alpha=alpha)


def quantized_avg_pool2d(
    data: Any,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    pool_size: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NHWC",
    out_layout: str = "",
) -> Expr:
    """Return averages of windows of quantised data."""
    scales = input_scale, input_zero_point, output_scale, output_zero_point
    window = {"pool_size": pool_size, "strides": strides, "padding": padding, "dilation": dilation}
    options = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
    return builder("qnn.avg_pool2d")(data, *scales, **window, **options, layout=layout, out_layout=out_layout)


def all_class_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_boxes_per_class: Any = -1,
    iou_threshold: Any = -1.0,
    score_threshold: Any = -1.0,
    output_format: str = "onnx",
) -> TupleWrapper:
    """Return the kept boxes for each class of each image, and their number as a vector of one element."""
    limits = map(as_expr, (max_output_boxes_per_class, iou_threshold, score_threshold))
    call = builder("vision.all_class_non_max_suppression")(boxes, scores, *limits, output_format=output_format)
    number = builder("reshape")(TupleGetItem(call, 1), newshape=[1])
    return TupleWrapper(Tuple([TupleGetItem(call, 0), number]), 2)


def fixed_point_multiply_per_axis(
    x: Any, y: Any, lshift: Any, rshift: Any, is_lshift_required: bool, is_rshift_required: bool, axes: Sequence[int]
) -> Expr:
    """Whole numbers times `y * 2^(lshift - rshift - 31)`, which have one number for each index of some axes."""
    options = {"is_lshift_required": bool(is_lshift_required), "is_rshift_required": bool(is_rshift_required)}
    factors = [as_expr(factor) for factor in (y, lshift, rshift)]
    return Call(Op("fixed_point_multiply_per_axis"), [x, *factors], {**options, "axes": list(axes)})


def sliding_window(data: Expr, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Expr:
    """Windows over the axes from `axis` on: the places of windows, and behind them the elements of each.

    Raises FrontendError unless the shape of `data` is known, and there is an axis for each extent of the window.
    """
    shape = _shape(data, "sliding_window")
    axis %= len(shape)
    if not len(window_shape) == len(strides) == len(shape) - axis:
        wanted = f"{len(shape) - axis} extents and strides of a window"
        raise FrontendError(f"sliding_window: expected {wanted}, got {list(window_shape)} and {list(strides)}")
    patches = data
    for step, (extent, width, stride) in enumerate(zip(shape[axis:], window_shape, strides, strict=True)):
        starts = np.arange(0, extent - width + 1, stride, dtype=np.int32)
        places = const(starts[:, None] + np.arange(width, dtype=np.int32), "int32")
        patches = builder("take")(patches, places, axis=axis + 2 * step)
    rank = len(shape) + len(window_shape)
    axes = [*range(axis), *range(axis, rank, 2), *range(axis + 1, rank, 2)]
    return builder("transpose")(patches, axes=axes)


def fifo_buffer(data: Expr, buffer: Expr, axis: int) -> Expr:
    """A buffer to whose end data was moved, and that lost as much at its beginning."""
    kept = _shape(buffer, "nn.fifo_buffer")[axis]
    joined = builder("concatenate")([buffer, data], axis=axis)
    return builder("strided_slice")(joined, begin=[-kept], end=[2**63 - 1], axes=[axis])


def bitserial_dense(
    data: Expr,
    weight: Expr,
    units: int | None = None,
    data_bits: int = 1,
    weight_bits: int = 1,
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Expr:
    """The product of the lowest bits of data and a transposed weight; how bits would be packed makes no difference."""
    options = {"units": units, "data_bits": data_bits, "weight_bits": weight_bits, "unipolar": unipolar}
    return _of_bits(tvm_calls.bitserial_dense, data, weight, {**options, "out_dtype": out_dtype})


def bitserial_conv2d(
    data: Expr,
    weight: Expr,
    strides: Any = (1, 1),
    padding: Any = (0, 0),
    channels: int | None = None,
    kernel_size: Any = (3, 3),
    activation_bits: int = 1,
    weight_bits: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Expr:
    """The convolution of the lowest bits of data and weights."""
    window = {"strides": _both(strides), "padding": _both(padding), "kernel_size": _both(kernel_size)}
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout, "channels": channels}
    bits = {"activation_bits": activation_bits, "weight_bits": weight_bits, "unipolar": unipolar}
    return _of_bits(tvm_calls.bitserial_conv2d, data, weight, {**window, **layouts, **bits, "out_dtype": out_dtype})


def _both(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def _of_bits(form: tvm_calls.Form, data: Expr, weight: Expr, attrs: dict[str, Any]) -> Expr:
    product = form([data, weight], attrs)
    assert product is not None
    return product


def bitpack(
    data: Expr, bits: int = 1, pack_axis: int = 1, bit_axis: int = 2, pack_type: str = "uint32", name: str = "BitPack"
) -> Expr:
    """Words of the bits of numbers; the name of TVM's stage is no attribute here."""
    return builder("nn.bitpack")(data, bits=bits, pack_axis=pack_axis, bit_axis=bit_axis, pack_type=pack_type)


def device_copy(data: Expr, src_device: object, dst_device: object) -> Expr:
    """The data: there is one device."""
    return builder("copy")(data)


def on_device(body: Expr, device: object, constrain_result: bool = False, constrain_body: bool = True) -> Expr:
    """The body, which is on the one device."""
    return body


def _shape(data: Expr, op: str) -> Sequence[int]:
    type_ = infer_expr(data)
    if not isinstance(type_, TensorType) or any(extent < 0 for extent in type_.get_shape()):
        raise FrontendError(f"{op}: expected a tensor of known shape, got {type_}")
    return cast(Tensor, type_).get_shape()


REORDERED: dict[str, Builder] = {
    "nn.deformable_conv2d": deformable_conv2d,
    "stft": stft,
    "dft": dft,
    "qnn.leaky_relu": quantized_leaky_relu,
    "qnn.avg_pool2d": quantized_avg_pool2d,
    "vision.all_class_non_max_suppression": all_class_non_max_suppression,
    "fixed_point_multiply_per_axis": fixed_point_multiply_per_axis,
    "sliding_window": sliding_window,
    "nn.fifo_buffer": fifo_buffer,
    "nn.bitserial_dense": bitserial_dense,
    "nn.bitserial_conv2d": bitserial_conv2d,
    "nn.bitpack": bitpack,
    "device_copy": device_copy,
    "annotation.on_device": on_device,
}
"""By TVM's names of the functions."""
