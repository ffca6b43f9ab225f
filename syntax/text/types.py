"""Types in the text beyond `relay.type_text`: dtypes, and the limit of nesting."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, TensorType, VectorType
from xdsl.ir import Attribute

from ...dialects.element_types import DTYPES

_VECTOR = re.compile(r"([a-z]+[0-9]+)x([0-9]+)")
_SHORT = {"int": "int32", "uint": "uint32", "float": "float32"}
"""Dtypes without a width."""
DEEPEST = 200
"""The largest depth to which types, patterns and lists of attributes may nest."""


def dtype_of(name: str) -> Attribute | None:
    """Return the element type of a dtype such as `float32` or `int8x4`; None if there is no such dtype."""
    if (element := DTYPES.get(_SHORT.get(name, name))) is not None:
        return element
    if (vector := _VECTOR.fullmatch(name)) is None or not 1 < int(vector[2]) < 1 << 16:
        return None
    element = IntegerType(1) if vector[1] == "uint1" else DTYPES.get(vector[1])
    return VectorType(element, [int(vector[2])]) if element is not None else None


def scalar(element: Attribute) -> TensorType[Attribute]:
    """Return the type of a tensor without axes."""
    return TensorType(element, [])


def tuple_text(fields: Sequence[str]) -> str:
    """Return a tuple as text: `()`, `(1,)`, `(1, 2)`."""
    return f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"
