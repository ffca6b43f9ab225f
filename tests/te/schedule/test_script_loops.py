"""Primitives on the loops of hybrid scripts, against numpy."""

# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false
# ruff: noqa: F821

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence import te
from whence.dialects import tir
from whence.kernels import build_schedule, lower
from whence.provenance.span import layer_names
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule

ROWS, COLUMNS, TERMS = 10, 12, 7
RNG = np.random.default_rng(5)
A = RNG.standard_normal((ROWS, TERMS)).astype("float32")
B = RNG.standard_normal((TERMS, COLUMNS)).astype("float32")


@te.hybrid.script
def product(a: Any, b: Any) -> Any:
    c = output_tensor((10, 12), "float32")
    for i in range(10):
        for j in range(12):
            c[i, j] = 0.0
    for m in range(10):
        for n in range(12):
            for k in range(7):
                c[m, n] += a[m, k] * b[k, n]
    return c


@te.hybrid.script
def triangle(a: Any) -> Any:
    c = output_tensor((10, 7), "float32")
    for i in range(10):
        for j in range(7):
            if j <= i:
                c[i, j] = a[i, j] * 2.0 + i
            else:
                c[i, j] = 0.0 - j
    return c


@te.hybrid.script
def maxima(a: Any) -> Any:
    c = output_tensor((10,), "float32")
    for i in range(10):
        best = a[i, 0]
        for j in range(7):
            best = max(best, a[i, j])
        c[i] = best
    return c


def made() -> tuple[Schedule, Any]:
    a, b = te.placeholder(A.shape, name="a"), te.placeholder(B.shape, name="b")
    c = product(a, b)
    d = te.compute((ROWS, COLUMNS), lambda i, j: c[i, j] + 1.0, name="d")
    s = te.create_schedule(d, [a, b])
    return s, s[c]


def check(s: Schedule, expected: Any, *inputs: Any, threads: int = 1) -> None:
    """The values are right; a replay is the same."""
    s.sequence.verify()
    s.func.verify()
    assert all(layer_names(op.location) for op in s.func.walk())
    copy = s.snapshot()
    assert str(copy) == str(s)
    assert str(copy.func) == str(s.func)
    np.testing.assert_allclose(build_schedule(s, threads=threads)(*inputs), expected, rtol=1e-4, atol=1e-5)


def loops(stage: Any) -> list[str]:
    found = (op for op in stage.producer.body.walk() if isinstance(op, tir.ForOp))
    return [f"{op.kind.data} {op.var.name_hint} {op.trip_count}" for op in found]


def even(t: Any, ax: list[Any]) -> list[str]:
    t.split(ax[3], 4)
    return ["serial m 10", "serial n.outer 3", "serial n.inner 4", "serial k 7"]


def uneven(t: Any, ax: list[Any]) -> list[str]:
    t.split(ax[3], 5)
    return ["serial m 10", "serial n.outer 3", "serial n.inner 5", "serial k 7"]


def parts(t: Any, ax: list[Any]) -> list[str]:
    t.split(ax[2], nparts=3, tail="cut")
    return ["serial m.outer 3", "serial m.inner 4", "serial n 12", "serial k 7"]


def tiled(t: Any, ax: list[Any]) -> list[str]:
    _, _, x, y = t.tile(ax[2], ax[3], 4, 5)
    t.reorder(ax[4], x, y)
    return ["serial m.outer 3", "serial n.outer 3", "serial k 7", "serial m.inner 4", "serial n.inner 5"]


def fused(t: Any, ax: list[Any]) -> list[str]:
    whole = t.fuse(ax[2], ax[3])
    t.split(whole, 7)
    return ["serial m.n.fused.outer 18", "serial m.n.fused.inner 7", "serial k 7"]


def all_fused(t: Any, ax: list[Any]) -> list[str]:
    t.fuse(ax[2], ax[3], ax[4])
    return ["serial m.n.fused.k.fused 840"]


def marked(t: Any, ax: list[Any]) -> list[str]:
    t.reorder(ax[2], ax[4], ax[3])
    outer, inner = t.split(ax[3], 8)
    t.reorder(outer, ax[4])
    t.parallel(ax[2])
    t.vectorize(inner)
    t.unroll(ax[4])
    t.pragma(outer, "note", 3)
    return ["parallel m 10", "serial n.outer 2", "unrolled k 7", "vectorized n.inner 8"]


