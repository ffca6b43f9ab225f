"""`set_span` and `SIBuilder` for expressions as for ops (TVM's RFC 92)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from whence.provenance import set_span as on_ops
from whence.provenance import si_builder
from whence.provenance.span import SequentialSpan, Span
from whence.relay.builders import TupleWrapper
from whence.support.context import PassContext, spans_enabled
from whence.syntax.relay import spans
from whence.syntax.relay.expr import AnySpan, Expr
from whence.te.language.statements import Stmt
from whence.tir import spans as statements


def set_span(sym: Any, node_source_name: Any) -> Any:
    """Give a span to what `sym` is made of, as far as it has none, and return `sym`.

    sym: an expression, the results of a call, ops or values, or a list or tuple of such.
    node_source_name: a layer's name, a SourceName, a span or a location.
    Does nothing when span filling is off (`relay.frontend.fill_span`, TVM_SPANFILLING=0).
    Raises TypeError for anything else.
    """
    given: Any = sym
    items = cast("Sequence[Any]", given) if isinstance(sym, list | tuple) else ()
    if any(isinstance(one, Expr | TupleWrapper) for one in items):
        for one in items:
            set_span(one, node_source_name)
        return given
    entry: Any = given.astuple() if isinstance(given, TupleWrapper) else given
    if not isinstance(entry, Expr):
        return on_ops.set_span(entry, node_source_name)
    location = on_ops.location_of(node_source_name)
    if spans_enabled():
        spans.fill_empty(entry, Span.of(location))
    return given


class SIBuilder:
    """Builds a span for new expressions or statements of tir, and fills it in; for ops it is `whence.SIBuilder`.

    SIBuilder(span): that span. SIBuilder([span, ...]): all of them in order.
    SIBuilder(entry, inputs): the spans met on the way from `entry` up to `inputs` and including theirs, pre-order.

    With the option `ir.enable_si_builder` off it builds None and fills nothing.
    """

    def __init__(self, source: Any, inputs: Iterable[Any] = ()):
        self._ops: si_builder.SIBuilder | None = None
        self._span: AnySpan = None
        if isinstance(source, Stmt):
            if PassContext.current().option("ir.enable_si_builder") is True:
                self._span = statements.collect(source, inputs)
        elif isinstance(source, Expr):
            if PassContext.current().option("ir.enable_si_builder") is True:
                self._span = spans.collect(source, inputs)
        else:
            self._ops = si_builder.SIBuilder(source, cast("Iterable[SSAValue | Operation]", inputs))
            self._span = self._ops.create_span()

    def create_span(self) -> Span | SequentialSpan | None:
        """The span given, or the sequence collected (possibly empty); None when SIBuilder is off."""
        return self._span

    build = create_span

    def recursively_fill_span(self, entry: Any, inputs: Sequence[Any] = ()) -> None:
        """Give the span to `entry` and all it is made of, replacing spans they have, up to but without `inputs`."""
        if isinstance(entry, Stmt):
            if self._span is not None:
                statements.fill(entry, inputs, self._span.location)
        elif isinstance(entry, Expr):
            if self._span is not None:
                spans.fill(entry, inputs, self._span)
        elif self._ops is not None:
            self._ops.recursively_fill_span(entry, inputs)
        elif self._span is not None:
            si_builder.SIBuilder(self._span).recursively_fill_span(entry, inputs)
