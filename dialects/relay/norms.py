"""Normalisations of images and groups of channels, and those without a mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from .attributes import boolean, integer, real, required_ints
from .numerics import AnyArray, along, widened
from .operator import Operator, Signature, Tensor
from .traits import OUT_ELEMWISE_FUSABLE


class _Affine(Operator):
    """Scaled by `gamma` and shifted by `beta`, vectors along `axis`, unless `scale` and `center` say not to."""

    data = operand_def(TensorType)
    gamma = operand_def(TensorType)
    beta = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(1)
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
    def normalized(cls, sig: Signature, rows: AnyArray, axes: tuple[int, ...]) -> AnyArray:
        """`rows` less their means over `axes`, divided by their deviations."""
        centred = rows - np.mean(rows, axis=axes, keepdims=True)
        variance = np.mean(centred * centred, axis=axes, keepdims=True)
        return centred / np.sqrt(variance + variance.dtype.type(sig.get("epsilon")))

    @classmethod
    def shifted(cls, sig: Signature, out: AnyArray, gamma: AnyArray, beta: AnyArray) -> AnyArray:
        axis = sig.int("axis")
        if sig.get("scale"):
            out = out * along(gamma, axis, out.ndim)
        return out + along(beta, axis, out.ndim) if sig.get("center") else out


@irdl_op_definition
class InstanceNormOp(_Affine):
    """Each channel (`axis`) of each image (axis 0) has mean 0 and variance 1, then is scaled and shifted."""

    name = "relay.nn.instance_norm"

    @classmethod
    def evaluate(cls, sig: Signature, *operands: AnyArray) -> AnyArray:
        data, gamma, beta = map(widened, operands)
        axes = tuple(i for i in range(1, data.ndim) if i != sig.int("axis") % data.ndim)
        return cls.shifted(sig, cls.normalized(sig, data, axes), gamma, beta)


@irdl_op_definition
class GroupNormOp(_Affine):
    """Each of `num_groups` runs of channels (`axis`) of each image (axis 0) has mean 0 and variance 1."""

    name = "relay.nn.group_norm"
    num_groups = integer(0)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        types = super().infer(sig)
        shape = sig.shape(0)
        channels, groups = shape[sig.axis(sig.int("axis"), len(shape))], sig.int("num_groups")
        if groups < 1 or channels % groups:
            sig.fail(f"num_groups that divide {channels} channels", str(groups))
        return types

    @classmethod
    def evaluate(cls, sig: Signature, *operands: AnyArray) -> AnyArray:
        data, gamma, beta = map(widened, operands)
        axis, groups = sig.int("axis") % data.ndim, sig.int("num_groups")
        rows = data.reshape(*data.shape[:axis], groups, data.shape[axis] // groups, *data.shape[axis + 1 :])
        axes = tuple(i for i in range(1, rows.ndim) if i != axis)
        return cls.shifted(sig, cls.normalized(sig, rows, axes).reshape(data.shape), gamma, beta)


@irdl_op_definition
class RMSNormOp(Operator):
    """`data / sqrt(mean of squares + epsilon) * weight`, of every row along `axis`."""

    name = "relay.nn.rms_norm"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    epsilon = real(1e-5)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(shape))
        if sig.rank(1, 1) != (shape[axis],):
            sig.fail(f"a weight of {shape[axis]} elements", str(sig.types[1]))
        sig.same_element()
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, *operands: AnyArray) -> AnyArray:
        data, weight = map(widened, operands)
        axis = sig.int("axis")
        square = np.mean(data * data, axis=axis, keepdims=True) + data.dtype.type(sig.get("epsilon"))
        return data / np.sqrt(square) * along(weight, axis, data.ndim)


@irdl_op_definition
class L2NormalizeOp(Operator):
    """`data / sqrt(max(sum of squares over axis, eps))`."""

    name = "relay.nn.l2_normalize"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    eps = real(1e-5)
    axis = required_ints()
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def axes(cls, sig: Signature) -> tuple[int, ...]:
        """The axes that are summed over, non-negative and in order."""
        rank = len(sig.shape(0))
        return tuple(sorted({sig.axis(axis, rank) for axis in sig.ints("axis")}))

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        cls.axes(sig)
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        x = widened(data)
        total = np.sum(x * x, axis=cls.axes(sig), keepdims=True)
        return x / np.sqrt(np.maximum(total, x.dtype.type(sig.get("eps"))))
