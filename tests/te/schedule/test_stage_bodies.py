"""`s[B].op.body`: the expressions of stages that primitives made or changed."""
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import pytest

from whence import te, tir
from whence.support.errors import ScheduleError


def _sum() -> tuple[Any, Any, Any]:
    n = te.var("n")
    a = te.placeholder((n, 16), name="a")
    k = te.reduce_axis((0, 16), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k] * 2.0, axis=k), name="b")
    return te.create_schedule(b), b, k


def test_after_rfactor() -> None:
    s, b, k = _sum()
    assert str(s[b].op.body[0]) == str(b.op.body[0])
    _, inner = s[b].split(k, 4)
    part: Any = s.rfactor(b, inner)
    value = part.op.body[0]
    assert isinstance(value, tir.Reduce)
    assert [axis.name for axis in value.axis] == [axis.name for axis in part.op.reduce_axis] == ["k.outer"]
    assert [axis.name for axis in part.op.axis] == ["k.inner", "i"]
    assert value.axis[0].dom.extent == 4
    assert "a[i, k.outer * 4 + k.inner]" in str(value)
    again: Any = s[b].op.body[0]
    assert again.axis[0].dom.extent == 4
    assert str(again) == "T.sum(b.rf[k.inner.v, i], axis=[k.inner.v])"


def test_after_cache_write() -> None:
    s, b, _ = _sum()
    cache = s.cache_write(b, "local")
    assert str(cache.op.body[0]) == str(b.op.body[0])
    assert [axis.name for axis in cache.op.reduce_axis] == ["k"]
    assert str(s[b].op.body[0]) == "b.local[i]"
    assert s[b].op.reduce_axis == []


def test_a_reducer_of_ones_own_and_what_has_no_body() -> None:
    a = te.placeholder((4, 8), name="a")
    k = te.reduce_axis((0, 8), name="k")
    argmax = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.max(x[1], y[1])),
        lambda t, u: (te.const(-1, t), te.min_value(u)),
        name="argmax",
    )
    where, most = te.compute((4,), lambda i: argmax((k, a[i, k]), axis=k), name="c")
    s = te.create_schedule([where, most])
    bodies: Any = s[where].op.body
    assert [value.index for value in bodies] == [0, 1]
    assert [str(part) for part in bodies[0].combiner.result] == [str(part) for part in where.op.body[0].combiner.result]
    assert bodies[0].combiner.identity[0].value == -1
    out = te.extern((4,), [most], lambda ins, outs: te.call_packed("nothing", ins[0], outs[0]), name="out")
    with pytest.raises(ScheduleError, match="Expect a ComputeOp"):
        _ = te.create_schedule(out)[out].op.body
