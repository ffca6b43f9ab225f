"""Explanations of schedules: what each primitive did, what it cost, and what may come next."""

from __future__ import annotations

import re
from typing import Any

import pytest

from whence import te
from whence.explorer.session.schedules import film
from whence.lowering.llvm_to_native.target import Target
from whence.support.context import PassContext
from whence.support.errors import PipelineError


def product(size: Any = 32) -> tuple[Any, Any]:
    A, B = (te.placeholder((size, size), name=name) for name in "AB")
    k = te.reduce_axis((0, size), name="k")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C), C


def test_each_primitive_has_the_loops_before_and_after_and_its_times():
    with PassContext(config={"te.keep_primitive_lines": True}):
        s, C = product()
        outer, inner = s[C].split(C.op.axis[1], 8)
        s[C].vectorize(inner)
    before = str(s)
    explained = s.explain(threads=1)
    assert str(s) == before
    assert [step.primitive.split()[-1] for step in explained.steps[1:]] == ["8", "%j.inner"]
    first, split, vectorized = explained.steps
    assert split.before == first.after
    assert [line.strip() for line in split.before] == [
        *("stage C  (global)  layers: C", "for i in 32", "for j in 32", "for k in 32", "C[i, j] += A[i, k] * B[k, j]")
    ]
    assert [line.strip() for line in split.after[2:4]] == ["for j.outer in 4", "for j.inner in 8"]
    assert "# vectorized" in "".join(vectorized.after)
    assert all(re.fullmatch(r"test_explain\.py:\d+", step.at) for step in explained.steps[1:])
    frames = film(s, Target.native().hardware, 1).frames
    for step, frame in zip(explained.steps, frames, strict=True):
        assert step.measured is not None
        assert step.measured > 0
        assert frame.cost is not None
        assert step.estimate == frame.cost.seconds
        assert [one.call for one in step.next] == [one.call for one in frame.next]
    legal = {one.call for one in first.next}
    assert 's["C"].reorder(k, j)' in legal
    assert outer.name == "j.outer"


def test_the_text_and_the_table_say_the_same():
    s, C = product()
    s[C].reorder(*C.op.reduce_axis, *C.op.axis)
    explained = te.explain(s, measure=False)
    text, html = str(explained), explained._repr_html_()
    assert "1. schedule.reorder %k, %i, %j" in text
    assert re.search(r"for i in 32 +->    for k in 32", text)
    assert "measured none" in text
    assert "next: s[" in text
    assert html.count("<tr>") == 3
    assert html.count("<details>") == 2
    assert "for k in 32" in html
    assert "<script" not in html


def test_what_cannot_be_carried_out_is_said_and_not_measured():
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((16,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((16,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D)
    s[B].compute_at(s[D], D.op.axis[0])
    last = s.explain().steps[-1]
    assert last.error
    assert last.measured is None
    assert f"not as it is: {last.error}" in str(s.explain(measure=False))


def test_open_sizes_are_measured_at_some_size():
    s, C = product(te.var("n"))
    s[C].split(C.op.axis[0], 4)
    assert all(step.measured for step in s.explain().steps)


def test_another_machine_is_not_measured():
    s, _ = product()
    other = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"
    assert all(step.measured is None for step in s.explain(target=other, measure=False).steps)
    with pytest.raises(PipelineError, match="explain: expected measure=False, as the target is another machine"):
        s.explain(target=other)
