"""Reductions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import Value, boolean, optional_ints
from .layout_traits import Arrangement, InLayout, Layout, Takes
from .numerics import AnyArray, divide, highest, is_float, lowest, widened
from .operator import Operator, Signature, Tensor
from .traits import ANY, BOOLEANS, COMM_REDUCE, FLOATS, Averages, Kind, Selects


def _reduced(op: Operator, layout: Arrangement) -> InLayout | None:
    sig = op.signature
    axes, kept = Reduce.axes(sig), bool(sig.get("keepdims"))
    if any(map(layout.splits, axes)):
        return None
    attributes: dict[str, Value] = {"axis": sorted(map(layout.axis, axes)), "exclude": False}
    if layout.blocks:
        return InLayout(layout, attributes | {"keepdims": True}, squeezed=() if kept else axes)
    return InLayout(layout if kept else layout.without(axes), attributes)


def _arg_reduced(op: Operator, layout: Arrangement) -> InLayout | None:
    """Places are counted in the order of the axes."""
    axes = list(map(layout.axis, Reduce.axes(op.signature)))
    return _reduced(op, layout) if axes == sorted(axes) else None


class Reduce(Operator):
    """Over the axes in `axis` (all without it); with `exclude` over all others."""

    OPERAND: ClassVar[Kind] = ANY
    RESULT: ClassVar[Attribute | None] = None

    data = operand_def(TensorType)
    result = result_def(TensorType)
    axis = optional_ints()
    keepdims = boolean(False)
    exclude = boolean(False)
    traits = traits_def(COMM_REDUCE, Layout(_reduced, Takes.BROADCAST))

    @classmethod
    def axes(cls, sig: Signature) -> tuple[int, ...]:
        """The reduced axes, non-negative and in order."""
        rank = len(sig.shape(0))
        asked = sig.get("axis")
        axes = set(range(rank)) if asked is None else {sig.axis(a, rank) for a in asked}
        return tuple(sorted(set(range(rank)) - axes if sig.get("exclude") and asked is not None else axes))

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(cls.OPERAND)
        axes = cls.axes(sig)
        old = sig.shape(0)
        if sig.get("keepdims"):
            shape = [1 if i in axes else extent for i, extent in enumerate(old)]
        else:
            shape = [extent for i, extent in enumerate(old) if i not in axes]
        return [tensor_of(cls.RESULT or sig.types[0].element_type, shape)]


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
    traits = traits_def(Averages())

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
    traits = traits_def(Selects())

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        keep = bool(sig.get("keepdims"))
        return np.max(x, axis=Reduce.axes(sig), keepdims=keep, initial=lowest(x.dtype))


@irdl_op_definition
class MinOp(Reduce):
    """Over no elements the greatest number of the dtype, of floats inf."""

    name = "relay.min"
    traits = traits_def(Selects())

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        keep = bool(sig.get("keepdims"))
        return np.min(x, axis=Reduce.axes(sig), keepdims=keep, initial=highest(x.dtype))


@irdl_op_definition
class ProdOp(Reduce):
    """Over no elements it is 1."""

    name = "relay.prod"

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        wide = widened(x)
        return np.prod(wide, axis=Reduce.axes(sig), keepdims=bool(sig.get("keepdims")), dtype=wide.dtype)


@irdl_op_definition
class AllOp(Reduce):
    """Over no elements it is true."""

    name = "relay.all"
    OPERAND: ClassVar[Kind] = BOOLEANS

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.all(x, axis=Reduce.axes(sig), keepdims=bool(sig.get("keepdims")))


@irdl_op_definition
class AnyOp(Reduce):
    """Over no elements it is false."""

    name = "relay.any"
    OPERAND: ClassVar[Kind] = BOOLEANS

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.any(x, axis=Reduce.axes(sig), keepdims=bool(sig.get("keepdims")))


class ArgReduce(Reduce):
    """Where an element stands, in row-major order of the reduced axes, as int32: of several the first.

    With `select_last_index` the last. Where there are NaNs, it is one of them. There has to be an element.
    """

    RESULT: ClassVar[Attribute | None] = i32
    select_last_index = boolean(False)
    traits = traits_def(Layout(_arg_reduced))

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        for axis in cls.axes(sig):
            sig.require(sig.shape(0)[axis] - 1, f"at least one element along axis {axis}", str(sig.types[0]))
        return super().infer(sig)

    @classmethod
    def found(cls, rows: AnyArray) -> AnyArray:
        """The first place along the last axis."""
        raise NotImplementedError

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        axes = Reduce.axes(sig)
        rest = [axis for axis in range(x.ndim) if axis not in axes]
        rows = x.transpose(*rest, *axes).reshape(
            *[x.shape[axis] for axis in rest], prod(x.shape[axis] for axis in axes)
        )
        shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
        if sig.get("select_last_index"):
            places = rows.shape[-1] - 1 - cls.found(rows[..., ::-1])
        else:
            places = cls.found(rows)
        return places.reshape(shape if sig.get("keepdims") else rows.shape[:-1])


@irdl_op_definition
class ArgMaxOp(ArgReduce):
    name = "relay.argmax"

    @classmethod
    def found(cls, rows: AnyArray) -> AnyArray:
        return np.argmax(widened(rows), axis=-1)


@irdl_op_definition
class ArgMinOp(ArgReduce):
    name = "relay.argmin"

    @classmethod
    def found(cls, rows: AnyArray) -> AnyArray:
        return np.argmin(widened(rows), axis=-1)


@irdl_op_definition
class VarianceOp(Reduce):
    """The mean of the squares of what differs from `mean`, which broadcasts to `data`.

    With `unbiased` the sum of the squares is divided by one less than there are elements.
    """

    name = "relay.variance"
    OPERAND: ClassVar[Kind] = FLOATS
    data = operand_def(TensorType)
    mean = operand_def(TensorType)
    unbiased = boolean(False)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        wanted = [1 if axis in cls.axes(sig) else extent for axis, extent in enumerate(sig.shape(0))]
        if list(sig.shape(1)) != wanted:
            sig.fail(f"a mean of shape {wanted}", str(sig.types[1]))
        sig.same_element()
        return super().infer(sig)

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, mean: AnyArray) -> AnyArray:
        axes = Reduce.axes(sig)
        difference = widened(x) - widened(mean)
        count = prod(x.shape[axis] for axis in axes) - bool(sig.get("unbiased"))
        total = np.sum(difference * difference, axis=axes, keepdims=bool(sig.get("keepdims")))
        return total / total.dtype.type(count)
