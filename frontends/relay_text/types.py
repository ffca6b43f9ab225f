"""Types as text: `Tensor[(1, ?), float32]`, `(int32,)`, `fn (A) -> List[A]`, `ref(int32)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, IntegerType, TensorType, TupleType, VectorType
from xdsl.ir import Attribute

from ...dialects.element_types import DTYPES, dtype_name
from ...dialects.relay.types import AdtType, Forall, RefType, TypeVar
from ...support.errors import FrontendError

_VECTOR = re.compile(r"([a-z]+[0-9]+)x([0-9]+)")
DEEPEST = 200
"""How far types, patterns and lists of attributes may nest."""


def dtype_of(name: str) -> Attribute | None:
    """The element type of a dtype such as `float32` or `int8x4`; None for what is none."""
    if (found := DTYPES.get(name)) is not None:
        return found
    if (vector := _VECTOR.fullmatch(name)) is None or not 1 < int(vector[2]) < 1 << 16:
        return None
    element = IntegerType(1) if vector[1] == "uint1" else DTYPES.get(vector[1])
    return VectorType(element, [int(vector[2])]) if element is not None else None


def scalar(element: Attribute) -> TensorType[Attribute]:
    """The type of a tensor without axes."""
    return TensorType(element, [])


def type_text(type_: Attribute) -> str:
    """How the text spells a type."""
    match type_:
        case TensorType():
            tensor = type_
            dtype = _dtype_text(tensor.element_type)
            extents = ("?" if extent == DYNAMIC_INDEX else str(extent) for extent in tensor.get_shape())
            return f"Tensor[({', '.join(extents)}), {dtype}]" if tensor.get_num_dims() else dtype
        case TupleType():
            return tuple_text([type_text(field) for field in type_.types])
        case FunctionType():
            return f"fn {_signature(type_)}"
        case Forall():
            return f"fn [{', '.join(name.data for name in type_.params)}]{_signature(type_.body)}"
        case RefType():
            return f"ref({type_text(type_.value)})"
        case TypeVar():
            return type_.hint.data
        case AdtType():
            arguments = ", ".join(map(type_text, type_.arguments))
            return type_.definition.string_value() + (f"[{arguments}]" if arguments else "")
        case _:
            raise FrontendError(f"Relay text: expected a type of Relay, got {type_}")


def tuple_text(fields: Sequence[str]) -> str:
    """`()`, `(1,)`, `(1, 2)`."""
    return f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"


def _dtype_text(element: Attribute) -> str:
    if isinstance(element, VectorType):
        vector = cast("VectorType[Attribute]", element)
        base = "uint1" if vector.element_type == IntegerType(1) else dtype_name(vector.element_type)
        return f"{base}x{vector.get_shape()[0]}"
    return dtype_name(element)


def _signature(function: FunctionType) -> str:
    (output,) = function.outputs
    return f"({', '.join(map(type_text, function.inputs))}) -> {type_text(output)}"
