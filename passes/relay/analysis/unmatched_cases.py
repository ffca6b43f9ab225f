"""Which values no clause of a match takes."""

from __future__ import annotations

from enum import Enum, auto

from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr, TupleType
from xdsl.ir import Attribute

from ....dialects.relay.data_types import (
    ConstructorPattern,
    MatchOp,
    TuplePattern,
    VarPattern,
    WildcardPattern,
    type_data,
)
from ....dialects.relay.types import AdtType


class _Answer(Enum):
    FITS = auto()
    CLASHES = auto()
    OPEN = auto()
    """It depends on what stands for a wildcard of the case."""


def unmatched_cases(match: MatchOp) -> list[Attribute]:
    """Patterns, of constructors, tuples and wildcards, that between them stand for all that no clause of `match` takes.

    None for a match that is complete. Raises VerifyException when the module lacks the definition of a data type.
    """
    cases: list[Attribute] = [WildcardPattern()]
    missing: list[Attribute] = []
    while cases:
        case = cases.pop()
        for pattern in match.patterns:
            answer = _fits(pattern, case)
            if answer is _Answer.FITS:
                break
            if answer is _Answer.OPEN:
                cases += reversed(_expanded(case, pattern, match.data.type, match))
                break
        else:
            missing.append(case)
    return missing


def _fits(pattern: Attribute, case: Attribute) -> _Answer:
    if isinstance(pattern, WildcardPattern | VarPattern):
        return _Answer.FITS
    if isinstance(case, WildcardPattern):
        return _Answer.OPEN
    if isinstance(pattern, ConstructorPattern) and isinstance(case, ConstructorPattern):
        if pattern.constructor != case.constructor:
            return _Answer.CLASHES
    if not isinstance(pattern, ConstructorPattern | TuplePattern) or not isinstance(
        case, ConstructorPattern | TuplePattern
    ):
        return _Answer.CLASHES
    answers = [_fits(inner, part) for inner, part in zip(pattern.patterns, case.patterns, strict=True)]
    for answer in (_Answer.CLASHES, _Answer.OPEN):
        if answer in answers:
            return answer
    return _Answer.FITS


def _expanded(case: Attribute, pattern: Attribute, type_: Attribute, match: MatchOp) -> list[Attribute]:
    """The case with the wildcards that `pattern` looks into taken apart, as many cases as there are."""
    if isinstance(pattern, WildcardPattern | VarPattern):
        return [case]
    if isinstance(case, WildcardPattern):
        if isinstance(type_, TupleType):
            return [TuplePattern(ArrayAttr(WildcardPattern() for _ in type_.types))]
        assert isinstance(type_, AdtType)
        data = type_data(match, type_.definition.string_value())
        return [
            ConstructorPattern(SymbolRefAttr(name), ArrayAttr(WildcardPattern() for _ in data.inputs_of(name, type_)))
            for name in data.names()
        ]
    if isinstance(case, ConstructorPattern) and isinstance(pattern, ConstructorPattern):
        assert isinstance(type_, AdtType)
        data = type_data(match, type_.definition.string_value())
        types = data.inputs_of(case.constructor.string_value(), type_)
        parts = _products(list(case.patterns), list(pattern.patterns), list(types), match)
        return [ConstructorPattern(case.constructor, ArrayAttr(part)) for part in parts]
    assert isinstance(case, TuplePattern)
    assert isinstance(pattern, TuplePattern)
    assert isinstance(type_, TupleType)
    parts = _products(list(case.patterns), list(pattern.patterns), list(type_.types), match)
    return [TuplePattern(ArrayAttr(part)) for part in parts]


def _products(
    parts: list[Attribute], patterns: list[Attribute], types: list[Attribute], match: MatchOp
) -> list[list[Attribute]]:
    """All ways to take the parts apart."""
    products: list[list[Attribute]] = [[]]
    for part, pattern, type_ in zip(parts, patterns, types, strict=True):
        products = [[*before, choice] for before in products for choice in _expanded(part, pattern, type_, match)]
    return products
