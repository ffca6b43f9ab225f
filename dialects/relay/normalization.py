"""Normalisations along an axis, softmax, and dropout."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from .attributes import boolean, integer, real
from .layout_traits import ON_AXIS, UNCHANGED
from .numerics import AnyArray, along, strided, widened
from .operator import Operator, Signature, Tensor
from .traits import OPAQUE, OUT_ELEMWISE_FUSABLE, Stateful


@irdl_op_definition
class BatchNormOp(Operator):
    """Results: the normalised data, the moving mean and the moving variance."""

    name = "relay.nn.batch_norm"
    data = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)
    moving_mean = operand_def(TensorType)
    moving_var = operand_def(TensorType)
    result = result_def(TensorType)
    new_mean = result_def(TensorType)
    new_var = result_def(TensorType)
    axis = integer(1)
    epsilon = real(1e-5)
    center = boolean(True)
    scale = boolean(True)
    traits = traits_def(OUT_ELEMWISE_FUSABLE, ON_AXIS)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(shape))
        for index in range(1, 5):
            if sig.rank(index, 1) != (shape[axis],):
                sig.fail(f"operand {index} of {shape[axis]} elements", str(sig.types[index]))
        return [sig.types[0], sig.types[3], sig.types[4]]

    @classmethod
    def evaluate(cls, sig: Signature, *operands: AnyArray) -> tuple[AnyArray, ...]:
        data, gamma, beta, mean, variance = map(widened, operands)
        factor = 1 / np.sqrt(variance + variance.dtype.type(sig.get("epsilon")))
        if sig.get("scale"):
            factor = factor * gamma
        shift = -mean * factor
        if sig.get("center"):
            shift = shift + beta
        axis = sig.int("axis")
        out = data * along(factor, axis, data.ndim) + along(shift, axis, data.ndim)
        return out, operands[3], operands[4]


@irdl_op_definition
class LayerNormOp(Operator):
    """`(data - mean) / sqrt(variance + epsilon) * gamma + beta`, of every row along `axis`; TVM's LayerNormAttrs."""

    name = "relay.nn.layer_norm"
    data = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    epsilon = real(1e-5)
    center = boolean(True)
    scale = boolean(True)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        axis = sig.axis(sig.int("axis"), len(sig.shape(0)))
        for index in (1, 2):
            sig.vector(index, axis, f"operand {index}")
        sig.same_element()
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, *operands: AnyArray) -> AnyArray:
        data, gamma, beta = map(widened, operands)
        axis = sig.int("axis")
        count = data.dtype.type(data.shape[axis])
        centred = data - np.sum(data, axis=axis, keepdims=True) / count
        variance = np.sum(centred * centred, axis=axis, keepdims=True) / count
        out = centred / np.sqrt(variance + variance.dtype.type(sig.get("epsilon")))
        if sig.get("scale"):
            out = out * along(gamma, axis, data.ndim)
        if sig.get("center"):
            out = out + along(beta, axis, data.ndim)
        return out


@irdl_op_definition
class DropoutOp(Operator):
    """Results: the data and the mask. Inference lets the data through."""

    name = "relay.nn.dropout"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    mask = result_def(TensorType)
    rate = real(0.5)
    traits = traits_def(OPAQUE, Stateful(), UNCHANGED)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [sig.types[0], sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> tuple[AnyArray, AnyArray]:
        return data, np.ones_like(data)


class SameType(Operator):
    data = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.axis(sig.int("axis"), len(sig.shape(0)))
        return [sig.types[0]]


@irdl_op_definition
class LRNOp(SameType):
    """`data / (bias + alpha / size * sum of squares over size neighbours along axis) ** beta`."""

    name = "relay.nn.lrn"
    size = integer(5)
    axis = integer(1)
    bias = real(2.0)
    alpha = real(0.0001)
    beta = real(0.75)
    traits = traits_def(OPAQUE, ON_AXIS)

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        """Normalise across channels; for an even `size`, the extra neighbour is the later one (ONNX LRN)."""
        x = widened(data)
        size, axis = sig.int("size"), sig.int("axis") % x.ndim
        before = (size - 1) // 2
        widths = [(before, size - 1 - before) if i == axis else (0, 0) for i in range(x.ndim)]
        squares = np.pad(x * x, widths)
        total = np.zeros_like(x)
        for start in range(size):
            total += strided(squares, (axis,), (start,), (x.shape[axis],), (1,))
        scalar = x.dtype.type
        return x / (scalar(sig.get("bias")) + scalar(sig.get("alpha") / size) * total) ** scalar(sig.get("beta"))


def shifted(data: AnyArray, axis: int) -> AnyArray:
    """`data` less the largest of each row along `axis`."""
    x = widened(data)
    return x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)


@irdl_op_definition
class SoftmaxOp(SameType):
    name = "relay.nn.softmax"
    axis = integer(-1)
    traits = traits_def(OUT_ELEMWISE_FUSABLE, ON_AXIS)

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        powers = np.exp(shifted(data, sig.int("axis")))
        return powers / np.sum(powers, axis=sig.int("axis"), keepdims=True)


@irdl_op_definition
class LogSoftmaxOp(SameType):
    name = "relay.nn.log_softmax"
    axis = integer(-1)
    traits = traits_def(OUT_ELEMWISE_FUSABLE, ON_AXIS)

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        x = shifted(data, sig.int("axis"))
        return x - np.log(np.sum(np.exp(x), axis=sig.int("axis"), keepdims=True))
