"""Forms of schedules that programs for TVM have: rows before the first step, bound scripts, layouts of open size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence
from whence import te
from whence.support.errors import ScheduleError

RANDOM = np.random.default_rng(3)
M, N = 5, 4


@pytest.mark.parametrize("through", ["placeholder", "compute", "shifted", "twice", "at step"])
def test_a_scan_reads_the_row_before(through: str) -> None:
    x = te.placeholder((M, N), name="x")
    doubled = te.compute((M, N), lambda t, i: x[t, i] * 2.0, name="doubled")
    before = te.compute((M, N), lambda t, i: doubled[t - 1, i] + 1.0, name="before")
    again = te.compute((M, N), lambda t, i: before[t, i] * 3.0, name="again")
    forms: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
        "placeholder": (lambda t, i: x[t - 1, i], lambda v: v),
        "compute": (lambda t, i: doubled[t - 1, i], lambda v: v * 2),
        "shifted": (lambda t, i: before[t, i], lambda v: v * 2 + 1),
        "twice": (lambda t, i: again[t, i], lambda v: (v * 2 + 1) * 3),
        "at step": (lambda t, i: before[t, i], lambda v: v * 2 + 1),
    }
    source, value = forms[through]
    state = te.placeholder((M, N), name="state")
    init = te.compute((1, N), lambda _, i: x[0, i], name="init")
    update = te.compute((M, N), lambda t, i: state[t - 1, i] + source(t, i), name="update")
    total = te.scan(init, update, state, inputs=[x])
    schedule = te.create_schedule(total.op)
    if through == "at step":
        schedule[before].compute_at(schedule[update], schedule[update].op.axis[1])
    values = RANDOM.random((M, N), dtype=np.float32)
    expected = values.copy()
    for t in range(1, M):
        expected[t] = expected[t - 1] + value(values[t - 1])
    np.testing.assert_allclose(whence.build(schedule, [x, total])(values), expected, rtol=1e-5)


@te.hybrid.script
def doubled(a: Any) -> Any:
    b = output_tensor((16, 8), "float32")  # noqa: F821  # pyright: ignore
    for i in range(16):
        for j in range(8):
            b[i, j] = a[i, j] * 2.0
    return b  # pyright: ignore


@pytest.mark.parametrize("tags", [["threadIdx.x"], ["blockIdx.x", "threadIdx.x"], ["blockIdx.x", "blockIdx.y"]])
def test_loops_of_a_script_are_bound(tags: list[str]) -> None:
    a = te.placeholder((16, 8), name="a")
    b = doubled(a)
    schedule = te.create_schedule(b.op)
    for axis, tag in zip(schedule[b].op.axis, tags, strict=False):
        schedule[b].bind(axis, te.thread_axis(tag))
    func = whence.build(schedule, [a, b])
    values = RANDOM.random((16, 8), dtype=np.float32)
    np.testing.assert_array_equal(func(values), values * 2)
    assert func.tir.count("tir.for parallel") == (1 if tags[0].startswith("block") else 0)


def test_a_number_of_an_intrinsic_is_named() -> None:
    a = te.placeholder((16, 16), name="a")
    b = te.compute((16, 16), lambda i, j: a[i, j] * 3.0, name="b")
    row = te.placeholder((16,), name="row")
    made = te.compute((16,), lambda i: row[i] * 2.0, name="made")
    twice = te.decl_tensor_intrin(made.op, lambda ins, outs: te.call_packed("none", ins[0], outs[0]), name="twice")
    schedule = te.create_schedule(b.op)
    with pytest.raises(ScheduleError, match=r"expected the number 2\.0 : f32, got the number 3\.0 : f32"):
        schedule[b].tensorize(schedule[b].op.axis[1], twice)


Form = Callable[[Any, Any], list[Any]]
LAYOUTS: dict[str, Form] = {
    "as it was": lambda i, j: [i, j],
    "turned": lambda i, j: [j, i],
    "flat": lambda i, j: [i * 4 + j],
    "rows in tiles": lambda i, j: [i // 4, j, i % 4],
    "both in tiles": lambda i, j: [i // 2, j // 2, i % 2, j % 2],
    "with a separator": lambda i, j: [i, te.AXIS_SEPARATOR, j],
    "odd tiles": lambda i, j: [i // 3, i % 3, j],
    "columns in tiles": lambda i, j: [i, j // 2, j % 2],
    "turned tiles": lambda i, j: [j, i // 4, i % 4],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_stage_of_open_size_gets_a_layout(layout: str) -> None:
    k = te.size_var("k")
    a = te.placeholder((k, 4), name="a")
    b = te.compute((k, 4), lambda i, j: a[i, j] + 1.0, name="b")
    c = te.compute((k, 4), lambda i, j: b[i, j] * 2.0, name="c")
    schedule = te.create_schedule(c.op)
    schedule[b].transform_layout(LAYOUTS[layout])
    func = whence.build(schedule, [a, c])
    for rows in (1, 3, 8):
        values = RANDOM.random((rows, 4), dtype=np.float32)
        np.testing.assert_allclose(func(values), (values + 1) * 2, rtol=1e-6)


COLLIDING: list[Form] = [
    lambda i, j: [i % 8, j],
    lambda i, j: [i * 3 + j],
    lambda i, j: [i // 2, j],
    lambda i, j: [j * 100 + i],
]


@pytest.mark.parametrize("layout", COLLIDING)
def test_a_layout_that_collides_at_some_size_is_refused(layout: Form) -> None:
    k = te.size_var("k")
    a = te.placeholder((k, 4), name="a")
    b = te.compute((k, 4), lambda i, j: a[i, j] + 1.0, name="b")
    schedule = te.create_schedule(te.compute((k, 4), lambda i, j: b[i, j] * 2.0, name="c").op)
    with pytest.raises(ScheduleError, match="expected a place of its own for each element"):
        schedule[b].transform_layout(layout)
