"""Numbers that passes put in."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute

from ....dialects.element_types import is_integer
from ....dialects.tir.lanes import scalar_type
from .common import splat


def zero(type: Attribute) -> Attribute:
    """0 as a constant of a scalar or vector type: what a load that does not happen gives."""
    scalar = scalar_type(type)
    number = IntegerAttr(0, cast(IntegerType, scalar)) if is_integer(scalar) else FloatAttr(0, cast(AnyFloat, scalar))
    return splat(number, type)
