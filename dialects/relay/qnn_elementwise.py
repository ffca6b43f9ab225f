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
from ..size_types import tensor_of
from . import elementwise, normalization, pooling
from .attributes import boolean, integer, ints, real, string
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor, shape_of
from .qnn import dequantized, parameter, quantized, spread
from .traits import BROADCAST, ELEMWISE, INJECTIVE, OPAQUE


def _result(sig: Signature, shape: Sequence[int]) -> Tensor:
    return tensor_of(sig.types[0].element_type, shape)


class Binary(Operator):
    """`REAL` of the real numbers; shapes broadcast as numpy's. The result has the dtype of the operands."""

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
        reals: list[AnyArray] = []
        for side, axis in enumerate(("lhs_axis", "rhs_axis")):
            x = operands[side]
            own = (spread(p, sig.int(axis), x.ndim) for p in operands[2 + 2 * side : 4 + 2 * side])
            reals.append(dequantized(x, *own))
        total = cast(AnyArray, cls.REAL.evaluate(sig, *reals))
        return _quantized(sig, total, *operands[6:])


def _quantized(sig: Signature, values: AnyArray, scale: AnyArray, zero_point: AnyArray) -> AnyArray:
    scale, zero_point = (spread(p, -1, values.ndim) for p in (scale, zero_point))
    return quantized(values / scale, zero_point, dtype_name(sig.types[0].element_type))


@irdl_op_definition
class AddOp(Binary):
    name = "relay.qnn.add"
    REAL: ClassVar[type[Operator]] = elementwise.AddOp


@irdl_op_definition
class SubtractOp(Binary):
    name = "relay.qnn.subtract"
    REAL: ClassVar[type[Operator]] = elementwise.SubtractOp


@irdl_op_definition
class MulOp(Binary):
    name = "relay.qnn.mul"
    REAL: ClassVar[type[Operator]] = elementwise.MultiplyOp


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
    """Of tensors in steps of their own scales; the result is in steps of `output_scale`."""

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
    """The mean of the real numbers of each window, as `relay.nn.avg_pool2d` takes it; summed as integers."""

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
        return _quantized(sig, cls.REAL.evaluate(real_sig, number), *parameters[2:])
