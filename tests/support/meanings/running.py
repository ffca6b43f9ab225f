# pyright: basic
"""Spellings of a meaning as programs of a format, computed as they are imported or compiled, and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

import whence
from meanings.meaning import FORMATS, Case, Meaning, Value, described, format_of
from whence.dialects.relay.interpret import evaluate_module

FAMILIES = (
    "numbers", "more_numbers", "reductions", "convolutions", "pools", "recurrence", "indices", "lookups", "picks",
    "norms", "attention", "resize", "shapes", "moves", "draws", "signals", "boxes", "matrices",
)  # fmt: skip


@cache
def table(family: str) -> tuple[Meaning, ...]:
    """Return the meanings of a family."""
    meanings: tuple[Meaning, ...] = tuple(import_module(f"meanings.{family}").TABLE)
    names = [meaning.name for meaning in meanings]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    assert all(format_of(way) in FORMATS for meaning in meanings for way in (*meaning.spellings, *meaning.wrong))
    return meanings


def every() -> Iterator[Meaning]:
    for family in FAMILIES:
        yield from table(family)


@dataclass(frozen=True, eq=False)
class Program:
    """Cases of a meaning in a format."""

    model: Any
    inputs: Sequence[Any]
    rows: Sequence[tuple[Case, int]]
    """For each result the case, and the number of the result there."""
    operators: frozenset[str]


def written(meaning: Meaning, way: str, cases: Sequence[Case]) -> Program:
    """Return cases in one of a format's ways; raises Unspelled for one that it has no words for."""
    form = format_of(way)
    net: Any = import_module(f"meanings.formats.{form}").Net()
    outputs: list[Value] = []
    inputs: list[Any] = []
    expected: list[Any] = []
    rows: list[tuple[Case, int]] = []
    for case in cases:
        net.expected = meaning.results(case, form)
        arrays = meaning.inputs(case, form)
        results = meaning.spellings[way](net, *map(net.input, arrays), *case.constants, **case.options)
        if results is None:
            raise Unspelled(case)
        listed = list(results) if isinstance(results, tuple) else [results]
        assert len(listed) == len(net.expected), (meaning.name, way, case.name, len(listed), len(net.expected))
        inputs += arrays
        outputs += listed
        expected += net.expected
        rows += [(case, at) for at in range(len(listed))]
    return Program(net.build(outputs, expected), inputs, rows, frozenset(net.operators))


class Unspelled(Exception):
    """A case for which a format has no words."""


def sayable(meaning: Meaning, way: str) -> list[Case]:
    """Return the cases that a format has words for."""
    cases: list[Case] = []
    for case in meaning.cases:
        try:
            written(meaning, way, [case])
        except Unspelled:
            continue
        cases.append(case)
    return cases


def wrongs(meaning: Meaning, way: str, by: str = "evaluated") -> list[str]:
    """Return what is wrong with a format's spelling of a meaning, a line for each result.

    by: `evaluated` in numpy as it was imported, `compiled`, or `judged` by the runtime of the format.
    Raises FrontendError where it is refused.
    """
    cases = sayable(meaning, way)
    if not cases:
        return ["no case that the format has words for"]
    # A runtime that refuses a case says nothing of the others.
    groups = [[case] for case in cases] if by == "judged" else [cases]
    return [line for group in groups for line in _wrongs(meaning, way, group, by)]


def _wrongs(meaning: Meaning, way: str, cases: Sequence[Case], by: str) -> list[str]:
    form, program = format_of(way), written(meaning, way, cases)
    try:
        with np.errstate(all="ignore"):
            results = _BY[by](form, program.model, program.inputs)
    except Exception as error:
        if by != "judged":
            raise
        return [f"{cases[0].name}: {type(error).__name__}: {str(error)[:250]}"]
    lines = [
        described(meaning, form, case, at, np.asarray(result), by != "evaluated")
        for result, (case, at) in zip(results, program.rows, strict=True)
    ]
    return [line for line in lines if line]


def _loaded(form: str, model: Any) -> Any:
    return import_module(f"meanings.formats.{form}").load(model)


def _compiled(form: str, model: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    results: Any = whence.compile(_loaded(form, model))(*inputs)
    return results if isinstance(results, list | tuple) else [results]


_BY: dict[str, Callable[[str, Any, Sequence[Any]], Sequence[Any]]] = {
    "evaluated": lambda form, model, inputs: evaluate_module(_loaded(form, model), inputs),
    "compiled": _compiled,
    "judged": lambda form, model, inputs: getattr(import_module("meanings.judges"), form)(model, inputs),
}
