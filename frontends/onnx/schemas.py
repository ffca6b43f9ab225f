"""The names of the inputs and the defaults of the attributes of an ONNX operator in an opset.

Operators of com.microsoft have only names of inputs, and other operators outside of the standard have an empty schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from onnx import AttributeProto, NodeProto, defs, helper

from .contrib_inputs import INPUTS

HINTS = {
    "broadcast": "before opset 7 said that shapes differ, which they show",
    "consumed_inputs": "in opset 1 said which inputs may be overwritten",
}
"""Attributes of many operators that do not change the results, and why."""


@dataclass(frozen=True)
class Schema:
    """An operator in an opset."""

    inputs: tuple[str, ...] = ()
    variadic: bool = False
    """True if the last input stands for any number of inputs."""
    attributes: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The default of each attribute that has one."""

    def input_names(self, count: int) -> Sequence[str]:
        """Return the names of the first inputs."""
        more = count - len(self.inputs) if self.variadic else 0
        return [*self.inputs, *self.inputs[-1:] * more]

    def is_default(self, attribute: AttributeProto) -> bool:
        """Return whether an attribute equals its default."""
        if attribute.name not in self.defaults:
            return False
        return bool(helper.get_attribute_value(attribute) == self.defaults[attribute.name])


@cache
def _schema(domain: str, op_type: str, opset: int) -> Schema:
    if domain == "com.microsoft":
        return Schema(tuple(INPUTS.get(op_type, "").split()), variadic=op_type == "QLinearConcat")
    try:
        schema = defs.get_schema(op_type, opset, domain)
    except defs.SchemaError:
        return Schema()
    variadic = bool(schema.inputs) and schema.inputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic
    defaults = {name: attribute.default_value for name, attribute in schema.attributes.items()}
    stated = {name: helper.get_attribute_value(value) for name, value in defaults.items() if value.name}
    return Schema(tuple(parameter.name for parameter in schema.inputs), variadic, tuple(defaults), stated)


def schema_of(node: NodeProto, opset: int) -> Schema:
    """Return the schema of a node's operator; an empty one where the standard has none."""
    return _schema("" if node.domain == "ai.onnx" else node.domain, node.op_type, opset)


_MOST = 8
"""The greatest number of items of a list that an error shows."""


def shown(attribute: AttributeProto) -> str:
    """Return the value of an attribute in the form that errors show."""
    match attribute.type:
        case AttributeProto.STRING:
            return repr(attribute.s.decode(errors="replace"))
        case AttributeProto.STRINGS:
            items: list[object] = [text.decode(errors="replace") for text in attribute.strings]
        case AttributeProto.INT | AttributeProto.FLOAT:
            return str(helper.get_attribute_value(attribute))
        case AttributeProto.INTS | AttributeProto.FLOATS:
            items = [*attribute.ints, *attribute.floats]
        case _:
            return f"a {AttributeProto.AttributeType.Name(attribute.type)}"
    return str(items) if len(items) <= _MOST else f"{len(items)} items"
