"""`set_span`: name everything a conversion made, in one call (the frontend span filling of TVM's RFC 92)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc, UnknownLoc
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..support.context import spans_enabled
from .builder import fill
from .span import SequentialSpan, SourceName, Span

Spanned: TypeAlias = "SSAValue | Operation | Sequence[Spanned]"
Source: TypeAlias = str | SourceName | Span | SequentialSpan | LocationAttr

SpannedT = TypeVar("SpannedT", bound=Spanned)


def location_of(source: Source) -> LocationAttr:
    """The location that a layer's name, a span or a location stands for. Raises TypeError for anything else."""
    match cast(object, source):
        case str() as name:
            return Span(SourceName(name)).location
        case SourceName() as name:
            return Span(name).location
        case Span() as span:
            return span.location
        case FileLineColLoc() | NameLoc() | FusedLoc() | CallSiteLoc() | UnknownLoc() as location:
            return location
        case other:
            kind = type(other).__name__
            raise TypeError(f"span: expected a layer name, a Span, a SequentialSpan or a location, got {kind}")


def _roots(values: object) -> list[SSAValue | Operation]:
    if isinstance(values, SSAValue | Operation):
        return [cast(SSAValue | Operation, values)]
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        kind = type(values).__name__
        raise TypeError(f"set_span: expected a value, an operation, or a list or tuple of them, got {kind}")
    return [root for item in cast(Sequence[object], values) for root in _roots(item)]


def set_span(values: SpannedT, source: Source) -> SpannedT:
    """Locate at `source` what `values` are computed by, as far as it has no location yet; return `values`.

    values: what the RFC lists. An expression is a value or an op: a call, a constant, a function; a variable is a block
        argument; a tuple with its size is an op's `results`. Or a list or tuple of such.
    source: a layer's name, a span, or a location.

    Walks from each value to its producers, through ops and function arguments without a location, and stops at
    ops that have one: those belong to an earlier layer. Ops nested in a filled op are filled, too.
    Does nothing when span filling is off (`relay.frontend.fill_span`, TVM_SPANFILLING=0).
    Raises TypeError for values and sources of other types.
    """
    stack = _roots(values)
    location = location_of(source)
    if not spans_enabled() or isinstance(location, UnknownLoc):
        return values
    stack.reverse()
    while stack:
        item = stack.pop()
        if isinstance(item, BlockArgument):
            if isinstance(item.location, UnknownLoc):
                item.location = location
            continue
        op = item if isinstance(item, Operation) else cast(Operation, item.owner)
        if isinstance(op.location, UnknownLoc):
            fill(op, location)
            for inner in op.walk():
                stack.extend(inner.operands)
    return values
