"""The steps of a program: calls of operators, the values among their arguments, and what a program keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..importing.node import Node as ModelNode
from .schema import Argument, Graph, Name, ScalarType, TensorMeta, Unread


@dataclass(frozen=True)
class At:
    """An argument that is a value: the place of it among the inputs of the step."""

    index: int
    number: bool = False


Operand: TypeAlias = "bool | int | float | complex | str | At | ScalarType | Unread | tuple[Operand, ...] | None"


@dataclass(frozen=True, eq=False, kw_only=True)
class Call(ModelNode):
    """The call of an operator that a step is."""

    arguments: Mapping[str, Operand]
    metas: Sequence[TensorMeta | None]
    """Of the outputs, what the exporter knew."""
    operands: Sequence[TensorMeta | None] = ()
    """Of the inputs, what the exporter knew."""
    in_place: bool = False
    """True if the first value keeps its shape and element type: its new contents are the result."""


def values_in(arguments: Mapping[str, Argument]) -> list[str]:
    """The names of the values in arguments, each once, in order."""
    result: dict[str, None] = {}

    def visit(value: Argument) -> None:
        if isinstance(value, Name):
            result[value.name] = None
        elif isinstance(value, tuple):
            for item in value:
                visit(item)

    for value in arguments.values():
        visit(value)
    return list(result)


def placed(value: Argument, order: Mapping[str, int]) -> Operand:
    if isinstance(value, Name):
        return At(order[value.name], value.number)
    if isinstance(value, tuple):
        return tuple(placed(item, order) for item in value)
    return None if isinstance(value, Graph) else value
