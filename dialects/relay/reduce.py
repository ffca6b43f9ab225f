"""Reductions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from .attributes import boolean, optional_ints
from .numerics import AnyArray, divide, highest, is_float, lowest, widened
from .operator import Operator, Signature, Tensor
from .traits import COMM_REDUCE


class Reduce(Operator):
    """Over the axes in `axis` (all without it); with `exclude` over all others."""

    data = operand_def(TensorType)
    result = result_def(TensorType)
    axis = optional_ints()
    keepdims = boolean(False)
    exclude = boolean(False)
    traits = traits_def(COMM_REDUCE)

    @classmethod
    def axes(cls, sig: Signature) -> tuple[int, ...]:
        """The reduced axes, non-negative and in order."""
        rank = len(sig.shape(0))
        given = sig.get("axis")
        axes = set(range(rank)) if given is None else {sig.axis(a, rank) for a in given}
        return tuple(sorted(set(range(rank)) - axes if sig.get("exclude") and given is not None else axes))

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        axes = cls.axes(sig)
        old = sig.shape(0)
        if sig.get("keepdims"):
            shape = [1 if i in axes else extent for i, extent in enumerate(old)]
        else:
            shape = [extent for i, extent in enumerate(old) if i not in axes]
        return [TensorType(sig.types[0].element_type, shape)]


@irdl_op_definition
class SumOp(Reduce):
    name = "relay.sum"

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        wide = widened(x)
        return np.sum(wide, axis=Reduce.axes(sig), keepdims=bool(sig.get("keepdims")), dtype=wide.dtype)


@irdl_op_definition
class MeanOp(Reduce):
    """Integers divide towards zero; over no elements it is NaN, of integers 0."""

    name = "relay.mean"

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        total = SumOp.evaluate(sig, x)
        count = prod(x.shape[axis] for axis in Reduce.axes(sig))
        if is_float(x.dtype):
            return total / total.dtype.type(count)
        return divide(total, np.asarray(count, x.dtype))


@irdl_op_definition
class MaxOp(Reduce):
    """Over no elements the least number of the dtype, of floats -inf."""

    name = "relay.max"

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        keep = bool(sig.get("keepdims"))
        return np.max(x, axis=Reduce.axes(sig), keepdims=keep, initial=lowest(x.dtype))


@irdl_op_definition
class MinOp(Reduce):
    """Over no elements the greatest number of the dtype, of floats inf."""

    name = "relay.min"

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        keep = bool(sig.get("keepdims"))
        return np.min(x, axis=Reduce.axes(sig), keepdims=keep, initial=highest(x.dtype))
