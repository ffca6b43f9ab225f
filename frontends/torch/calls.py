"""The steps of a program: calls of operators, and the values among their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..importing.node import Node as ModelNode
from .schema import Argument, Graph, Name, ScalarType, TensorMeta, Unread


@dataclass(frozen=True)
class At:
    """An argument that is an input of the step."""

    index: int
    number: bool = False


Operand: TypeAlias = "bool | int | float | complex | str | At | ScalarType | Unread | tuple[Operand, ...] | None"


@dataclass(frozen=True, eq=False, kw_only=True)
class Call(ModelNode):
    """The call of an operator that a step is."""

    arguments: Mapping[str, Operand]
    metas: Sequence[TensorMeta | None]
    """The exporter's metadata of the outputs."""
    operands: Sequence[TensorMeta | None] = ()
    """The exporter's metadata of the inputs."""
    in_place: bool = False
    """True if the result is new contents of the first value, in its shape and element type."""


def values_in(arguments: Mapping[str, Argument]) -> list[str]:
    """Return the names of the values in arguments, each once, in order."""
    names: dict[str, None] = {}

    def visit(value: Argument) -> None:
        if isinstance(value, Name):
            names[value.name] = None
        elif isinstance(value, tuple):
            for item in value:
                visit(item)

    for value in arguments.values():
        visit(value)
    return list(names)


def placed(value: Argument, order: Mapping[str, int]) -> Operand:
    if isinstance(value, Name):
        return At(order[value.name], value.number)
    if isinstance(value, tuple):
        return tuple(placed(item, order) for item in value)
    return None if isinstance(value, Graph) else value
