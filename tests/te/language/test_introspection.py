"""What schedules say of themselves by TVM's names, passes that inline, and factored tuple reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import te
from whence.kernels import build_schedule

Array = np.ndarray[Any, Any]


def test_names_of_a_schedule() -> None:
    a = te.placeholder((8, 16), name="A")
    b = te.compute((8, 16), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 16), lambda i, j: b[i, j] * 2.0, name="C")
    s = te.create_schedule(c)
    assert s.outputs == [c.op]
    assert list(s.stage_map) == [a.op, b.op, c.op]
    assert s.stage_map[b.op] is s[b]
    assert [stage.label for stage in s.stages] == ["B", "C"]
    assert s.groups == []
    outer, inner = s[c].split(c.op.axis[1], 4)
    s[c].parallel(c.op.axis[0])
    s[c].vectorize(inner)
    s[c].pragma(outer, "auto_unroll_max_step", 16)
    attrs = s[c].iter_var_attrs
    assert attrs[c.op.axis[0]].iter_type == 7
    assert attrs[inner].iter_type == 6
    assert (attrs[outer].pragma_keys, attrs[outer].pragma_values) == (("auto_unroll_max_step",), (16,))
    assert c.op.axis[1] not in attrs
    assert (inner.var.name, inner.dom.min, inner.dom.extent, inner.iter_type) == ("j.inner", 0, 4, 0)
    assert [axis.name for axis in s[c].leaf_iter_vars] == ["i", "j.outer", "j.inner"]
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(b.op.axis[0], thread)
    assert s[b].iter_var_attrs[b.op.axis[0]].bind_thread is thread


def _chain() -> tuple[Any, Any, list[Any]]:
    a, bias = te.placeholder((4, 6), name="A"), te.placeholder((6,), name="bias")
    e = te.compute((4, 6), lambda i, j: te.exp(a[i, j]), name="elemwise")
    b = te.compute((4, 6), lambda i, j: e[i, j] + bias[j], name="broadcast")
    t = te.compute((6, 4), lambda i, j: b[j, i] * 2.0, name="injective")
    k = te.reduce_axis((0, 4), "k")
    r = te.compute((6,), lambda i: te.sum(t[i, k], axis=k), name="reduction")
    o = te.compute((6,), lambda i: r[i] + 1.0, name="out")
    return (a, bias), o, [e, b, t, r, o]


@pytest.mark.parametrize(
    ("inline", "wanted"),
    [
        ("AutoInlineElemWise", ["elemwise"]),
        ("AutoInlineElemwise", ["elemwise"]),
        ("AutoInlineBroadcast", ["elemwise", "broadcast"]),
        ("AutoInlineInjective", ["elemwise", "broadcast", "injective"]),
    ],
)
def test_inlining_by_what_stages_are(inline: str, wanted: list[str]) -> None:
    inputs, out, tensors = _chain()
    s = te.create_schedule(out, inputs=inputs)
    getattr(te.schedule, inline)(s)
    assert [tensor.name for tensor in tensors if s[tensor].inlined] == wanted
    x, y = np.random.default_rng(0).random((4, 6), "float32"), np.arange(6, dtype="float32")
    np.testing.assert_allclose(build_schedule(s, threads=1)(x, y), ((np.exp(x) + y) * 2).sum(0) + 1, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("extent", [32, 30])
@pytest.mark.parametrize("which", [0, 1])
def test_rfactor_of_a_tuple(dtype: str, extent: int, which: int) -> None:
    a = te.placeholder((5, extent), dtype, "A")
    k = te.reduce_axis((0, extent), "k")
    argmax = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.maximum(x[1], y[1])),
        lambda place, value: (te.const(-1, place), te.min_value(value)),
        name="argmax",
    )
    place, _ = te.compute((5,), lambda i: argmax((k, a[i, k]), axis=k), name="argmax")
    s = te.create_schedule([place.op])
    loops = s[place].split(k, 8)
    factored = s.rfactor(place, loops[which], which)
    assert len(factored.outputs) == 2
    s[place].parallel(s[place].op.axis[0])
    # Below 0, so that points past the end would win.
    x = (-np.abs(np.random.default_rng(extent).standard_normal((5, extent))) * 1e6 - 1).astype(dtype)
    places, values = build_schedule(s, threads=1)(x)
    np.testing.assert_array_equal(places, x.argmax(1))
    np.testing.assert_array_equal(values, x.max(1))
    again, _ = build_schedule(s.copy(), threads=1)(x)
    np.testing.assert_array_equal(again, places)


def test_numbers_are_equal_by_value() -> None:
    tensor = te.placeholder((4, te.const(8)), name="a")
    assert te.const(8) == te.const(8)
    assert not te.const(8) == te.const(9)
    assert te.const(8) != te.const(9)
    assert tuple(tensor.shape) == (4, 8)
    n = te.var("n")
    assert n == n
    assert not n == te.var("n")
    assert te.const(8) != n
