"""Operators on quantised tensors that are others on the real numbers: dequantised, computed, quantised again.

`relay-qnn-canonicalize` writes them so; fused, that is one kernel from integers to integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, result_def, traits_def, var_operand_def

from ..element_types import dtype_name
from ..sizes.types import tensor_of
from . import elementwise, normalization, pooling
from .attributes import boolean, integer, ints, real, string
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor, shape_of
from .qnn import dequantized, parameter, quantized, spread
from .traits import BROADCAST, ELEMWISE, INJECTIVE, OPAQUE, Pointwise


def _result(sig: Signature, shape: Sequence[int]) -> Tensor:
    return tensor_of(sig.types[0].element_type, shape)


class Binary(Operator):
    """Shapes broadcast as numpy's. The result has the dtype of the operands.

    Operands of 8 bits are computed as onnxruntime computes them: on quotients of the scales, rounded to float32 after
    each step, and the zero point is added before the result is rounded. `REAL` is the operator on the real numbers.
    """

    REAL: ClassVar[type[Operator]]

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    lhs_scale = operand_def(TensorType)
    lhs_zero_point = operand_def(TensorType)
    rhs_scale = operand_def(TensorType)
    rhs_zero_point = operand_def(TensorType)
    output_scale = operand_def(TensorType)
    output_zero_point = operand_def(TensorType)
    result = result_def(TensorType)
    lhs_axis = integer(-1)
    rhs_axis = integer(-1)
    traits = traits_def(BROADCAST)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if sig.types[0].element_type != sig.types[1].element_type:
            sig.fail("operands of one dtype", f"{sig.types[0]} and {sig.types[1]}")
        for index, (data, axis) in enumerate([(0, "lhs_axis")] * 2 + [(1, "rhs_axis")] * 2):
            parameter(sig, 2 + index, sig.shape(data), sig.int(axis))
        shape = elementwise.broadcast_shape(sig, sig.shape(0), sig.shape(1))
        for index in (6, 7):
            parameter(sig, index, shape, -1)
        return [_result(sig, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, *operands: AnyArray) -> AnyArray:
        parameters: list[AnyArray] = []
        for side, axis in enumerate(("lhs_axis", "rhs_axis")):
            own = operands[2 + 2 * side : 4 + 2 * side]
            parameters += [spread(p, sig.int(axis), operands[side].ndim) for p in own]
        rank = max(operands[0].ndim, operands[1].ndim)
        parameters += [spread(p, -1, rank) for p in operands[6:]]
        steps = cls.steps(operands[0].astype(np.float32), operands[1].astype(np.float32), *parameters)
        dtype = dtype_name(sig.types[0].element_type)
        return quantized(steps, np.zeros((), np.int32), dtype)

    @classmethod
    def steps(cls, left: AnyArray, right: AnyArray, *parameters: AnyArray) -> AnyArray:
        """The result in steps, its zero point added."""
        raise NotImplementedError(cls.name)


def multiply_add(a: AnyArray, b: AnyArray, c: AnyArray) -> AnyArray:
    """`a * b + c` of float32 numbers, rounded once."""
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)


@irdl_op_definition
class MultiplyAddOp(Operator):
    """`x * factor + summand` of float32 numbers, rounded once; `x` may be integers of 8 bits. Shapes broadcast."""

    name = "relay.qnn.multiply_add"
    x = operand_def(TensorType)
    factor = operand_def(TensorType)
    summand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(BROADCAST, Pointwise())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = elementwise.broadcast_shape(sig, sig.shape(0), sig.shape(1))
        return [tensor_of(f32, elementwise.broadcast_shape(sig, shape, sig.shape(2)))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, factor: AnyArray, summand: AnyArray) -> AnyArray:
        return multiply_add(x, factor, summand)


class Sum(Binary):
    """The left operand, and `SIGN` times the right one."""

    SIGN: ClassVar[int]

    @classmethod
    def steps(cls, left: AnyArray, right: AnyArray, *parameters: AnyArray) -> AnyArray:
        scale, zero, other_scale, other_zero, new_scale, new_zero = (p.astype(np.float32) for p in parameters)
        ratio, other = scale / new_scale, np.float32(cls.SIGN) * other_scale / new_scale
        start = new_zero - multiply_add(ratio, zero, other * other_zero)
        return multiply_add(left, ratio, multiply_add(right, other, start))


def _quantized(sig: Signature, values: AnyArray, scale: AnyArray, zero_point: AnyArray) -> AnyArray:
    scale, zero_point = (spread(p, -1, values.ndim) for p in (scale, zero_point))
    return quantized(values / scale, zero_point, dtype_name(sig.types[0].element_type))


@irdl_op_definition
class AddOp(Sum):
    name = "relay.qnn.add"
    REAL: ClassVar[type[Operator]] = elementwise.AddOp
    SIGN: ClassVar[int] = 1


@irdl_op_definition
class SubtractOp(Sum):
    name = "relay.qnn.subtract"
    REAL: ClassVar[type[Operator]] = elementwise.SubtractOp
    SIGN: ClassVar[int] = -1


@irdl_op_definition
class MulOp(Binary):
    name = "relay.qnn.mul"
    REAL: ClassVar[type[Operator]] = elementwise.MultiplyOp

    @classmethod
    def steps(cls, left: AnyArray, right: AnyArray, *parameters: AnyArray) -> AnyArray:
        scale, zero, other_scale, other_zero, new_scale, new_zero = (p.astype(np.float32) for p in parameters)
        return (left - zero) * (right - other_zero) * (scale * other_scale / new_scale) + new_zero


class Unary(Operator):
    """`REAL` of the real numbers."""

    REAL: ClassVar[type[Operator]]

    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero_point = operand_def(TensorType)
    output_scale = operand_def(TensorType)
    output_zero_point = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(ELEMWISE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        for index in (1, 2, 3, 4):
            parameter(sig, index, sig.shape(0), -1)
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, *parameters: AnyArray) -> AnyArray:
        number = dequantized(x, *(spread(p, -1, x.ndim) for p in parameters[:2]))
        return _quantized(sig, cls.of_reals(sig, number), *parameters[2:])

    @classmethod
    def of_reals(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return cast(AnyArray, cls.REAL.evaluate(sig, x))


def _unary(op: str, of: type[Operator]) -> type[Unary]:
    @irdl_op_definition
    class Row(Unary):
        name = f"relay.qnn.{op}"
        REAL: ClassVar[type[Operator]] = of

    return Row


AbsOp = _unary("abs", elementwise.AbsOp)
ErfOp = _unary("erf", elementwise.ErfOp)
ExpOp = _unary("exp", elementwise.ExpOp)
LogOp = _unary("log", elementwise.LogOp)
RsqrtOp = _unary("rsqrt", elementwise.RsqrtOp)
SigmoidOp = _unary("sigmoid", elementwise.SigmoidOp)
SqrtOp = _unary("sqrt", elementwise.SqrtOp)
TanhOp = _unary("tanh", elementwise.TanhOp)


@irdl_op_definition
class LeakyReluOp(Unary):
    name = "relay.qnn.leaky_relu"
    REAL: ClassVar[type[Operator]] = elementwise.LeakyReluOp
    alpha = real(0.01)


@irdl_op_definition
class HardswishOp(Unary):
    """`x * clip(x + 3, 0, 6) / 6` of the real numbers."""

    name = "relay.qnn.hardswish"

    @classmethod
    def of_reals(cls, sig: Signature, x: AnyArray) -> AnyArray:
        kind = x.dtype.type
        return x * (np.clip(x + kind(3), kind(0), kind(6)) * kind(1 / 6))


@irdl_op_definition
class SoftmaxOp(Unary):
    name = "relay.qnn.softmax"
    REAL: ClassVar[type[Operator]] = normalization.SoftmaxOp
    axis = integer(-1)
    traits = traits_def(OPAQUE)


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


@irdl_op_definition
class ConcatenateOp(Operator):
    """Concatenate tensors in steps of their own scales; the result is in steps of `output_scale`."""

    name = "relay.qnn.concatenate"
    data = var_operand_def(TensorType)
    input_scales = var_operand_def(TensorType)
    input_zero_points = var_operand_def(TensorType)
    output_scale = operand_def(TensorType)
    output_zero_point = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(0)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        data, count = sig.operand("data"), len(sig.operand("data"))
        if not count or {len(sig.operand(name)) for name in ("input_scales", "input_zero_points")} != {count}:
            sig.fail("tensors, and as many scales and zero points", f"{count} tensors")
        first, *others = (shape_of(t) for t in data)
        axis = sig.axis(sig.int("axis"), len(first))
        for index in range(count, 3 * count + 2):
            parameter(sig, index, (), -1)
        for other in others:
            if len(other) != len(first) or _without(other, axis) != _without(first, axis):
                sig.fail(f"shapes that differ along axis {axis} only", f"{list(first)} and {list(other)}")
        total = sum(shape_of(t)[axis] for t in data)
        return [_result(sig, (*first[:axis], total, *first[axis + 1 :]))]

    @classmethod
    def evaluate(
        cls,
        sig: Signature,
        data: Sequence[AnyArray],
        scales: Sequence[AnyArray],
        zero_points: Sequence[AnyArray],
        scale: AnyArray,
        zero_point: AnyArray,
    ) -> AnyArray:
        parts = [
            dequantized(x, *(spread(p, -1, x.ndim) for p in own))
            for x, *own in zip(data, scales, zero_points, strict=True)
        ]
        return _quantized(sig, np.concatenate(parts, sig.int("axis")), scale, zero_point)


@irdl_op_definition
class AvgPool2DOp(pooling.WindowedPool):
    """The mean of the real numbers of each window, as `relay.nn.avg_pool2d` takes it.

    As in onnxruntime, that of a whole image is summed as integers, and others as real numbers, to whose mean the zero
    point is added before it is rounded.
    """

    name = "relay.qnn.avg_pool2d"
    # Own operands come before those of a base.
    data = operand_def(TensorType)
    input_scale = operand_def(TensorType)
    input_zero_point = operand_def(TensorType)
    output_scale = operand_def(TensorType)
    output_zero_point = operand_def(TensorType)
    SPATIAL: ClassVar[str] = pooling.SPATIAL[2]
    REAL: ClassVar[type[pooling.AvgPool]] = pooling.AvgPool2DOp
    count_include_pad = boolean(False)
    pool_size = ints(1, 1)
    strides = ints(1, 1)
    dilation = ints(1, 1)
    padding = ints(0, 0)
    ceil_mode = boolean(False)
    layout = string("NCHW")
    out_layout = string("")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        for index in (1, 2, 3, 4):
            parameter(sig, index, (), -1)
        return super().infer(sig)

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, *parameters: AnyArray) -> AnyArray:
        real_sig = Signature(sig.op, (tensor_of(f32, sig.shape(0)),), sig.attributes, sig.location, sig.groups)
        number = dequantized(x, *(spread(p, -1, x.ndim) for p in parameters[:2]))
        mean = cls.REAL.evaluate(real_sig, number)
        if all(mean.shape[axis] == 1 for axis in cls.image_axes(sig)):
            return _quantized(sig, mean, *parameters[2:])
        scale, zero_point = (spread(p, -1, mean.ndim) for p in parameters[2:])
        return quantized(mean / scale + zero_point, np.zeros((), np.int32), dtype_name(sig.types[0].element_type))
