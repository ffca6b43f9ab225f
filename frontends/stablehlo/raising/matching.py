"""Tests that the patterns make on values: for a number, a reduction or a difference."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ....dialects.relay.canonicalization.constant_operands import one_number
from ....dialects.relay.elementwise import SubtractOp
from ....dialects.relay.operator import shape_of
from ....dialects.relay.reduce import Reduce
from ....dialects.relay.transform import BroadcastToOp, ReshapeOp
from ....dialects.sizes import same, same_shape

OpT = TypeVar("OpT", bound=Operation)


def made_by(value: SSAValue, kind: type[OpT]) -> OpT | None:
    """Return the op that computes a value, if it is of a class."""
    return value.owner if isinstance(value.owner, kind) else None


def narrow(value: SSAValue) -> SSAValue:
    """Return the value before reshapes and broadcasts."""
    while isinstance(op := value.owner, ReshapeOp | BroadcastToOp):
        value = op.operands[0]
    return value


def number(value: SSAValue, module: ModuleOp) -> float | None:
    """Return the number that all elements of a value equal, if it is known."""
    array = one_number(narrow(value), module)
    return None if array is None else float(array)


def reduction(value: SSAValue, kind: type[Reduce], data: SSAValue) -> int | None:
    """Return the axis, counted from 0, along which a value is a reduction of data; None for another value.

    The value has extent 1 along the axis, or is repeated along it.
    """
    op = made_by(narrow(value), kind)
    if op is None or op.operands[0] is not data:
        return None
    axes = kind.axes(op.signature)
    if len(axes) != 1:
        return None
    axis = axes[0] % len(shape_of(data))
    kept = tuple(1 if at == axis else extent for at, extent in enumerate(shape_of(data)))
    shape = shape_of(value)
    return axis if same_shape(shape, kept) or same_shape(shape, shape_of(data)) else None


def difference_from(value: SSAValue, kind: type[Reduce]) -> tuple[SSAValue, int] | None:
    """Return the data and the axis of a value that is data minus their reduction; None for another value."""
    difference = made_by(value, SubtractOp)
    if difference is None or not same_shape(shape_of(difference.lhs), shape_of(value)):
        return None
    axis = reduction(difference.rhs, kind, difference.lhs)
    return None if axis is None else (difference.lhs, axis)


def vector_along(value: SSAValue, axis: int, shape: tuple[int, ...]) -> bool:
    """Return whether a value that broadcasts to a shape is a vector along an axis of its full extent."""
    extents = shape_of(value)
    padded = (1,) * (len(shape) - len(extents)) + extents
    if len(extents) > len(shape):
        return False
    return all(same(extent, shape[at]) if at == axis else same(extent, 1) for at, extent in enumerate(padded))
