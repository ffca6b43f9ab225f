"""The values that no clause of a match takes, for expressions without types, like TVM's `unmatched_cases`."""

from __future__ import annotations

from enum import Enum, auto
from itertools import product

from whence.relay.module import IRModule
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import (
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternWildcard,
    TypeData,
)


class _Answer(Enum):
    FITS = auto()
    CLASHES = auto()
    OPEN = auto()
    """The answer depends on the value of a wildcard of the case."""


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Return patterns that together cover all values that no clause of `match` takes; none for a complete match.

    mod: the module with the data types. Raises FrontendError for a missing one.
    """
    types = mod.program.types if mod is not None else {}
    cases: list[Pattern] = [PatternWildcard()]
    missing: list[Pattern] = []
    while cases:
        case = cases.pop()
        for clause in match.clauses:
            answer = _fits(clause.lhs, case)
            if answer is _Answer.FITS:
                break
            if answer is _Answer.OPEN:
                cases += reversed(_expanded(case, clause.lhs, types))
                break
        else:
            missing.append(case)
    return missing


def _inner(pattern: Pattern) -> tuple[Constructor | None, list[Pattern]] | None:
    """Return the constructor, None for a tuple, and the patterns inside; None for a pattern that matches anything."""
    match pattern:
        case PatternConstructor(constructor, patterns):
            return constructor, list(patterns) or [PatternWildcard() for _ in constructor.inputs]
        case PatternTuple(patterns):
            return None, list(patterns)
        case _:
            return None


def _fits(pattern: Pattern, case: Pattern) -> _Answer:
    wanted, actual = _inner(pattern), _inner(case)
    if wanted is None:
        return _Answer.FITS
    if actual is None:
        return _Answer.OPEN
    if wanted[0] is not None and actual[0] is not None and wanted[0].name_hint != actual[0].name_hint:
        return _Answer.CLASHES
    answers = [_fits(one, part) for one, part in zip(wanted[1], actual[1], strict=True)]
    return next((answer for answer in (_Answer.CLASHES, _Answer.OPEN) if answer in answers), _Answer.FITS)


def _expanded(case: Pattern, pattern: Pattern, types: dict[str, TypeData]) -> list[Pattern]:
    """The case with the wildcards that `pattern` looks into taken apart, as many cases as there are."""
    wanted, actual = _inner(pattern), _inner(case)
    if wanted is None:
        return [case]
    if actual is None:
        if wanted[0] is None:
            return [PatternTuple([PatternWildcard() for _ in wanted[1]])]
        name = wanted[0].belong_to
        if name not in types:
            raise FrontendError(f"unmatched_cases: expected a module with the data type {name}, got none")
        return [
            PatternConstructor(constructor, [PatternWildcard() for _ in constructor.inputs])
            for constructor in types[name].constructors
        ]
    parts = product(*(_expanded(part, one, types) for part, one in zip(actual[1], wanted[1], strict=True)))
    combinations = [list(inner) for inner in parts]
    return [
        PatternTuple(inner) if actual[0] is None else PatternConstructor(actual[0], inner) for inner in combinations
    ]
