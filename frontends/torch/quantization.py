"""Quantised graphs: the operators of torch.ao's reference quantisation, of QAT, and dynamic parameters.

Quantise and dequantise become those of relay.qnn, and the passes that serve quantised ONNX files keep what is between
them on integers. Scales are float32 there, zero points int32. Numbers are cut off at `quant_min` and `quant_max` where
the element type does not do so.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import qnn
from ...dialects.relay.elementwise import ClipOp, RoundOp
from ...dialects.relay.reduce import MaxOp, MinOp
from ...dialects.relay.transform import ReshapeOp
from ...dialects.sizes import Size, SizeExpr, same_shape
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, absolute, maximum, minimum, where
from .context import Context
from .promotion import FLOAT, cast_to, is_tensor, kind_of
from .shaping import shaped

_INT32 = np.dtype(np.int32)


def _parameter(ctx: Context, name: str, dtype: np.dtype[Any]) -> SSAValue:
    """Scales or zero points: a number, or a tensor, of which a single one is a scalar."""
    if not ctx.given(name):
        return ctx.constant(np.zeros((), dtype), name)
    if not is_tensor(ctx, name):
        return ctx.constant(np.asarray(ctx.float(name, 0.0)).astype(dtype), name)
    array = ctx.known(ctx.at(name))
    if array is not None:
        return ctx.constant(_scalar_of(array).astype(dtype), name)
    value = cast_to(ctx, ctx.of(name), dtype)
    return ctx.emit(ReshapeOp, value, newshape=()) if same_shape(shape_of(value), (1,)) else value


def _scalar_of(array: Array) -> Array:
    return array.reshape(()) if array.size == 1 else array


def _parameters(ctx: Context, scale: str, zero: str) -> tuple[SSAValue, SSAValue]:
    return _parameter(ctx, scale, FLOAT), _parameter(ctx, zero, _INT32)


def _axis(ctx: Context) -> int:
    return ctx.axis("axis", len(ctx.shape_of("input"))) if ctx.given("axis") else -1


def _in_steps(
    ctx: Context, value: SSAValue, scale: SSAValue, zero: SSAValue, axis: int, dtype: np.dtype[Any]
) -> SSAValue:
    """qnn.quantize, cut off at `quant_min` and `quant_max` where these are inside the element type's range."""
    wide = value if dtype_of(value) == FLOAT else cast_to(ctx, value, FLOAT)
    result = ctx.emit(qnn.QuantizeOp, wide, scale, zero, axis=axis, out_dtype=dtype.name)
    if kind_of(dtype) == 2:
        return result
    info = np.iinfo(dtype)
    low, high = ctx.int("quant_min", int(info.min)), ctx.int("quant_max", int(info.max))
    if low > high:
        ctx.fail("quant_min of at most quant_max", f"{low} and {high}")
    if low <= info.min and high >= info.max:
        return result
    return ctx.emit(ClipOp, result, a_min=float(max(low, info.min)), a_max=float(min(high, info.max)))


def _stated_dtype(ctx: Context) -> np.dtype[Any]:
    dtype = ctx.element("dtype", None)
    if dtype is None:
        ctx.fail("an element type as 'dtype'", "none")
    return dtype


def _quantize(scale: str, zero: str) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        return _in_steps(ctx, ctx.of("input"), *_parameters(ctx, scale, zero), _axis(ctx), _stated_dtype(ctx))

    return Converter(convert)


_STORED: dict[str, str] = {
    **dict.fromkeys(("quant_min", "quant_max"), "bounds of the integers, which are within them"),
    "dtype": "the element type of the integers, which they show",
}
_CHOSEN = {"dtype": "the element type of integers that are within quant_min and quant_max"}


