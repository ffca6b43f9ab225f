"""The parts of a node that affect its results: if its converter never asks for one, the node is refused."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class NodePart:
    """An input, or an attribute, option or field that differs from its default."""

    key: int | str
    """The number of an input; the name of an attribute."""
    kind: str
    """`input`, or the format's term for attributes."""
    name: str
    """The name in the operator's schema; empty if there is no schema."""
    value: str
    """The value as an error shows it."""

    def __str__(self) -> str:
        if isinstance(self.key, str):
            return f"{self.kind} '{self.name}'"
        return f"{self.kind} {self.key} ({self.name})" if self.name else f"{self.kind} {self.key}"


@dataclass
class Asked:
    """The parts of a node that a converter asked for."""

    inputs: set[int] = field(default_factory=set[int])
    attributes: set[str] = field(default_factory=set[str])
    names: dict[int, str] = field(default_factory=dict[int, str])
    """Number of an input -> the name by which a row asked for it."""

    def __contains__(self, part: NodePart) -> bool:
        return part.key in (self.attributes if isinstance(part.key, str) else self.inputs)
