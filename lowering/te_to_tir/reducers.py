"""The start and the combination of each reducer."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation

from ...dialects.element_types import bit_width, is_integer, is_unsigned, stored_type
from ...provenance.builder import LocatedBuilder

_Binary = Callable[[SSAValue, SSAValue], IRDLOperation]

_EITHER_ZERO = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])
"""Flags by which either of two signed zeros may be the largest, for half the instructions."""

_FLOAT: dict[str, tuple[float, _Binary]] = {
    "sum": (0.0, arith.AddfOp),
    "prod": (1.0, arith.MulfOp),
    "max": (-math.inf, partial(arith.MaximumfOp, flags=_EITHER_ZERO)),
    "min": (math.inf, partial(arith.MinimumfOp, flags=_EITHER_ZERO)),
}
_SIGNED: dict[str, _Binary] = {
    "sum": arith.AddiOp,
    "prod": arith.MuliOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
}
_UNSIGNED: dict[str, _Binary] = _SIGNED | {"max": arith.MaxUIOp, "min": arith.MinUIOp}


def identity_attribute(reducer: str, element: Attribute) -> Attribute:
    """The value that a reduction over nothing has."""
    scalar = stored_type(element)
    if not is_integer(scalar):
        return FloatAttr(_FLOAT[reducer][0], cast(AnyFloat, scalar))
    bits = bit_width(scalar)
    least, most = (0, (1 << bits) - 1) if is_unsigned(element) else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    limits = {"sum": 0, "prod": 1, "max": least, "min": most}
    return IntegerAttr(limits[reducer], cast(IntegerType, scalar))


def identity(builder: LocatedBuilder, reducer: str, element: Attribute) -> SSAValue:
    return constant(builder, identity_attribute(reducer, element))


def constant(builder: LocatedBuilder, number: Attribute) -> SSAValue:
    """A number as a value."""
    type_ = cast(IntegerAttr | FloatAttr, number).type
    return builder.add(arith.ConstantOp.create(properties={"value": number}, result_types=[type_])).results[0]


def combine(builder: LocatedBuilder, reducer: str, element: Attribute, old: SSAValue, term: SSAValue) -> SSAValue:
    """`old` and one more `term` of a tensor's element type; scalars no longer know their sign."""
    integer = _UNSIGNED if is_unsigned(element) else _SIGNED
    make = integer[reducer] if is_integer(element) else _FLOAT[reducer][1]
    return builder.add(make(old, term)).results[0]
