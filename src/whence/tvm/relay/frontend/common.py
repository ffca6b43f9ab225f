"""The tools that converters of a user share, by TVM's names: `relay.frontend.common.set_span`."""

from __future__ import annotations

from typing import Any

from whence.relay.spans import set_span as set_span

__all__ = ["SpanFiller", "set_span"]


class SpanFiller:
    """Gives a span to expressions without one.

    span: a span as in `set_span`: a layer's name, a SourceName, a span or a location.
    """

    def __init__(self, span: Any):
        self._span = span

    def fill(self, sym: Any) -> Any:
        """Return `sym`, an expression or a list or tuple of some, all of which have spans; see `set_span`."""
        return set_span(sym, self._span)

    visit = fill