def _dequantize(scale: str, zero: str, out: str = "out_dtype") -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        dtype = ctx.element(out, FLOAT)
        assert dtype is not None
        parameters = _parameters(ctx, scale, zero)
        if dtype.itemsize > FLOAT.itemsize:
            result = ctx.emit(qnn.DequantizeOp, ctx.of("input"), *parameters, axis=_axis(ctx))
            return cast_to(ctx, result, dtype)
        return ctx.emit(qnn.DequantizeOp, ctx.of("input"), *parameters, axis=_axis(ctx), out_dtype=dtype.name)

    return Converter(convert, unread=_STORED)


def _in_groups(ctx: Context, value: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The data with groups of the last axis as an axis of their own, and the parameters of each."""
    size, shape = ctx.int("group_size"), shape_of(value)
    if size < 1:
        ctx.fail("a group_size of at least 1", str(size))
    if not isinstance(cast(Size, shape[-1]), SizeExpr):
        size = min(size, shape[-1])
    ctx.require_multiple(shape[-1], size, f"a last axis of whole groups of {size}")
    groups = shape[-1] // size
    grouped = shaped(ctx, value, (*shape[:-1], groups, size))
    parameters = [shaped(ctx, part, (*shape[:-1], groups, 1)) for part in _parameters(ctx, "scales", "zero_points")]
    return grouped, parameters[0], parameters[1]


def _quantize_groups(ctx: Context) -> SSAValue:
    grouped, scale, zero = _in_groups(ctx, ctx.of("input"))
    return shaped(ctx, _in_steps(ctx, grouped, scale, zero, -1, _stated_dtype(ctx)), ctx.shape_of("input"))


def _dequantize_groups(ctx: Context) -> SSAValue:
    dtype = ctx.element("output_dtype", FLOAT)
    assert dtype is not None
    result = ctx.emit(qnn.DequantizeOp, *_in_groups(ctx, ctx.of("input")))
    return cast_to(ctx, shaped(ctx, result, ctx.shape_of("input")), dtype)


# Quantised and back, as training for quantised inference has it.


def _integers(ctx: Context) -> np.dtype[Any]:
    """The smallest element type that has all steps."""
    low, high = ctx.int("quant_min"), ctx.int("quant_max")
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return np.dtype(dtype)
    ctx.fail("quant_min and quant_max of 32 bits", f"{low} and {high}")


def _fake(data: str, scale: str, zero: str) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        value, (scales, zeros) = ctx.of(data), _parameters(ctx, scale, zero)
        axis = ctx.axis("axis", len(shape_of(value))) if ctx.given("axis") else -1
        steps = _in_steps(ctx, value, scales, zeros, axis, _integers(ctx))
        return cast_to(ctx, ctx.emit(qnn.DequantizeOp, steps, scales, zeros, axis=axis), dtype_of(value))

    return Converter(convert)


# Scales and zero points of the data of a call.


def _range(ctx: Context, axes: tuple[int, ...] | None) -> tuple[Term, Term]:
    """The least number, at most 0, and the greatest, at least 0; of all elements, or of each row."""
    data = ctx.term("input").to(FLOAT)
    reduced = {"axis": axes, "keepdims": True} if axes is not None else {"keepdims": False}
    return minimum(data.apply(MinOp, **reduced), 0.0), maximum(data.apply(MaxOp, **reduced), 0.0)


def _results(scale: Term, zero: Term) -> tuple[SSAValue, SSAValue]:
    """Parameters in the element types that the operators state."""
    return scale.to("float64").value, zero.to("int64").value


def _chosen(ctx: Context) -> tuple[SSAValue, SSAValue]:
    """For the range of all elements and 0."""
    low, high = _range(ctx, None)
    least, most = ctx.int("quant_min"), ctx.int("quant_max")
    scale = maximum((high - low) / float(most - least), ctx.float("eps", 0.0)).reshape(1)
    zero = (low.reshape(1) / scale).apply(RoundOp)
    return _results(scale, (-zero + float(least)).clip(float(least), float(most)))


def _chosen_symmetric(ctx: Context) -> tuple[SSAValue, SSAValue]:
    """For the range from the largest magnitude below 0 to that above."""
    low, high = _range(ctx, None)
    least, most = ctx.int("quant_min"), ctx.int("quant_max")
    scale = maximum(maximum(-low, high) / ((most - least) / 2), ctx.float("eps", 0.0)).reshape(1)
    middle = 128 if _stated_dtype(ctx) == np.uint8 else 0
    return _results(scale, Term(ctx, ctx.constant(np.full(1, middle, np.int64), "zero_point")))


def _chosen_per_token(ctx: Context) -> tuple[SSAValue, SSAValue]:
    """For the largest magnitude of each row, in int8."""
    data = ctx.term("input")
    most = absolute(data.to(FLOAT)).apply(MaxOp, axis=(len(data.shape) - 1,), keepdims=True)
    scale = maximum(most, 1e-5) / 127.0
    return scale.to("float64").value, (scale * 0.0).to("int64").value


def _chosen_per_token_asymmetric(ctx: Context) -> tuple[SSAValue, SSAValue]:
    """For the range of each row and 0, in int8, with the error of the zero point at the end where it is smaller."""
    low, high = _range(ctx, (len(ctx.shape_of("input")) - 1,))
    scale = maximum((high - low) / 255.0, float(np.finfo(np.float32).eps))
    first, last = low / scale, high / scale
    zero = where((first + last - 1.0) > 0.0, -first - 128.0, -last + 127.0).clip(-128.0, 127.0).apply(RoundOp)
    return _results(scale, zero)


def _converted(ctx: Context) -> SSAValue:
    return cast_to(ctx, ctx.of("input"), _stated_dtype(ctx))


_QUANTIZED = "quantized_decomposed"
TABLE: dict[str, Converter[Context]] = {
    **{
        f"{_QUANTIZED}.quantize_per_tensor.{form}": _quantize("scale", "zero_point")
        for form in ("default", "tensor", "tensor2")
    },
    **{
        f"{_QUANTIZED}.dequantize_per_tensor.{form}": _dequantize("scale", "zero_point")
        for form in ("default", "tensor", "tensor2")
    },
    f"{_QUANTIZED}.quantize_per_channel.default": _quantize("scales", "zero_points"),
    f"{_QUANTIZED}.dequantize_per_channel.default": _dequantize("scales", "zero_points"),
    f"{_QUANTIZED}.quantize_per_token.default": _quantize("scales", "zero_points"),
    f"{_QUANTIZED}.dequantize_per_token.default": _dequantize("scales", "zero_points", "output_dtype"),
    f"{_QUANTIZED}.quantize_per_channel_group.default": Converter(_quantize_groups),
    f"{_QUANTIZED}.dequantize_per_channel_group.default": Converter(_dequantize_groups, unread=_STORED),
    f"{_QUANTIZED}.fake_quant_per_channel.default": _fake("input", "scales", "zero_points"),
    f"{_QUANTIZED}.choose_qparams.tensor": Converter(_chosen, unread=_CHOSEN),
    f"{_QUANTIZED}.choose_qparams_symmetric.tensor": Converter(_chosen_symmetric, unread=_CHOSEN),
    f"{_QUANTIZED}.choose_qparams_per_token.default": Converter(_chosen_per_token, unread=_CHOSEN),
    f"{_QUANTIZED}.choose_qparams_per_token_asymmetric.default": Converter(
        _chosen_per_token_asymmetric, unread=_CHOSEN
    ),
    f"{_QUANTIZED}._choose_qparams_per_token_asymmetric_impl.default": Converter(
        _chosen_per_token_asymmetric, unread=_CHOSEN
    ),
    f"{_QUANTIZED}.convert_element_type.no_fuse": Converter(_converted),
    "aten.fake_quantize_per_tensor_affine.default": _fake("self", "scale", "zero_point"),
    "aten.fake_quantize_per_tensor_affine.tensor_qparams": _fake("self", "scale", "zero_point"),
    "aten.fake_quantize_per_channel_affine.default": _fake("self", "scale", "zero_point"),
}
