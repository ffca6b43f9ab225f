"""The helpers that lay out what people read."""

from __future__ import annotations

import pytest

from whence.explorer.report import count, percent, seconds, some, table, tally


def test_tables_align_numbers_right_and_text_left():
    text = table([("a", 1, "x"), ("long", 100, "")], ("name", "ops", "of"), indent="")
    assert text.splitlines() == ["name  ops  of", "a       1  x", "long  100"]


def test_cells_that_say_nothing_do_not_turn_a_column():
    text = table([("a", 10), ("b", ""), ("c", 2)], ("name", "ops"), indent="")
    assert text.splitlines() == ["name  ops", "a      10", "b", "c       2"]


def test_an_empty_table_is_empty():
    assert table([]) == ""


@pytest.mark.parametrize(
    ("fraction", "text"), [(1.0, "100 %"), (0.99999, "99.9 %"), (0.0, "0 %"), (0.0001, "0.1 %"), (0.5, "50.0 %")]
)
def test_only_all_is_all_and_only_nothing_is_nothing(fraction: float, text: str):
    assert percent(fraction) == text


def test_short_lists():
    assert some("abc", 2) == "a, b and 1 more"
    assert some("ab", 2) == "a, b"
    assert tally(["add", "mul", "add"]) == "add x2, mul"
    assert (count(1, "layer"), count(0, "layer")) == ("1 layer", "0 layers")


@pytest.mark.parametrize(("value", "text"), [(2.0, "2.00 s"), (0.0125, "12.50 ms"), (3e-6, "3.0 us")])
def test_seconds(value: float, text: str):
    assert seconds(value) == text
