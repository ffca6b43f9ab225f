"""Definitions that names mean: scopes of variables, graph bindings and type variables, and a module's own names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..relay.expr import Constructor, Expr, Program, TypeData, Var

ValueT = TypeVar("ValueT")


class Scopes(Generic[ValueT]):
    """Names to what they mean here, inner scopes before outer ones.

    A name has a stack of meanings, so that neither depth nor number of scopes costs a look-up anything.
    """

    def __init__(self) -> None:
        self._meanings: dict[str, list[tuple[int, ValueT]]] = {}
        self._added: list[list[str]] = [[]]

    def push(self) -> None:
        self._added.append([])

    def pop(self) -> None:
        for name in self._added.pop():
            self._meanings[name].pop()

    def add(self, name: str, value: ValueT) -> bool:
        """Give a name a meaning in the innermost scope; False when it had one there already."""
        depth = len(self._added)
        meanings = self._meanings.setdefault(name, [])
        fresh = not meanings or meanings[-1][0] != depth
        meanings.append((depth, value))
        self._added[-1].append(name)
        return fresh

    def add_outermost(self, name: str, value: ValueT) -> None:
        """Give a name a meaning that no scope ends, behind those that it has."""
        self._meanings.setdefault(name, []).insert(0, (1, value))

    def get(self, name: str) -> ValueT | None:
        meanings = self._meanings.get(name)
        return meanings[-1][1] if meanings else None


@dataclass
class Names:
    """All that names may mean at one point of a text."""

    program: Program
    variables: Scopes[Var] = field(default_factory=Scopes[Var])
    graph: Scopes[Expr] = field(default_factory=Scopes[Expr])
    type_variables: Scopes[str] = field(default_factory=Scopes[str])
    constructors: dict[str, Constructor] = field(default_factory=dict[str, Constructor])

    def __post_init__(self) -> None:
        for data in self.program.types.values():
            self.declare(data)

    def declare(self, data: TypeData) -> None:
        """The constructors of a type become known."""
        self.constructors.update({constructor.name_hint: constructor for constructor in data.constructors})

    def push(self) -> None:
        self.variables.push()
        self.graph.push()

    def pop(self) -> None:
        self.variables.pop()
        self.graph.pop()
