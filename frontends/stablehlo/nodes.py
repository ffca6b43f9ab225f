"""Ops of StableHLO as the importer takes them: properties as Python's values, bodies by what they compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation

from ...dialects.stablehlo.attributes import ConvAttr, Record, Word
from ..importing import node

Shape: TypeAlias = "tuple[int | None, ...]"
"""Extents; None for those that a call decides."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Node(node.Node):
    """An op of the program, or what a step stands for beside that."""

    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: str = ""
    """The computation of the op's region, as `bodies.recognised` names it."""
    body_text: str = ""
    """The region's ops, for errors."""
    results: tuple[TensorType[Attribute], ...] = ()
    """The types that the program says."""


CUSTOM_CALL = "custom_call @"
"""The prefix of the operator's name of a custom call, before its target."""


def attributes_of(op: Operation) -> dict[str, Any]:
    """The properties of an op as Python's values; those of a record are the op's own."""
    result: dict[str, Any] = {}
    for name, attribute in (*op.attributes.items(), *op.properties.items()):
        if isinstance(attribute, Record):
            result |= attribute.values()
        elif not isinstance(attribute, DenseIntOrFPElementsAttr) or len(cast("Any", attribute)) <= 1024:
            result[name] = _plain(cast("Attribute", attribute))
    return result


def _plain(attribute: Attribute) -> Any:
    match attribute:
        case IntegerAttr():
            return attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase() | DenseIntOrFPElementsAttr():
            return tuple(cast("Any", attribute).get_values())
        case ArrayAttr():
            return tuple(map(_plain, attribute))
        case DictionaryAttr():
            return {key: _plain(value) for key, value in attribute.data.items()}
        case SymbolRefAttr():
            return attribute.root_reference.data
        case Word():
            return attribute.value.data
        case ConvAttr():
            return attribute.labels()
        case UnitAttr():
            return True
        case _:
            return attribute
