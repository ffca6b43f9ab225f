"""`InferBound`: the ranges of loops as expressions, by the schedule's and by the operations' axes."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import pytest

from whence import te
from whence.ir import Map
from whence.support.errors import ScheduleError


def test_ranges_are_expressions_in_a_map() -> None:
    m, n = te.var("m"), te.var("n")
    a = te.placeholder((8 * m, n), name="a")
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1.0, name="b")
    c = te.compute(a.shape, lambda i, j: b[i, j] * 2.0, name="c")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], 8)
    s[b].compute_at(s[c], outer)
    bounds = te.schedule.InferBound(s)
    assert isinstance(bounds, Map)
    assert bounds[outer].extent == m
    assert (bounds[inner].extent.value, bounds[inner].min.value) == (8, 0)
    assert bounds[b.op.axis[0]].extent.value == 8
    assert bounds[b.op.axis[0]].min == "i.outer * 8"
    assert bounds[b.op.axis[1]].extent is n
    assert str(bounds[c.op.axis[0]].extent) in ("m * 8", "8 * m")


def test_ranges_over_a_factor_of_a_call() -> None:
    n, f = te.var("n"), te.var("f")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], f + 1)
    bounds = te.schedule.InferBound(s)
    assert str(bounds[inner].extent) == "f + 1"
    assert str(bounds[outer].extent) == "(n + f) // (f + 1)"
    assert bounds[b.op.axis[0]].extent is n


def test_what_cannot_be_carried_out_is_refused() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    c = te.compute((4,), lambda i: b[i] + 1.0, name="c")
    d = te.compute((4,), lambda i: b[i] + c[i], name="d")
    s = te.create_schedule(d.op)
    s[b].compute_at(s[c], c.op.axis[0])
    with pytest.raises(ScheduleError, match="read outside by 'd'"):
        te.schedule.InferBound(s)
