"""Scalar types behind tensors, and the names that reductions have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerType, Signedness
from xdsl.ir import Attribute, Block, SSAValue

INDEX = IndexType()
I32 = IntegerType(32)

REDUCERS = ("sum", "prod", "max", "min")
"""How a reduction combines: `sum` starts from 0, `prod` from 1, `max` and `min` from the least and greatest value."""


def stored_type(element: Attribute) -> Attribute:
    """The scalar type that computes on elements of a tensor: signless integers, floats as they are."""
    return IntegerType(bit_width(element)) if is_integer(element) else element


def is_integer(element: Attribute) -> bool:
    return isinstance(element, IntegerType)


def is_unsigned(element: Attribute) -> bool:
    """Whether numbers of an element type are integers that are never negative; bool is 0 or 1."""
    if not isinstance(element, IntegerType):
        return False
    integer = cast("IntegerType[int, Signedness]", element)
    return integer.signedness.data is Signedness.UNSIGNED or integer.width.data == 1


def bit_width(element: Attribute) -> int:
    """The bits of an integer type."""
    return cast(IntegerType, element).width.data


def behind(values: Sequence[SSAValue], block: Block) -> set[SSAValue]:
    """The values of a block that `values` are computed from, themselves among them."""
    found: set[SSAValue] = set()
    stack = list(values)
    while stack:
        if (value := stack.pop()) not in found:
            found.add(value)
            if not isinstance(value.owner, Block) and value.owner.parent is block:
                stack.extend(value.owner.operands)
    return found
