"""Patterns of a match as a list of tests."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Attribute

from ..dialects.relay.data_types import ConstructorPattern, MatchOp, TuplePattern, TypeDataOp, VarPattern
from ..dialects.relay.types import AdtType, fields_of
from ..provenance.diagnostics import fail
from ..runtime.interpreting.language import Clause


def clause_of(op: MatchOp, pattern: Attribute, types: Mapping[str, TypeDataOp]) -> Clause:
    """The tests of one clause of `op`; raises VerifyException when the pattern does not fit the type.

    types: the data types of the module by name.
    """
    patterns, of = [pattern], [op.data.type]
    inside: dict[int, range] = {}
    opened: list[tuple[int, int | None]] = []
    # Both lists grow on the way.
    for number, part in enumerate(patterns):
        if not isinstance(part, ConstructorPattern | TuplePattern):
            continue
        if isinstance(part, TuplePattern):
            tag, fields = None, fields_of(of[number])
        else:
            tag, fields = _constructor(op, part, of[number], types)
        if fields is None or len(fields) != len(part.patterns):
            fail(op, f"a pattern of {of[number]}", str(part))
        opened.append((number, tag))
        inside[number] = range(len(patterns), len(patterns) + len(fields))
        patterns += part.patterns
        of += fields
    return Clause(tuple(opened), tuple(n for n in _in_order(inside) if isinstance(patterns[n], VarPattern)))


def _constructor(
    op: MatchOp, pattern: ConstructorPattern, type_: Attribute, types: Mapping[str, TypeDataOp]
) -> tuple[int, tuple[Attribute, ...] | None]:
    """The tag of a constructor, and what it holds for a type."""
    definition = types.get(type_.definition.string_value()) if isinstance(type_, AdtType) else None
    name = pattern.constructor.string_value()
    if not isinstance(type_, AdtType) or definition is None or name not in definition.names():
        fail(op, f"a pattern of {type_}", f"one of constructor @{name}")
    return definition.names().index(name), definition.inputs_of(name, type_)


def _in_order(inside: Mapping[int, range]) -> list[int]:
    """The numbers of patterns as they are written: each before those inside it."""
    order: list[int] = []
    stack = [0]
    while stack:
        order.append(number := stack.pop())
        stack += reversed(inside.get(number, range(0)))
    return order
