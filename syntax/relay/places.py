"""Locations of expressions: from spans and back, and names for expressions without spans."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, NameLoc

from ...provenance.span import UNWRITTEN, SequentialSpan, Span, is_known, layer_location, leaves, positions
from ...support.context import spans_enabled
from .expr import AnySpan, Expr


def location_of(span: AnySpan) -> LocationAttr:
    """Return the location of a span; unknown without one."""
    return span.location if span is not None else UNKNOWN_LOC


def span_of(location: LocationAttr) -> AnySpan:
    """Return the span of a location, without the parts that nobody wrote."""
    written = [leaf for leaf in leaves(location) if not _is_unwritten(leaf)]
    if len(written) == 1:
        return Span.of(written[0])
    return SequentialSpan(written) if written else None


def _is_unwritten(leaf: LocationAttr) -> bool:
    return isinstance(leaf, NameLoc) and any(at.file == UNWRITTEN for at in positions(leaf)[:1])


class Places:
    """The locations of one program's expressions."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._spans = spans_enabled()

    def of(self, expr: Expr, name: str) -> LocationAttr:
        """Return the location of an expression; without a span, it is `name` and a running number: `nn.dense_0`."""
        if expr.span is None:
            self._count[name] += 1
            name = f"{name}_{self._count[name] - 1}"
        return self.named(expr.span, name)

    def named(self, span: AnySpan, name: str) -> LocationAttr:
        """Return the location of a span; without one, it is `name`, which must be unique."""
        if not self._spans:
            return UNKNOWN_LOC
        location = location_of(span)
        return location if is_known(location) else layer_location(name, UNWRITTEN, 0)
