"""Attributes of operators and functions as text: those that differ from the defaults, in TVM's order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from ...dialects.sizes import SizeExpr
from ...support.dtypes import Array
from ..relay.defaults import defaults, plain
from ..relay.expr import VirtualDevice
from .expressions import ATTRS_TYPE_KEY
from .literals import float_digits
from .metadata import CONSTANT, DEVICE, STRING, MetadataWriter

_WITHOUT_DEFAULT = {
    "nn.dense": ("units",),
    "nn.matmul": ("units",),
    "nn.contrib_dense_pack": ("units",),
    "qnn.dense": ("units",),
    "transpose": ("axes",),
}
"""The attributes that TVM shows even if they are None."""


def operator_attributes(op: str, attrs: Mapping[str, Any], meta: MetadataWriter) -> Iterator[str]:
    """Yield `key=value` for attributes that differ from their default, or, without a default, from None."""
    declared = defaults(op)
    always = _WITHOUT_DEFAULT.get(op, ())
    for key, default in declared.items():
        value = attrs.get(key)
        if key in always or (key in attrs and value is not None and plain(value) != default):
            yield f"{key}={value_text(value, meta)}"
    for key, value in attrs.items():
        if key not in declared and value is not None:
            yield f"{key}={value_text(value, meta)}"


def call_attributes(attrs: Mapping[str, Any], meta: MetadataWriter) -> Iterator[str]:
    """Yield the attributes of a call of anything but an operator, their type key last."""
    for key in sorted(attrs, key=lambda key: key == ATTRS_TYPE_KEY):
        yield f"{key}={value_text(attrs[key], meta)}"


def function_attributes(attrs: Mapping[str, Any], meta: MetadataWriter) -> Iterator[str]:
    for key, value in attrs.items():
        yield f"{key}={value_text(value, meta)}"


def value_text(value: Any, meta: MetadataWriter) -> str:
    """Return the text of an attribute's value."""
    match value:
        case None | bool():
            return str(value)
        case np.generic():
            return value_text(value.item(), meta)
        case int() | SizeExpr():
            return str(value)
        case float():
            return f"{float_digits(value)}f"
        case str() if '"' in value or "\n" in value:
            return meta.reference(STRING, value, value)
        case str():
            return f'"{value}"'
        case VirtualDevice():
            return meta.reference(DEVICE, value, value)
        case np.ndarray():
            array = cast(Array, value)
            return meta.reference(CONSTANT, array, id(array))
        case _:
            return f"[{', '.join(value_text(item, meta) for item in value)}]"
