"""te.hybrid.build: the loops of a schedule as the source of a script, and scripts as modules."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# ruff: noqa: F821

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import te, tir
from whence.support.errors import ScheduleError

_RANDOM = np.random.default_rng(41)


@te.hybrid.script
def _outer(n: Any, m: Any, a: Any, b: Any) -> Any:
    c = output_tensor((n, m), a.dtype)
    for i in range(n):
        for j in range(m):
            assert i < n and j < m, "inside"  # noqa: PT018
            c[i, j] = a[i] * b[j]
    return c


def _compiled(module: te.hybrid.HybridModule, parameters: list[Any], arguments: list[Any]) -> Any:
    """What the script gives when it is compiled."""
    result = module(*parameters)
    built = whence.build(te.create_schedule(result.op), [*parameters, result])
    out = np.zeros(np.shape(module(*arguments)), result.dtype)
    built(*arguments, out)
    return out


def test_body_of_a_hybrid_op() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a, b = te.placeholder((n,), name="a"), te.placeholder((m,), name="b")
    outer = _outer(n, m, a, b).op
    loop: Any = outer.body
    assert [axis.name for axis in outer.axis] == ["i", "j"]
    assert type(loop) is tir.For
    assert (loop.loop_var.name, loop.min.value, str(loop.extent)) == ("i", 0, "n")
    parts: Any = getattr(loop.body, "body")  # noqa: B009
    check, store = parts
    assert type(check) is tir.AssertStmt
    assert isinstance(check.message, tir.StringImm)
    assert check.message.value == "inside"
    assert [isinstance(each, tir.ProducerStore) for each in parts] == [False, True]
    assert store.producer.op.name == "c"
    assert [index.name for index in store.indices] == ["i", "j"]
    assert store.value.a.producer is a
    assert not isinstance(tir.BufferStore(tir.decl_buffer((1,)), 1.0, [0]), tir.ProducerStore)


def test_a_script_is_built_saved_and_loaded(tmp_path: Path) -> None:
    n, m = te.size_var("n"), te.size_var("m")
    a, b = te.placeholder((n,), name="a"), te.placeholder((m,), name="b")
    c = _outer(n, m, a, b)
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], 4)
    module = te.hybrid.build(s, [n, m, a, b], [c])
    x, y = _RANDOM.random(7, np.float32), _RANDOM.random(3, np.float32)
    path = str(tmp_path / module.name)
    module.save(path)
    loaded = te.hybrid.HybridModule()
    loaded.load(f"{path}.py")
    assert (loaded.name, loaded.get_source()) == ("hybrid_func", module.get_source())
    for each in (module, loaded):
        np.testing.assert_array_equal(each(7, 3, x, y), np.outer(x, y))
        np.testing.assert_array_equal(_compiled(each, [n, m, a, b], [7, 3, x, y]), np.outer(x, y))


def test_sizes_that_are_no_inputs_are_read_off_shapes() -> None:
    n = te.size_var("n")
    a = te.placeholder((3, n), name="a")
    k = te.reduce_axis((0, n), name="k")
    total = te.compute((3,), lambda i: te.max(a[i, k], axis=k), name="total")
    module = te.hybrid.build(te.create_schedule(total), [a], [total], "rows")
    x = _RANDOM.standard_normal((3, 9)).astype("float32")
    assert "a.shape[1]" in module.get_source()
    np.testing.assert_array_equal(module(x), x.max(axis=1))
    np.testing.assert_array_equal(_compiled(module, [a], [x]), x.max(axis=1))


@pytest.mark.parametrize("factor", [4, 5])
def test_a_scheduled_product(factor: int) -> None:
    a, b = te.placeholder((6, 9), name="a"), te.placeholder((9, 10), name="b")
    k = te.reduce_axis((0, 9), name="k")
    c = te.compute((6, 10), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    d = te.compute((6, 10), lambda i, j: te.if_then_else(j < 3, -c[i, j], te.sqrt(te.abs(c[i, j])) + i), name="d")
    s = te.create_schedule(d)
    outer, inner = s[d].split(d.op.axis[1], factor)
    s[d].reorder(outer, d.op.axis[0], inner)
    s[d].vectorize(inner)
    s[c].compute_at(s[d], outer)
    s[c].unroll(s[c].split(k, 2)[1])
    module = te.hybrid.build(s, [a, b], [d])
    assert "vectorize(" in module.get_source()
    x, y = (_RANDOM.standard_normal(shape).astype("float32") for shape in ((6, 9), (9, 10)))
    product = x @ y
    expected = np.where(np.arange(10) < 3, -product, np.sqrt(abs(product)) + np.arange(6)[:, None])
    np.testing.assert_allclose(module(x, y), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(_compiled(module, [a, b], [x, y]), expected, rtol=1e-4, atol=1e-5)


def test_division_and_bits_of_integers() -> None:
    a, b = (te.placeholder((40,), "int32", name=name) for name in "ab")
    c = te.compute(
        (40,), lambda i: te.truncdiv(a[i], b[i]) * 8 + te.truncmod(a[i], b[i]) + (a[i] // b[i] ^ i), name="c"
    )
    module = te.hybrid.build(te.create_schedule(c), [a, b], [c])
    x, y = _RANDOM.integers(-99, 99, 40).astype("int32"), _RANDOM.integers(1, 9, 40).astype("int32")
    quotient = np.trunc(x / y).astype("int32")
    expected = quotient * 8 + (x - quotient * y) + (x // y ^ np.arange(40))
    np.testing.assert_array_equal(module(x, y), expected)
    np.testing.assert_array_equal(_compiled(module, [a, b], [x, y]), expected)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def f(a:\n", r"was never closed|invalid syntax"),
        ("x = 1\n", "expected a source of one function, got none"),
        ("def f(a): pass\ndef g(a): pass\n", "expected a source of one function, got f, g"),
        ("def f(a, n=print()): pass\n", "expected a function without default values, got some of f"),
    ],
)
def test_bad_sources(source: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match=text):
        te.hybrid.HybridModule(source)
    with pytest.raises(ScheduleError, match="expected a source, which `load` reads, got none"):
        te.hybrid.HybridModule()(1)
    with pytest.raises(ScheduleError, match=r"cannot read .*missing\.py"):
        te.hybrid.HybridModule().load(str(tmp_path / "missing.py"))


def test_what_stands_around_a_body_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    touch = f"__import__('pathlib').Path({str(ran)!r}).touch()"
    te.hybrid.HybridModule(f"{touch}\n@{touch}\ndef f(a: {touch}, *b: {touch}, c: {touch}) -> {touch}:\n    return a\n")
    assert not ran.exists()


def test_what_scripts_cannot_say_is_refused() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: te.reinterpret("int32", a[i]), name="b")
    with pytest.raises(ScheduleError, match="expected expressions that scripts have"):
        te.hybrid.build(te.create_schedule(b), [a], [b])
