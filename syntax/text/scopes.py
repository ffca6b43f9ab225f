"""The meanings of names: scopes of variables, graph bindings and type variables, and a module's own names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..relay.expr import Constructor, Expr, Program, TypeData, Var

ValueT = TypeVar("ValueT")


class Scopes(Generic[ValueT]):
    """The meanings of names at one point; inner scopes come before outer ones.

    A name has a stack of meanings, so that the cost of a look-up does not depend on depth or number of scopes.
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
        """Add a meaning of a name in the innermost scope; return False if it had one there already."""
        depth = len(self._added)
        meanings = self._meanings.setdefault(name, [])
        fresh = not meanings or meanings[-1][0] != depth
        meanings.append((depth, value))
        self._added[-1].append(name)
        return fresh

    def add_outermost(self, name: str, value: ValueT) -> None:
        """Add a meaning of a name that no scope ends and that all its other meanings hide."""
        self._meanings.setdefault(name, []).insert(0, (1, value))

    def get(self, name: str) -> ValueT | None:
        meanings = self._meanings.get(name)
        return meanings[-1][1] if meanings else None


@dataclass
class Names:
    """The meanings of all names at one point of a text."""

    program: Program
    variables: Scopes[Var] = field(default_factory=Scopes[Var])
    graph: Scopes[Expr] = field(default_factory=Scopes[Expr])
    type_variables: Scopes[str] = field(default_factory=Scopes[str])
    constructors: dict[str, Constructor] = field(default_factory=dict[str, Constructor])

    def __post_init__(self) -> None:
        for data in self.program.types.values():
            self.declare(data)

    def declare(self, data: TypeData) -> None:
        """Declare the constructors of a type."""
        self.constructors.update({constructor.name_hint: constructor for constructor in data.constructors})

    def push(self) -> None:
        self.variables.push()
        self.graph.push()

    def pop(self) -> None:
        self.variables.pop()
        self.graph.pop()
