# pyright: basic
"""Spellings of a meaning as programs of a format, computed as they are imported or compiled, and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

import whence
from meanings.meaning import FORMATS, Case, Meaning, Value, described
from whence.dialects.relay.interpret import evaluate_module

FAMILIES = (
    "numbers", "reductions", "convolutions", "pools", "recurrence", "indices", "norms", "attention", "resize", "shapes",
)  # fmt: skip


@cache
def table(family: str) -> tuple[Meaning, ...]:
    """Return the meanings of a family."""
    meanings: tuple[Meaning, ...] = tuple(import_module(f"meanings.{family}").TABLE)
    names = [meaning.name for meaning in meanings]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
    assert all(form in FORMATS for meaning in meanings for form in (*meaning.spellings, *meaning.wrong))
    return meanings


def every() -> Iterator[Meaning]:
    for family in FAMILIES:
        yield from table(family)


def written(meaning: Meaning, form: str, cases: Sequence[Case]) -> tuple[Any, list[Any], list[tuple[Case, int]]]:
    """Return the model of cases in a format, its inputs, and for each of its results the case and the number there.

    Raises Unspelled for a case that the format has no words for.
    """
    net: Any = import_module(f"meanings.formats.{form}").Net()
    outputs: list[Value] = []
    inputs: list[Any] = []
    expected: list[Any] = []
    rows: list[tuple[Case, int]] = []
    for case in cases:
        net.expected = meaning.results(case, form)
        arrays = meaning.inputs(case, form)
        results = meaning.spellings[form](net, *map(net.input, arrays), *case.constants, **case.options)
        if results is None:
            raise Unspelled(case)
        listed = list(results) if isinstance(results, tuple) else [results]
        assert len(listed) == len(net.expected), (meaning.name, form, case.name, len(listed), len(net.expected))
        inputs += arrays
        outputs += listed
        expected += net.expected
        rows += [(case, at) for at in range(len(listed))]
    return net.build(outputs, expected), inputs, rows


class Unspelled(Exception):
    """A case for which a format has no words."""


def sayable(meaning: Meaning, form: str) -> list[Case]:
    """Return the cases that a format has words for."""
    cases: list[Case] = []
    for case in meaning.cases:
        try:
            written(meaning, form, [case])
        except Unspelled:
            continue
        cases.append(case)
    return cases


def wrongs(meaning: Meaning, form: str, by: str = "evaluated") -> list[str]:
    """Return what is wrong with a format's spelling of a meaning, a line for each result.

    by: `evaluated` in numpy as it was imported, `compiled`, or `judged` by the runtime of the format.
    Raises FrontendError where it is refused.
    """
    cases = sayable(meaning, form)
    if not cases:
        return ["no case that the format has words for"]
    # A runtime that refuses a case says nothing of the others.
    groups = [[case] for case in cases] if by == "judged" else [cases]
    return [line for group in groups for line in _wrongs(meaning, form, group, by)]


def _wrongs(meaning: Meaning, form: str, cases: Sequence[Case], by: str) -> list[str]:
    model, inputs, rows = written(meaning, form, cases)
    try:
        with np.errstate(all="ignore"):
            results = _BY[by](form, model, inputs)
    except Exception as error:
        if by != "judged":
            raise
        return [f"{cases[0].name}: {type(error).__name__}: {str(error)[:250]}"]
    lines = [
        described(meaning, form, case, at, np.asarray(result), by != "evaluated")
        for result, (case, at) in zip(results, rows, strict=True)
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
