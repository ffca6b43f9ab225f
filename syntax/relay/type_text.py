"""Types in Relay text: `Tensor[(1, ?), float32]`, `(int32, bool)`, `fn (A) -> List[A]`.

Sizes with names are expressions: `Tensor[(batch, past + 1), float32]`.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, IntegerType, TensorType, TupleType, VectorType
from xdsl.ir import Attribute

from ...dialects.element_types import dtype_name
from ...dialects.relay.types import AdtType, Forall, RefType, TypeVar
from ...dialects.sizes import same
from ...dialects.sizes.types import extents_of


def spelled(type_: Attribute) -> str:
    """Return the text of a type."""
    match type_:
        case TensorType():
            dtype = _dtype(type_.element_type)
            extents = ["?" if same(size, DYNAMIC_INDEX) else str(size) for size in extents_of(type_)]
            return f"Tensor[({', '.join(extents)}), {dtype}]" if extents else dtype
        case TupleType():
            fields = [spelled(field) for field in type_.types]
            return f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"
        case FunctionType():
            outputs = ", ".join(map(spelled, type_.outputs))
            return f"fn ({', '.join(map(spelled, type_.inputs))}) -> {outputs}"
        case Forall():
            params = ", ".join(name.data for name in type_.params)
            return f"fn [{params}]{spelled(type_.body).removeprefix('fn ')}"
        case RefType():
            return f"ref({spelled(type_.value)})"
        case AdtType():
            arguments = ", ".join(map(spelled, type_.arguments))
            name = type_.definition.string_value()
            return f"{name}[{arguments}]" if arguments else name
        case TypeVar():
            return type_.hint.data
        case _:
            return str(type_)


def _dtype(element: Attribute) -> str:
    """Return the name of an element type: `float32`, or `int8x4` for a vector."""
    if not isinstance(element, VectorType):
        return dtype_name(element)
    inner = cast(Attribute, element.element_type)
    base = "uint1" if inner == IntegerType(1) else dtype_name(inner)
    return f"{base}x{element.get_shape()[0]}"