@pytest.mark.parametrize("change", [even, uneven, parts, tiled, fused, all_fused, marked])
def test_loops_of_a_product(change: Callable[[Any, list[Any]], list[str]]) -> None:
    s, stage = made()
    wanted = change(stage, list(stage.op.axis))
    assert loops(stage) == ["serial i 10", "serial j 12", *wanted]
    check(s, A @ B + 1, A, B, threads=2)


def test_what_is_recorded_and_shown() -> None:
    s, stage = made()
    axes = list(stage.op.axis)
    outer, inner = stage.split(axes[3], 5)
    stage.reorder(axes[4], inner)
    stage.vectorize(inner)
    stage.parallel(axes[0])
    assert s.primitive_record == ["vanilla", "split", "reorder", "vectorize", "parallel"]
    lines = [line.split("layers")[0].rstrip() for line in str(s).splitlines()]
    assert lines[2:9] == [
        "  for i in 10             # parallel",
        "    for j in 12",
        "  for m in 10",
        "    for n.outer in 3",
        "      for k in 7",
        "        for n.inner in 5  # vectorized",
        "          product = hybrid(a, b)",
    ]
    assert outer in stage.leaf_iter_vars
    assert "pragma_note = 3" not in str(lower(s, simple_mode=True))
    stage.pragma(outer, "note", 3)
    assert "pragma_note = 3" in str(lower(s, simple_mode=True))


def test_conditions_on_loops_follow() -> None:
    a = te.placeholder(A.shape, name="a")
    c = triangle(a)
    s = te.create_schedule(c)
    i, j = s[c].op.axis
    x, y = s[c].split(i, 3)
    s[c].reorder(j, y)
    s[c].fuse(x, j)
    s[c].vectorize(y)
    rows, columns = np.indices(A.shape)
    check(s, np.where(columns <= rows, A * 2 + rows, -columns), A)


def test_loops_with_scalars() -> None:
    a = te.placeholder(A.shape, name="a")
    c = maxima(a)
    s = te.create_schedule(c)
    i, j = s[c].op.axis
    with pytest.raises(
        ScheduleError, match="reorder: expected loops of the script that are nested perfectly, got i, j"
    ):
        s[c].reorder(j, i)
    with pytest.raises(ScheduleError, match="fuse: expected loops of the script that are nested perfectly, got i, j"):
        s[c].fuse(i, j)
    for mark, name in ((s[c].parallel, "parallel"), (s[c].vectorize, "vectorize")):
        with pytest.raises(
            ScheduleError, match=f"{name}: .*of their own, got j, all of which store the same of 'best'"
        ):
            mark(j)
    assert s.primitive_record == ["vanilla"]
    outer, _ = s[c].split(i, 4)
    s[c].parallel(outer)
    s[c].unroll(s[c].split(j, 3)[1])
    check(s, A.max(1), A, threads=2)


def test_neighbours_that_are_not_nested() -> None:
    s, stage = made()
    axes = list(stage.op.axis)
    with pytest.raises(ScheduleError, match="nested perfectly, got j, m"):
        stage.fuse(axes[1], axes[2])
    with pytest.raises(ScheduleError, match="nested perfectly, got i, j, m"):
        stage.reorder(axes[2], axes[0])
    with pytest.raises(ScheduleError, match="got k, all of which store the same of 'product'"):
        stage.vectorize(axes[4])
    check(s, A @ B + 1, A, B)


def test_memory_that_iterations_share() -> None:
    @te.hybrid.script
    def through(a: Any) -> Any:
        c = output_tensor((10, 7), "float32")
        for i in range(10):
            row = allocate((7,), "float32", "global")
            for j in range(7):
                row[j] = a[i, j] * 2.0
            for k in range(7):
                c[i, k] = row[k]
        return c

    a = te.placeholder(A.shape, name="a")
    c = through(a)
    s = te.create_schedule(c)
    with pytest.raises(ScheduleError, match="parallel: expected a loop with local tensors only, got i"):
        s[c].parallel(s[c].op.axis[0])
    s[c].vectorize(s[c].op.axis[1])
    np.testing.assert_array_equal(build_schedule(s, threads=1)(A), A * 2)
