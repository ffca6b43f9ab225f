"""The types of tir in LLVM: in registers, and in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute

from ...dialects.element_types import bit_width, stored_type

PTR = llvm.LLVMPointerType()
VOID = llvm.LLVMVoidType()


def vector_type(type_: Attribute) -> VectorType[Attribute] | None:
    """The type itself if it is a vector's, else None."""
    return cast(VectorType[Attribute], type_) if isinstance(type_, VectorType) else None


def is_integer(type_: Attribute) -> bool:
    return isinstance(type_, IntegerType)


def lanes(type_: Attribute) -> int:
    """Return how many numbers a value holds."""
    vector = vector_type(type_)
    return vector.get_shape()[0] if vector is not None else 1


def element(type_: Attribute) -> Attribute:
    vector = vector_type(type_)
    return vector.element_type if vector is not None else type_


def like(type_: Attribute, scalar: Attribute) -> Attribute:
    """`scalar`, or a vector of it with as many lanes as `type_` has."""
    vector = vector_type(type_)
    return _vector(scalar, vector.get_shape()) if vector is not None else scalar


@cache
def _vector(scalar: Attribute, shape: tuple[int, ...]) -> Attribute:
    """Made once: to make one takes much longer than to find it."""
    return VectorType(scalar, shape)


def register_type(type_: Attribute) -> Attribute:
    """The type of a value in LLVM: `index` is i64, signs are dropped."""
    vector = vector_type(type_)
    scalar = vector.element_type if vector is not None else type_
    if isinstance(scalar, IndexType):
        return like(type_, i64)
    signless = stored_type(scalar) if is_integer(scalar) else scalar
    return type_ if signless == scalar else like(type_, signless)


def memory_type(element: Attribute) -> Attribute:
    """The type of a buffer's element in memory: bool takes a byte."""
    type_ = register_type(element)
    return i8 if type_ == i1 else type_


def number_attribute(value: float, type_: Attribute) -> Attribute:
    """The constant attribute of a number as a scalar or, in all lanes, as a vector."""
    vector, scalar = vector_type(type_), element(type_)
    if vector is not None:
        return numbers_attribute([value], vector)
    if is_integer(scalar):
        return IntegerAttr(int(value), bit_width(scalar))
    return FloatAttr(value, cast(AnyFloat, scalar))


def numbers_attribute(values: Sequence[float], type_: VectorType[Attribute]) -> Attribute:
    """The constant attribute of a vector: one number for all lanes, or one for each."""
    if is_integer(type_.element_type):
        return DenseIntOrFPElementsAttr.from_list(cast(VectorType[IntegerType], type_), list(map(int, values)))
    return DenseIntOrFPElementsAttr.from_list(cast(VectorType[AnyFloat], type_), list(values))
