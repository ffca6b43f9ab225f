"""The base of all expressions: a span and identity, as TVM's objects have."""

from __future__ import annotations

from typing import TypeAlias

from ...provenance.span import SequentialSpan, Span

AnySpan: TypeAlias = Span | SequentialSpan | None


class Node:
    span: AnySpan = None
    """The source of the node. Not a dataclass field here, so that in subclasses it is the last argument, as in TVM."""

    def same_as(self, other: object) -> bool:
        """Return whether it is the same object."""
        return self is other
