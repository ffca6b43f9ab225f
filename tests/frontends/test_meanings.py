"""The net under the frontends: what an operator means is the same in all formats that have it.

`python -m meanings --by judged` asks the runtimes of the formats whether the tables are right, `--holes` shows what few
formats spell.
"""

from __future__ import annotations

from collections import Counter

import pytest
from meanings.holes import filled, rows
from meanings.meaning import FORMATS, format_of
from meanings.running import FAMILIES, table, wrongs

ROWS = [
    pytest.param(
        family,
        meaning.name,
        way,
        id=f"{meaning.name}-{way.replace(' ', '-')}",
        marks=[pytest.mark.xfail(reason=meaning.wrong[way], strict=True)] if way in meaning.wrong else [],
    )
    for family in FAMILIES
    for meaning in table(family)
    for way in meaning.spellings
]
SPELLED = {"onnx": 232, "tflite": 154, "torch": 328, "keras": 305, "tensorflow": 205, "stablehlo": 104}
"""Spellings of each format: they may only become more."""


@pytest.mark.parametrize(("family", "name", "way"), ROWS)
def test_a_spelling_means_what_the_others_do(family: str, name: str, way: str):
    (meaning,) = (meaning for meaning in table(family) if meaning.name == name)
    assert wrongs(meaning, way) == []


@pytest.mark.parametrize(("family", "name", "way"), [("pools", "max_pool", "torch with places")])
def test_a_compiled_program_means_what_it_was_imported_as(family: str, name: str, way: str):
    """A sample of what `make fuzz-meanings` compiles."""
    (meaning,) = (meaning for meaning in table(family) if meaning.name == name)
    assert wrongs(meaning, way, "compiled") == []


def test_no_format_falls_behind():
    counts = Counter(format_of(way) for family in FAMILIES for meaning in table(family) for way in meaning.spellings)
    assert {form: counts[form] for form in FORMATS if counts[form] < SPELLED[form]} == {}


def test_rows_that_are_lacking_have_no_spelling_yet():
    """A new row of a frontend is spelled, too: drop what `lacking` says of it."""
    assert filled() == []


@pytest.mark.parametrize("form", FORMATS)
def test_rows_of_frontends_are_counted(form: str):
    """`--holes` compares them with what the net reaches."""
    assert len(rows(form)) > 50
