"""Sums that undo a broadcast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import required_ints
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import COMM_REDUCE


class _Collapse(Operator):
    data = operand_def(TensorType)
    traits = traits_def(COMM_REDUCE)

    @classmethod
    def wanted(cls, sig: Signature) -> tuple[int, ...]:
        """The shape of the result."""
        raise NotImplementedError

    @classmethod
    def axes(cls, sig: Signature) -> tuple[int, ...]:
        """The axes of the data that are summed over: those before the result's, and where that has extent 1."""
        data, wanted = sig.shape(0), cls.wanted(sig)
        before = len(data) - len(wanted)
        if before < 0 or any(w not in (1, d) for d, w in zip(data[before:], wanted, strict=True)):
            sig.fail(f"a shape that broadcasts to {list(data)}", str(list(wanted)))
        ones = (before + i for i, extent in enumerate(wanted) if extent == 1 and data[before + i] != 1)
        return (*range(before), *ones)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        cls.axes(sig)
        return [tensor_of(sig.types[0].element_type, cls.wanted(sig))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, *like: AnyArray) -> AnyArray:
        x = widened(data)
        return np.sum(x, axis=cls.axes(sig), dtype=x.dtype, keepdims=True).reshape(cls.wanted(sig))


@irdl_op_definition
class CollapseSumToOp(_Collapse):
    """The sum over all axes along which `shape` would be repeated to be that of the data."""

    name = "relay.collapse_sum_to"
    result = result_def(TensorType)
    shape = required_ints()

    @classmethod
    def wanted(cls, sig: Signature) -> tuple[int, ...]:
        return sig.ints("shape")


@irdl_op_definition
class CollapseSumLikeOp(_Collapse):
    """The sum over all axes along which a tensor of the second operand's shape would be repeated."""

    name = "relay.collapse_sum_like"
    data = operand_def(TensorType)
    like = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def wanted(cls, sig: Signature) -> tuple[int, ...]:
        return sig.shape(1)
