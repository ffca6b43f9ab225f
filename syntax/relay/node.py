"""The base of all expressions: a span and identity, as in TVM."""

from __future__ import annotations

from typing import TypeAlias

from ...provenance.span import SequentialSpan, Span

AnySpan: TypeAlias = Span | SequentialSpan | None


class Node:
    span: AnySpan = None
    """The source of the node. It is no dataclass field here so that subclasses have it as last argument, as in TVM."""

    def same_as(self, other: object) -> bool:
        """Return whether `other` is this very object."""
        return self is other
