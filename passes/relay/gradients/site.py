"""The site of a rule of differentiation: the operator, and helpers that build the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ....dialects.element_types import dtype_name, is_integer, numpy_dtype
from ....dialects.relay.collapse import CollapseSumToOp
from ....dialects.relay.core import ConstantOp
from ....dialects.relay.elementwise import (
    AddOp,
    CastOp,
    DivideOp,
    LessOp,
    MultiplyOp,
    NegativeOp,
    SubtractOp,
    ZerosLikeOp,
)
from ....dialects.relay.logic import WhereOp
from ....dialects.relay.operator import Operator, element_of, shape_of
from ....dialects.relay.transform import BroadcastToOp, ReshapeOp, StridedSliceOp, TransposeOp
from ....dialects.sizes.types import is_open
from ....provenance.builder import LocatedBuilder
from ....provenance.diagnostics import fail


def is_smooth(value: SSAValue) -> bool:
    """Return whether a value is a tensor of floats, which has a gradient."""
    return isinstance(value.type, TensorType) and not is_integer(element_of(value))


class Site:
    """An operator, with the values that it reads and makes, and where the ops of its gradient go."""

    def __init__(self, op: Operator, module: ModuleOp, builder: LocatedBuilder):
        self.op = op
        self.module = module
        self.builder = builder
        self.sig = op.signature

    @property
    def x(self) -> SSAValue:
        return self.op.operands[0]

    @property
    def y(self) -> SSAValue:
        """The first result."""
        return self.op.results[0]

    def add(self, op: Operation) -> SSAValue:
        """Append an op; its first result."""
        return self.builder.add(op).results[0]

    def scalar(self, number: float, like: SSAValue) -> SSAValue:
        """A constant of the element type of a value."""
        array = np.array(number, numpy_dtype(element_of(like)))
        return self.add(ConstantOp.of(array, self.module, "const"))

    def mul(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.add(MultiplyOp(a, b if isinstance(b, SSAValue) else self.scalar(b, a)))

    def plus(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.add(AddOp(a, b if isinstance(b, SSAValue) else self.scalar(b, a)))

    def sub(self, a: SSAValue | float, b: SSAValue) -> SSAValue:
        return self.add(SubtractOp(a if isinstance(a, SSAValue) else self.scalar(a, b), b))

    def div(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.add(DivideOp(a, b if isinstance(b, SSAValue) else self.scalar(b, a)))

    def neg(self, a: SSAValue) -> SSAValue:
        return self.add(NegativeOp(a))

    def zeros(self, like: SSAValue) -> SSAValue:
        return self.add(ZerosLikeOp(like))

    def less(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.add(LessOp(a, b if isinstance(b, SSAValue) else self.scalar(b, a)))

    def where(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.add(WhereOp(condition, a, b))

    def cast(self, a: SSAValue, like: SSAValue) -> SSAValue:
        """To the element type of a value."""
        if element_of(a) == element_of(like):
            return a
        return self.add(CastOp(a, dtype=dtype_name(element_of(like))))

    def collapse(self, grad: SSAValue, like: SSAValue) -> SSAValue:
        """The sum over what a broadcast to the gradient's shape repeated of a value."""
        if shape_of(grad) == shape_of(like):
            return grad
        return self.add(CollapseSumToOp(grad, shape=shape_of(like)))

    def reshape(self, a: SSAValue, shape: Sequence[int]) -> SSAValue:
        if shape_of(a) == tuple(shape):
            return a
        return self.add(ReshapeOp(a, newshape=list(shape)))

    def broadcast(self, a: SSAValue, shape: Sequence[int]) -> SSAValue:
        if shape_of(a) == tuple(shape):
            return a
        return self.add(BroadcastToOp(a, shape=list(shape)))

    def transpose(self, a: SSAValue, axes: Sequence[int]) -> SSAValue:
        if tuple(axes) == tuple(range(len(axes))):
            return a
        return self.add(TransposeOp(a, axes=list(axes)))

    def cut(self, a: SSAValue, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] = ()) -> SSAValue:
        """A slice along the first axes. Raises VerifyException where extents are open: ends are not known then."""
        if is_open(a.type):
            fail(self.op, "known extents, to take a gradient", str(a.type))
        steps = list(strides) or [1] * len(begin)
        return self.add(StridedSliceOp(a, begin=list(begin), end=list(end), strides=steps))


Gradients: TypeAlias = Sequence[SSAValue | None]
"""A gradient for each operand; None for an operand that the results do not depend on smoothly."""
Rule: TypeAlias = Callable[[Site, Sequence[SSAValue]], Gradients]
"""The gradients of the operands for those of the results."""
