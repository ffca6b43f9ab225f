"""Kernels written as statements in Python, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import whence
from whence import te, tir
from whence.support.errors import ScheduleError, WhenceError

RANDOM = np.random.default_rng(5)


def test_a_loop_of_statements() -> None:
    a, b = tir.decl_buffer((128,), name="A"), tir.decl_buffer((128,), name="B")
    i = tir.Var("i")
    store = tir.BufferStore(b, tir.exp(a[i]) + 1.0, [i])
    func = tir.PrimFunc([a, b], tir.For(i, 0, 128, tir.ForKind.VECTORIZED, store)).with_attr("global_symbol", "plus")
    assert "tir.prim_func @plus(%A: !tir.buffer<128xf32>" in str(func)
    x = RANDOM.random(128, dtype=np.float32)
    np.testing.assert_allclose(whence.build(func)(x), np.exp(x) + 1, rtol=1e-6)
    simple = tir.transform.Simplify()(func)
    np.testing.assert_allclose(whence.build(simple)(x), np.exp(x) + 1, rtol=1e-6)
    assert tir.analysis.verify_memory(simple)


def test_statements_are_located_where_they_are_made() -> None:
    a = tir.decl_buffer((4,), name="A")
    i = tir.Var("i")
    func = tir.PrimFunc([a], tir.For(i, 0, 4, "serial", tir.BufferStore(a, 1.0, [i])))
    places = {str(op.location) for op in func.op.walk()}
    assert any("test_tir_from_python.py" in place and "BufferStore" in place for place in places)
    assert all("unknown" not in place for place in places)


def test_the_builder_nests_loops_branches_and_buffers() -> None:
    n = 16
    ib = tir.ir_builder.create()
    x, y = ib.pointer("float32", (n, n), name="X"), ib.pointer("float32", (n, n), name="Y")
    with ib.for_range(0, n, kind="parallel", name="i") as i:
        total = ib.allocate("float32", (1,), name="total", scope="local")
        total[0] = 0.0
        with ib.for_range(0, i + 1, name="j") as j:
            total[0] = total[0] + x[i, j]
            with ib.if_scope(tir.all(j < 3, x[i, j] > 0.5)):
                y[i, j] = total[0]
            with ib.else_scope():
                y[i, j] = i.astype("float32")
        with ib.for_range(i + 1, n, name="j") as j:
            y[i, j] = -1.0
    values = RANDOM.random((n, n), dtype=np.float32)
    found = whence.build(tir.PrimFunc([x.buffer, y.buffer], ib.get()))(values)
    sums, rows, columns = np.cumsum(values, axis=1), *np.indices((n, n))
    inner = np.where((columns < 3) & (values > 0.5), sums, rows)
    np.testing.assert_allclose(found, np.where(columns <= rows, inner, -1), rtol=1e-5)


def test_names_asserts_and_while() -> None:
    ib = tir.ir_builder.create()
    a, b = ib.pointer("int32", (1,), name="A"), ib.pointer("int32", (2,), name="B")
    ib.emit(tir.AssertStmt(a[0] > 0, "positive"))
    twice = ib.let("twice", a[0] * 2)
    b[0] = twice + 1
    b[1] = 1
    with ib.while_loop(b[1] < b[0]):
        b[1] = b[1] * 3
    func = whence.build(tir.PrimFunc([a.buffer, b.buffer], ib.get()))
    np.testing.assert_array_equal(np.asarray(func(np.array([20], np.int32))), [41, 81])
    with pytest.raises(WhenceError, match="positive"):
        func(np.array([0], np.int32))


def test_sizes_are_left_to_calls() -> None:
    m, k = tir.SizeVar("m"), tir.Var("k")
    p, q = tir.decl_buffer((m,), name="P"), tir.decl_buffer((m * 2,), name="Q")
    both = tir.SeqStmt([tir.BufferStore(q, p[k], [k * 2]), tir.BufferStore(q, p[m - 1 - k], [k * 2 + 1])])
    func = whence.build(tir.PrimFunc([p, q], tir.For(k, 0, m, "serial", both)))
    for size in (1, 5):
        values = RANDOM.random(size, dtype=np.float32)
        np.testing.assert_array_equal(func(values), np.stack([values, values[::-1]], 1).ravel())


def test_buffers_by_variables() -> None:
    i, handle_a, handle_b = tir.Var("i"), tir.Var("a", "handle"), tir.Var("b", "handle")
    a, b = tir.decl_buffer((4,), "int32", "A"), tir.decl_buffer((4,), "int32", "B")
    body = tir.For(i, 0, 4, "serial", tir.IfThenElse(tir.LT(i, 2), b.vstore(i, a.vload(i) * 3), b.vstore(i, 0)))
    func = tir.PrimFunc([handle_a, handle_b], body, None, {handle_a: a, handle_b: b})
    np.testing.assert_array_equal(np.asarray(whence.build(func)(np.arange(1, 5, dtype=np.int32))), [3, 6, 0, 0])
    with pytest.raises(ScheduleError, match="expected a buffer for each parameter, got none for b"):
        _ = tir.PrimFunc([handle_a, handle_b], body, None, {handle_a: a}).op


def test_what_may_not_be_said_is_told() -> None:
    a, b = tir.decl_buffer((4,), name="A"), tir.decl_buffer((4,), name="B")
    i = tir.Var("i")
    store = tir.For(i, 0, 4, "serial", tir.BufferStore(a, b[i], [i]))
    with pytest.raises(ScheduleError, match="what is written last among the parameters, got A"):
        _ = tir.PrimFunc([a, b], store).op
    with pytest.raises(ScheduleError, match="expected 1 indices of 'A', got 2"):
        tir.BufferStore(a, 1.0, [i, i])
    with pytest.raises(ScheduleError, match="expected a parameter or an allocated buffer, got 'A'"):
        _ = tir.PrimFunc([b], store).op
    with pytest.raises(ScheduleError, match="expected a kind among serial"):
        tir.For(i, 0, 4, "threads", store)
    with pytest.raises(ScheduleError, match="expected bounds of numbers"):
        _ = tir.PrimFunc([b, a], tir.For(tir.Var("j"), 0, b[0].astype("int32"), "serial", store)).op
    ib = tir.ir_builder.create()
    with pytest.raises(ScheduleError, match="else_scope can only follow an if_scope"), ib.else_scope():
        pass


def test_expressions_by_tvms_names() -> None:
    x, y = tir.Var("x"), tir.Var("y")
    assert (tir.IntImm("int64", 3).value, tir.FloatImm("float32", 0.5).value) == (3, 0.5)
    assert tir.StringImm("text") == "text"
    pairs = [
        (tir.Add(x, y), x + y),
        (tir.Mul(x, 2), x * 2),
        (tir.FloorDiv(x, 2), te.floordiv(x, 2)),
        (tir.Max(x, y), te.maximum(x, y)),
        (tir.min(x, y), te.minimum(x, y)),
        (tir.LE(x, y), x <= y),
        (tir.Select(x < y, x, y), te.select(x < y, x, y)),
        (tir.Cast("int64", x), x.astype("int64")),
    ]
    assert all(tir.analysis.expr_deep_equal(one, other) for one, other in pairs)
    assert not tir.analysis.expr_deep_equal(x, y)
    seen: list[object] = []
    tir.stmt_functor.post_order_visit(x + y * 2, seen.append)
    assert [seen.index(x) < len(seen) - 1, len(seen)] == [True, 5]
    swapped = tir.stmt_functor.substitute(x + y, {x: y, y: x})
    assert tir.analysis.expr_deep_equal(swapped, y + x)
    for wrong in (lambda: tir.IntImm("float32", 1), lambda: tir.FloatImm("int32", 1.0)):
        with pytest.raises(ScheduleError):
            wrong()
    with pytest.raises(AttributeError):
        _ = tir.no_such_name
