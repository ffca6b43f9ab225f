"""Quantised tensors: integers that stand for `scale * (integer - zero point)`.

As in TVM, scales are float32 and zero points int32 operands: one number, or one per index of `axis`. Beyond TVM they
may have more axes, and broadcast to the data. Halves are rounded to even, as onnxruntime does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ...support.dtypes import GREATEST, SMALL, is_float, limits
from ..element_types import DTYPES, dtype_name
from ..sizes import same, same_shape
from ..sizes.types import tensor_of
from .attributes import boolean, integer, string
from .layout_traits import ON_AXIS
from .numerics import AnyArray, along
from .operator import Operator, Signature, Tensor, shape_of
from .small_dtypes import converted
from .traits import BROADCAST, ELEMWISE, INTEGERS, NonComputational, Pointwise


def parameter(sig: Signature, index: int, shape: Sequence[int], axis: int) -> None:
    """Complain unless operand `index` has one number, one per index of `axis`, or broadcasts to `shape`."""
    own, rank = sig.shape(index), len(shape)
    if not own or same_shape(own, (1,)):
        return
    if len(own) == 1 and rank and own[0] == shape[sig.axis(axis, rank)]:
        return
    pairs = zip(reversed(own), reversed(shape), strict=False)
    if 1 < len(own) <= rank and all(same(extent, 1) or extent == full for extent, full in pairs):
        return
    sig.fail(f"operand {index} of one number, or one per index of axis {axis} of {list(shape)}", str(sig.types[index]))


def spread(values: AnyArray, axis: int, rank: int) -> AnyArray:
    """Scales or zero points as they broadcast to data of a rank."""
    if values.size == 1 and values.ndim < rank:
        return values.reshape(())
    return along(values, axis % rank, rank) if values.ndim == 1 else values


def quantized(real: AnyArray, zero_point: AnyArray, dtype: str) -> AnyArray:
    """Numbers in steps of the scale as integers or small floats of a dtype; what is outside its range is cut off."""
    if is_float(dtype):
        most = GREATEST[dtype]
        return converted(np.clip(real, -most, most), dtype)
    return converted(np.clip(np.round(real) + zero_point, *limits(dtype)), dtype)


def dequantized(x: AnyArray, scale: AnyArray, zero_point: AnyArray) -> AnyArray:
    """The float32 numbers that quantised ones stand for."""
    if is_float(x.dtype.name):
        return converted(x, "float32") * scale
    return (converted(x, "int32") - zero_point).astype(np.float32) * scale


class Scaled(Operator):
    """Shared by what reads or makes quantised numbers of one scale: pointwise, unless parameters go along `axis`."""

    traits = traits_def(BROADCAST, Pointwise(), ON_AXIS)

    def is_pointwise(self) -> bool:
        rank = len(shape_of(self.operands[0]))
        last = not rank or self.signature.int("axis") % rank == rank - 1
        return last or all(len(own := shape_of(value)) != 1 or same(own[0], 1) for value in self.operands[1:])


class Rescaled(Operator):
    """Shared by what makes quantised numbers: `out_dtype` is an integer of at most 16 bits or a small float."""

    @classmethod
    def out(cls, sig: Signature) -> Tensor:
        dtype = sig.str("out_dtype")
        integers = ("int8", "uint8", "int16", "uint16", "int32")
        if dtype not in integers and (dtype not in SMALL or dtype == "float8_e8m0fnu"):
            sig.fail("an out_dtype of integers of at most 16 bits or small floats", repr(dtype))
        return tensor_of(DTYPES[dtype], sig.shape(0))


@irdl_op_definition
class QuantizeOp(Scaled, Rescaled):
    """Floats in steps of `output_scale` from `output_zero_point` on, to the nearest number of `out_dtype`."""

    name = "relay.qnn.quantize"
    data = operand_def(TensorType)
    output_scale = operand_def(TensorType)
    output_zero_point = operand_def(TensorType)
    result = result_def(TensorType)
    out_dtype = string("int8")
    axis = integer(-1)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        for index in (1, 2):
            parameter(sig, index, sig.shape(0), sig.int("axis"))
        return [cls.out(sig)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, scale: AnyArray, zero_point: AnyArray) -> AnyArray:
        scale, zero_point = (spread(p, sig.int("axis"), x.ndim) for p in (scale, zero_point))
        return quantized(x.astype(np.float32) / scale.astype(np.float32), zero_point, sig.str("out_dtype"))


@irdl_op_definition
class DequantizeOp(Scaled):
    """The floats that quantised numbers stand for."""

    name = "relay.qnn.dequantize"
    data = operand_def(TensorType)
    input_scale = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    out_dtype = string("float32")
    traits = traits_def(NonComputational())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        for index in (1, 2):
            parameter(sig, index, sig.shape(0), sig.int("axis"))
        if (dtype := sig.str("out_dtype")) not in ("float32", "float16", "bfloat16"):
            sig.fail("an out_dtype float32, float16 or bfloat16", repr(dtype))
        return [tensor_of(DTYPES[dtype], sig.shape(0))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, scale: AnyArray, zero_point: AnyArray) -> AnyArray:
        scale, zero_point = (spread(p, sig.int("axis"), x.ndim) for p in (scale, zero_point))
        return dequantized(x, scale.astype(np.float32), zero_point)


FLOAT_COMPUTE = ("float32", "float64")
"""Dtypes in which numbers are requantised by a multiplication."""


@irdl_op_definition
class RequantizeOp(Rescaled):
    """Quantised numbers in steps of another scale.

    compute_dtype: "int64" (the default, "None") multiplies by an integer and shifts; "float32" and "float64" multiply
    by the quotient of the scales and add the zero point, then round. rounding: where halves go: "UPWARD" (the default,
    "None") or "TONEAREST", which is away from zero. Beyond TVM, "TOEVEN" of floats rounds before the zero point is
    added, halves to even, as onnxruntime does.
    """

    name = "relay.qnn.requantize"
    data = operand_def(TensorType)
    input_scale = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    output_scale = operand_def(TensorType)
    output_zero_point = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    rounding = string("None")
    compute_dtype = string("None")
    out_dtype = string("int8")
    traits = traits_def(ELEMWISE, ON_AXIS)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS)
        for index in (1, 2, 3, 4):
            parameter(sig, index, sig.shape(0), sig.int("axis"))
        computed = sig.str("compute_dtype")
        for name, allowed in (
            ("compute_dtype", ("int64", *FLOAT_COMPUTE)),
            ("rounding", ("UPWARD", "TONEAREST", *(("TOEVEN",) if computed in FLOAT_COMPUTE else ()))),
        ):
            if (value := sig.str(name)) not in ("None", *allowed):
                sig.fail(f"{name} {' or '.join(allowed)}", repr(value))
        return [cls.out(sig)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, *parameters: AnyArray) -> AnyArray:
        scale, zero_point, new_scale, new_zero_point = (spread(p, sig.int("axis"), x.ndim) for p in parameters)
        centred = x.astype(np.int32) - zero_point
        dtype = sig.str("out_dtype")
        if (number := sig.str("compute_dtype")) in FLOAT_COMPUTE:
            steps = centred.astype(number) * (scale.astype(np.float64) / new_scale.astype(np.float64)).astype(number)
            if sig.str("rounding") == "TOEVEN" or is_float(dtype):
                return quantized(steps, new_zero_point, dtype)
            steps = steps + new_zero_point.astype(number)
            if sig.str("rounding") == "TONEAREST":
                truncated = np.trunc(steps)
                return np.clip(truncated + np.trunc(2 * (steps - truncated)), *limits(dtype))
            return np.clip(np.floor(steps + steps.dtype.type(0.5)), *limits(dtype))
        multiplier, shift = fixed_point(scale.astype(np.float64) / new_scale.astype(np.float64))
        moved = multiplied(centred, multiplier, shift, sig.str("rounding")).astype(np.int64)
        return np.clip(moved + new_zero_point, *limits(dtype)).astype(np.int64)


def fixed_point(factor: AnyArray) -> tuple[AnyArray, AnyArray]:
    """A positive factor as `multiplier * 2^(shift - 31)`, the int32 multiplier of 31 bits."""
    significand, exponent = np.frexp(factor)
    multiplier = np.round(significand * 2.0**31).astype(np.int64)
    overflow = multiplier == 1 << 31
    shift = exponent.astype(np.int32) + overflow
    return np.where(overflow, multiplier // 2, multiplier).astype(np.int32), shift.astype(np.int32)


def multiplied(x: AnyArray, multiplier: AnyArray, shift: AnyArray, rounding: str) -> AnyArray:
    """`x * multiplier * 2^(shift - 31)` in 64 bits, rounded once; "DOUBLE": after the product, and after the shift."""
    if rounding == "DOUBLE":
        left = (x.astype(np.int64) << np.maximum(shift, 0).astype(np.int64)).astype(np.int32)
        high = (left.astype(np.int64) * multiplier + (1 << 30)) >> 31
        right = np.maximum(-shift, 0).astype(np.int64)
        half = np.where(right > 0, (np.int64(1) << np.maximum(right - 1, 0)) - (high < 0), 0)
        return ((high + half) >> right).astype(np.int32)
    product = (x.astype(np.int64) << np.maximum(shift, 0).astype(np.int64)) * multiplier
    dropped = 31 - np.minimum(shift, 0).astype(np.int64)
    half = np.int64(1) << (dropped - 1)
    if rounding == "TONEAREST":
        half = half - (product < 0)
    return ((product + half) >> dropped).astype(np.int32)


def split_shifts(shift: AnyArray) -> tuple[AnyArray, AnyArray, dict[str, bool]]:
    """Shifts to the left and to the right for ones that are positive or negative, and which of both are required."""
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    return left, right, {"is_lshift_required": bool(left.any()), "is_rshift_required": bool(right.any())}


@irdl_op_definition
class FixedPointMultiplyPerAxisOp(Operator):
    """`data * multiplier * 2^(lshift - rshift - 31)` in 64 bits, rounded once: what `requantize` becomes.

    Operands broadcast; a shift that is not required is not read. rounding: where halves go, "UPWARD" or "TONEAREST",
    which is away from zero. Beyond TVM, "DOUBLE" is how TFLite's reference kernels compute it: the upper half of the
    product is rounded upward, then what is left of the shift to the nearest. bounded: the data, shifted to the left, is
    below 2^30, each rshift is from 1 to 29, and multipliers are not negative.
    """

    name = "relay.fixed_point_multiply_per_axis"
    data = operand_def(TensorType)
    multiplier = operand_def(TensorType)
    lshift = operand_def(TensorType)
    rshift = operand_def(TensorType)
    result = result_def(TensorType)
    is_lshift_required = boolean(False)
    is_rshift_required = boolean(False)
    rounding = string("UPWARD")
    bounded = boolean(False)
    traits = traits_def(ELEMWISE, Pointwise())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if sig.same_element() != i32:
            sig.fail("operands of int32", dtype_name(sig.types[0].element_type))
        for index in (1, 2, 3):
            parameter(sig, index, sig.shape(0), -1)
        return [sig.types[0]]

    @classmethod
    def evaluate(
        cls, sig: Signature, x: AnyArray, multiplier: AnyArray, lshift: AnyArray, rshift: AnyArray
    ) -> AnyArray:
        shift = lshift * sig.get("is_lshift_required") - rshift * sig.get("is_rshift_required")
        return multiplied(x, multiplier, shift, sig.str("rounding"))


@irdl_op_definition
class FixedPointMultiplyOp(Operator):
    """`data * multiplier * 2^(shift - 31)` in 64 bits, rounded once, halves up; of int32 numbers."""

    name = "relay.fixed_point_multiply"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    multiplier = integer(0)
    shift = integer(0)
    traits = traits_def(ELEMWISE, Pointwise())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if sig.types[0].element_type != i32:
            sig.fail("an operand of int32", dtype_name(sig.types[0].element_type))
        multiplier, shift = sig.int("multiplier"), sig.int("shift")
        if not -(1 << 31) <= multiplier < 1 << 31 or not -31 <= shift <= 31:
            sig.fail("a multiplier of 32 bits and a shift from -31 to 31", f"{multiplier} and {shift}")
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        multiplier, shift = (np.array(sig.int(name), np.int32) for name in ("multiplier", "shift"))
        return multiplied(x, multiplier, shift, "UPWARD")
