"""Constants that passes put in, and the types of vectors."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute

from ....dialects.element_types import is_integer
from ....dialects.tir.lanes import scalar_type

_INDEX = IndexType()


@lru_cache(maxsize=1 << 10)
def vector_type(element: Attribute, width: int) -> VectorType[Attribute]:
    """`width` lanes of `element`."""
    return VectorType(element, [width])


@lru_cache(maxsize=1 << 10)
def stride_attribute(stride: int) -> IntegerAttr:
    return IntegerAttr(stride, i64)


@lru_cache(maxsize=1 << 10)
def splat(value: Attribute, type: Attribute) -> Attribute:
    """`value` for every lane of `type`; itself for a scalar type or when it has the lanes already."""
    if isinstance(type, VectorType) and isinstance(value, FloatAttr | IntegerAttr):
        number = cast(IntegerAttr, value).value.data
        return DenseIntOrFPElementsAttr.from_list(cast(VectorType[IndexType], type), [number])
    return value


def constant(value: Attribute, type: Attribute, location: LocationAttr) -> ConstantOp:
    """A constant of `type`, `value` in every lane."""
    return ConstantOp.create(result_types=[type], properties={"value": splat(value, type)}, location=location)


def index_constant(value: int, location: LocationAttr) -> ConstantOp:
    return constant(IntegerAttr(value, _INDEX), _INDEX, location)


def zero(type: Attribute) -> Attribute:
    """0 as a constant of a scalar or vector type: what a load that does not happen gives."""
    scalar = scalar_type(type)
    whole = is_integer(scalar) or isinstance(scalar, IndexType)
    number = IntegerAttr(0, cast(IntegerType, scalar)) if whole else FloatAttr(0, cast(AnyFloat, scalar))
    return splat(number, type)
