"""Element types of tensors and buffers: each of TVM's dtype names has one, and so has numpy's dtype of it."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    FixedBitwidthType,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ..support.dtypes import SMALL, Array, numpy_of
from ..support.identity import by_identity
from .sizes.types import tensor_of

DTYPES: dict[str, Attribute] = {
    "float16": f16,
    "float32": f32,
    "float64": f64,
    "bfloat16": bf16,
    "bool": i1,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "uint8": IntegerType(8, Signedness.UNSIGNED),
    "uint16": IntegerType(16, Signedness.UNSIGNED),
    "uint32": IntegerType(32, Signedness.UNSIGNED),
    "uint64": IntegerType(64, Signedness.UNSIGNED),
    "int4": IntegerType(4),
    "uint4": IntegerType(4, Signedness.UNSIGNED),
    "int2": IntegerType(2),
    "uint2": IntegerType(2, Signedness.UNSIGNED),
    "float8_e4m3fn": Float8E4M3FNType(),
    "float8_e4m3fnuz": Float8E4M3FNUZType(),
    "float8_e5m2": Float8E5M2Type(),
    "float8_e5m2fnuz": Float8E5M2FNUZType(),
    "float8_e8m0fnu": Float8E8M0FNUType(),
    "float4_e2m1fn": Float4E2M1FNType(),
}
"""TVM's dtype names -> element types."""

_NAMES = {type_: name for name, type_ in DTYPES.items()}


def dtype_name(element: Attribute) -> str:
    """TVM's name of an element type (`float32`)."""
    if element not in _NAMES:
        raise VerifyException(f"expected an element type among {', '.join(DTYPES)}, got {element}")
    return _NAMES[element]


def numpy_dtype(element: Attribute) -> np.dtype[np.generic]:
    """The numpy dtype of an element type."""
    name = dtype_name(element)
    return numpy_of(name)


def element_type(dtype: np.dtype[np.generic] | type[np.generic]) -> Attribute:
    """The element type of a numpy dtype.

    Raises VerifyException for dtypes that are no tensor element (object, complex, ...).
    """
    name = np.dtype(dtype).name
    if name not in DTYPES:
        raise VerifyException(f"expected a dtype among {', '.join(DTYPES)}, got {name}")
    return DTYPES[name]


def tensor_type(array: Array) -> TensorType[Attribute]:
    """The tensor type of an array."""
    return tensor_of(element_type(array.dtype), array.shape)


def is_small(element: Attribute) -> bool:
    """Return whether a cast comes before anything is computed with such elements."""
    return dtype_name(element) in SMALL


@by_identity(1 << 8)
@lru_cache(maxsize=1 << 8)
def stored_type(element: Attribute) -> Attribute:
    """The scalar type that computes on elements of a tensor: signless integers, floats as they are."""
    return IntegerType(bit_width(element)) if is_integer(element) else element


def is_integer(element: Attribute) -> bool:
    return isinstance(element, IntegerType)


def is_unsigned(element: Attribute) -> bool:
    """Return whether numbers of an element type are integers that are never negative; bool is 0 or 1."""
    if not isinstance(element, IntegerType):
        return False
    integer = cast("IntegerType[int, Signedness]", element)
    return integer.signedness.data is Signedness.UNSIGNED or integer.width.data == 1


def bit_width(element: Attribute) -> int:
    """The bits of an element type."""
    if isinstance(element, IntegerType):
        return cast("IntegerType[int, Signedness]", element).width.data
    return cast(FixedBitwidthType, element).bitwidth
