"""Knobs as values: the text with another decision is another schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from xdsl.context import Context
from xdsl.parser import Parser

from whence import te
from whence.dialects.schedule import KnobOp, SequenceOp, decided
from whence.dialects.schedule import Schedule as ScheduleDialect
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.errors import ScheduleError
from whence.te.schedule.choices import Choice, least
from whence.te.schedule.schedule import replay


def rows(decision: int = 4) -> Any:
    a = te.placeholder((60, 64), "float32", name="a")
    b = te.compute((60, 64), lambda i, j: a[i, j] + 1.0, name="b")
    s = te.create_schedule(b)
    height = s.knob("rows", (4, 6, 8), decision)
    i, j = s[b].split(b.op.axis[0], height)
    x, y = s[b].split(b.op.axis[1], nparts=least(height * 2 - 4, 10))
    s[b].reorder(i, x, j, y)
    s[b].pragma(x, "step", -(-100 // height))
    return s


def text(schedule: Any) -> str:
    return str(lower_schedule(schedule.snapshot()))


def knob(schedule: Any) -> KnobOp:
    return next(op for op in schedule.sequence.block.ops if isinstance(op, KnobOp))


@pytest.mark.parametrize("decision", [4, 6, 8])
def test_another_decision_gives_the_nests_of_another_schedule(decision: int):
    given = rows().with_decisions({"rows": decision})
    assert text(given) == text(rows(decision))
    assert str(given.sequence) == str(rows(decision).sequence)
    assert f"pragma_step = {-(-100 // decision)} " in text(given)
    assert f"in {min(decision * 2 - 4, 10)}" in text(given)


def test_another_attribute_in_the_text_does_the_same():
    context = Context()
    context.load_dialect(ScheduleDialect)
    source = str(rows().sequence).replace("{decision = 4}", "{decision = 8}")
    sequence = Parser(context, source).parse_module().body.block.first_op
    other = replay(rows().snapshot(0).func, cast(SequenceOp, sequence))
    assert text(other) == text(rows(8))


def test_a_schedule_that_looks_at_a_decision_is_one_for_it():
    def looking() -> Any:
        s = rows()
        height = Choice.of(knob(s).value, 4)
        if height > 2:
            s["b"].unroll(s["b"].leaf[-1])
        return s

    assert not knob(rows()).is_fixed
    s = looking()
    assert "{decision = 4, made_for = 4}" in str(s.sequence)
    with pytest.raises(ScheduleError, match="knob 'rows': expected the decision 4, by which the primitives"):
        s.with_decisions({"rows": 8})
    assert text(s.with_decisions({"rows": 4})) == text(s)


LOOKS: dict[str, Callable[[int], object]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "hash": hash,
    "abs": abs,
    "remainder": lambda n: n % 2,
    "modulus": lambda n: 9 % n,
    "ratio": lambda n: n / 2,
    "equal": lambda n: n == 4,
    "in": lambda n: n in (1, 2),
    "max": lambda n: max(n, 3),
    "power": lambda n: 2**n,
    "shift": lambda n: n << 1,
    "key": lambda n: {n: 1},
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_asks_for_the_number_fixes_the_knob(name: str):
    s = rows()
    LOOKS[name](Choice.of(knob(s).value, 4) + 2)
    assert knob(s).is_fixed


def test_numbers_are_those_of_ints():
    s = rows()
    number = Choice.of(knob(s).value, 4)
    got = [number * 3, 3 * number, number + 1, 1 + number, number - 1, 1 - number, number // 3, 30 // number]
    got += [-(-number // 3), -(-30 // number), -number, least(number, 3), least(9, number)]
    assert not knob(s).is_fixed
    assert [int(each) for each in got] == [12, 12, 5, 5, 3, -3, 1, 7, 2, 8, -4, 3, 4]
    assert all(isinstance(each, Choice) for each in got)


def test_a_knob_of_another_schedule_is_a_number():
    other = rows()
    a = te.placeholder((60,), "float32", name="a")
    b = te.compute((60,), lambda i: a[i] + 1.0, name="b")
    s = te.create_schedule(b)
    s[b].split(b.op.axis[0], Choice.of(knob(other).value, 4))
    assert "factor 4" in str(s.sequence)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rows", (4, 6), 4), "knob 'rows': expected a knob of another name than those before, got a second one"),
        (("", (4, 6), 4), "knob: expected a name, got ''"),
        (("width", (4, 4), 4), "knob 'width': expected a decision among different candidates"),
        (("width", (4, 6), 5), "knob 'width': expected a decision among different candidates \\[4, 6\\], got 5"),
        (("width", (4, "6"), 4), "knob 'width': expected ints"),
    ],
)
def test_knobs_that_cannot_be_are_refused(arguments: Any, message: str):
    s = rows()
    before = str(s.sequence)
    with pytest.raises(ScheduleError, match=message):
        s.knob(*arguments)
    assert str(s.sequence) == before


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ({"rows": 5}, "knob 'rows': expected one of \\[4, 6, 8\\], got 5"),
        ({"row": 4}, "decisions: expected knobs among rows, got row"),
    ],
)
def test_decisions_that_cannot_be_are_refused(decisions: dict[str, int], message: str):
    with pytest.raises(ScheduleError, match=message):
        decided(rows().sequence, decisions)
