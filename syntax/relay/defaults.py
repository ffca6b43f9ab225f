"""Attributes of operators in TVM's order, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from ...dialects.relay.attributes import to_python
from ...dialects.relay.operator import Operator
from ...support.dtypes import python_number
from .attrs import operators
from .operators import name_of

REQUIRED = object()
"""A marker instead of a default, for an attribute that is required or None by default."""
_ORDERS = {
    "nn.conv1d_transpose": ("channels", "kernel_size", "strides", "padding", "output_padding", "dilation", "groups"),
    "nn.conv2d_transpose": ("channels", "kernel_size", "strides", "padding", "output_padding", "dilation", "groups"),
    "nn.conv3d_transpose": ("channels", "kernel_size", "strides", "padding", "output_padding", "dilation", "groups"),
    "argmax": ("axis", "keepdims", "select_last_index", "exclude"),
    "argmin": ("axis", "keepdims", "select_last_index", "exclude"),
}
"""TVM's order of attributes if it differs from ours; all other attributes follow in ours."""


def defaults(op: str) -> Mapping[str, Any]:
    """Return the attributes of an operator, in order, with their defaults; none for another name."""
    operator = operators().get(op)
    return {} if operator is None else _defaults(operator)


@cache
def _defaults(op: type[Operator]) -> Mapping[str, Any]:
    values = {
        key: REQUIRED if d.default_value is None else to_python(d.default_value)
        for key, d in op.declared_attributes().items()
    }
    order = dict.fromkeys([*_ORDERS.get(name_of(op), ()), *values])
    return {key: values[key] for key in order if key in values}


def plain(value: Any) -> Any:
    """Return an attribute's value in the form of defaults: a tuple for a list, a Python number for one of numpy."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, cast("Sequence[Any]", value)))
    return python_number(value)


def completed(op: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a call with defaults for omitted ones, and without those that are None."""
    attributes = {key: value for key, value in defaults(op).items() if value is not REQUIRED}
    attributes.update((key, plain(value)) for key, value in attrs.items() if value is not None)
    return attributes
