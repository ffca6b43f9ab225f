"""SIBuilder: the explicit tool of a pass author for what the rewrite driver cannot see (TVM's RFC 92)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..support.context import PassContext
from .set_span import Source, location_of
from .span import SequentialSpan, Span

Node = Operation | BlockArgument
"""The carriers of a span: all results of an op share the op's."""


def _node(item: SSAValue | Operation) -> Node:
    return item if isinstance(item, Operation | BlockArgument) else cast(Operation, item.owner)


def _children(op: Operation) -> list[Node]:
    """Producers of the operands in order, then block arguments and statements nested in `op`, in program order."""
    children: list[Node] = [_node(value) for value in op.operands]
    for region in op.regions:
        for block in region.blocks:
            children.extend(block.args)
            children.extend(nested for nested in block.ops if _is_statement(nested))
    return children


def _is_statement(op: Operation) -> bool:
    """Return whether nothing reads a result of `op`. Other ops are expressions: they are met where they are read."""
    return not any(result.uses for result in op.results)


def _visit(
    entry: SSAValue | Operation, inputs: Iterable[SSAValue | Operation], visit: Callable[[Node, bool], None]
) -> None:
    """Call `visit(node, is_input)` for `entry` and all it is made of, pre-order, once each; inputs end the walk."""
    ends = set(map(_node, inputs))
    seen: set[Node] = set()
    stack = [_node(entry)]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        is_input = node in ends
        visit(node, is_input)
        if isinstance(node, Operation) and not is_input:
            stack.extend(reversed(_children(node)))


class SIBuilder:
    """Builds a span for new ops, and fills it in.

    SIBuilder(span): that span (a Span, a SequentialSpan, a location or a layer name).
    SIBuilder([span, ...]): all of them in order.
    SIBuilder(entry, inputs): the spans met on the way from `entry`, an op or a value, up to `inputs` and including
        theirs, pre-order. What lies beyond the inputs is not looked at.

    An entry or input is an expression (a value, or the op that makes it) or a statement: an op such as a loop or a
    store. A statement comes first, then its operands' expressions, then the statements in its regions in program order.
    A buffer is an operand as any other; name it as an input to leave it as it is.

    With the option `ir.enable_si_builder` off it builds None and fills nothing.

    >>> SIBuilder(old.location).recursively_fill_span(out, [data, gamma, beta])
    """

    def __init__(
        self,
        source: Source | Sequence[Span | SequentialSpan | LocationAttr] | SSAValue | Operation,
        inputs: Iterable[SSAValue | Operation] = (),
    ):
        self._span: Span | SequentialSpan | None = None
        self._location: LocationAttr | None = None
        if PassContext.current().option("ir.enable_si_builder") is not True:
            return
        if isinstance(source, SSAValue | Operation):
            self._span = self._collect(source, inputs)
            self._location = self._span.location
        elif isinstance(source, list | tuple):
            self._span = SequentialSpan(source)
            self._location = self._span.location
        else:
            self._location = location_of(cast(Source, source))
            self._span = source if isinstance(source, Span | SequentialSpan) else Span.of(self._location)

    @staticmethod
    def _collect(entry: SSAValue | Operation, inputs: Iterable[SSAValue | Operation]) -> SequentialSpan:
        locations: list[LocationAttr] = []

        def collect(node: Node, is_input: bool) -> None:
            if not isinstance(node.location, UnknownLoc):
                locations.append(node.location)

        _visit(entry, inputs, collect)
        return SequentialSpan(locations)

    def create_span(self) -> Span | SequentialSpan | None:
        """The span given, or the sequence collected (possibly empty); None when SIBuilder is off."""
        return self._span

    build = create_span

    def recursively_fill_span(self, entry: SSAValue | Operation, inputs: Iterable[SSAValue | Operation] = ()) -> None:
        """Give the span to `entry` and all it is made of, replacing spans they have, up to but without `inputs`.

        Inputs, and what they are made of, stay as they are unless reached past other inputs.
        """
        location = self._location
        if location is None or isinstance(location, UnknownLoc):
            return

        def assign(node: Node, is_input: bool) -> None:
            if not is_input:
                node.location = location

        _visit(entry, inputs, assign)
