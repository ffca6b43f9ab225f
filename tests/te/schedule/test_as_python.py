# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Schedules as Python: a function that makes the same schedule."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from random_graphs import random_graph
from random_schedules import Tally, random_schedule
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnitAttr, i32

from whence import te
from whence.support.errors import ScheduleError

CASES = 16
PRIMITIVES = 14


def remade(schedule: Any, intrinsics: Any = None) -> Any:
    """The schedule that the Python of another one makes."""
    names: dict[str, Any] = {"te": te}
    exec(schedule.as_python(), names)
    again = schedule.snapshot(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names["apply_schedule"](again, intrinsics)
    return again


@pytest.mark.parametrize("seed", range(CASES))
def test_random_schedules_are_made_again(seed: int):
    graph = random_graph(seed)
    plain = te.create_schedule(
        [value.tensor for value in graph.outputs], inputs=[value.tensor for value in graph.inputs]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedule = random_schedule(graph.dice, plain, Tally(), PRIMITIVES)
    assert str(remade(schedule).sequence) == str(schedule.sequence)


def test_knobs_are_made_again():
    a = te.placeholder((60, 64), "float32", name="a")
    b = te.compute((60, 64), lambda i, j: a[i, j] + 1.0, name="b")
    s = te.create_schedule(b)
    rows = s.knob("rows", (4, 6, 8), 4)
    outer, _ = s[b].split(b.op.axis[0], rows)
    s[b].split(b.op.axis[1], te.schedule.least(rows * 2, 10))
    s[b].pragma(outer, "step", -(-100 // rows))
    again = remade(s)
    assert str(again.sequence) == str(s.sequence)
    assert str(again.with_decisions({"rows": 8})) == str(s.with_decisions({"rows": 8}))
    if rows > 2:
        s[b].unroll(outer)
    assert "made_for = 4" in str(remade(s).sequence)


def test_fused_loops_in_any_order():
    a = te.placeholder((2, 3, 4, 5), "float32", name="a")
    b = te.compute((2, 3, 4, 5), lambda *i: a[i] + 1.0, name="b")
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 2, 0), (2, 1), (1,), ()):
        s = te.create_schedule(b)
        s[b].fuse(*(b.op.axis[number] for number in order))
        assert str(remade(s).sequence) == str(s.sequence)


@pytest.mark.parametrize("value", [UnitAttr(), DictionaryAttr({"a": i32, "b": ArrayAttr([StringAttr("x")])}), None])
def test_a_pragma_that_python_has_no_form_of(value: Any):
    a = te.placeholder((8,), "float32", name="a")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="b")
    s = te.create_schedule(b)
    s[b].pragma(b.op.axis[0], "odd", value)
    assert str(remade(s).sequence) == str(s.sequence)
    with pytest.raises(ScheduleError, match="attribute: expected the text of an attribute, got '<'"):
        te.schedule.attribute("<")


def test_splits_by_sizes():
    n, f = te.var("n"), te.var("f")
    a = te.placeholder((n,), "float32", name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    for factor in (f, f + 2, te.max(f, n) // 4 + 1):
        for is_factor in (True, False):
            s = te.create_schedule(b)
            if is_factor:
                s[b].split(b.op.axis[0], factor=factor)
            else:
                s[b].split(b.op.axis[0], nparts=factor)
            again = remade(s)
            assert str(again.sequence) == str(s.sequence)
            assert str(again) == str(s)
