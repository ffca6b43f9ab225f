"""Forms of TVMScript that users write: lists of loops, slices, bound values, views of handles, and second names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence.kernels import build_prim_func
from whence.script import from_source
from whence.script import tir as T
from whence.support.errors import ScheduleError, TextError
from whence.target import Target

RNG = np.random.default_rng(7)


def run(text: str, *arrays: Any, **values: Any) -> Any:
    """What a function computes; its text is read again as the same function."""
    func = from_source(text, values)
    again = from_source(func.script())
    assert again.script() == func.script()
    return build_prim_func(func.op)(*arrays)


def integers(*shape: int) -> Any:
    return RNG.integers(-9, 10, shape).astype(np.float32)


def test_lists_of_loops_indices_and_extents() -> None:
    text = """
@T.prim_func
def f(a: T.handle, B: T.Buffer((2, 3, 4)), C: T.Buffer((2, 3, 4))):
    A = T.match_buffer(a, [2, *dims])
    for *outer, last in T.grid(*A.shape):
        with T.block("b"):
            v = T.axis.remap("SSS", [*outer, last])
            B[v] = A[(*v,)] * len(dims)
    for loops in T.grid(2, *dims):
        C[loops] = B[loops[0], loops[1], 3 - loops[2]]
"""
    a = integers(2, 3, 4)
    b, c = run(text, a, dims=[3, 4])
    np.testing.assert_array_equal(b, 2 * a)
    np.testing.assert_array_equal(c, 2 * a[..., ::-1])


def test_slices_are_vectors() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((2, 16)), B: T.Buffer((2, 16))):
    B[0, 0:8] = A[0, 0:16:2] + A[1, 1:9]
    B[0, 8:16] = T.max(A[0, 0:8], A[1, 8:16])
    for i in range(4):
        B[1, i * 4 : i * 4 + 4] = A[1, i * 4 : i * 4 + 4] * T.broadcast(T.float32(3), 4)
    B[1, T.ramp(0, 4, 4)] = T.Select(A[0, 0:4] < A[1, 0:4], A[0, 0:4], A[1, 0:4])
"""
    a = integers(2, 16)
    wanted = np.stack([np.concatenate([a[0, ::2] + a[1, 1:9], np.maximum(a[0, :8], a[1, 8:])]), a[1] * 3])
    wanted[1, ::4] = np.minimum(a[0, :4], a[1, :4])
    np.testing.assert_array_equal(run(text, a), wanted)


def test_steps_of_loops() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((16,)), B: T.Buffer((16,))):
    for i in range(16):
        B[i] = 0.0
    for i in range(1, 15, 4):
        B[i] = A[i]
    for i in T.serial(2, 11, step=4):
        B[i] = -A[i]
"""
    a = integers(16)
    wanted = np.zeros_like(a)
    wanted[1:15:4], wanted[2:11:4] = a[1:15:4], -a[2:11:4]
    np.testing.assert_array_equal(run(text, a), wanted)


def test_bound_values() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,)), B: T.Buffer((8,))):
    n, m = T.int32(2), T.int32(3)
    j = T.int32()
    T.bind(n + m, var=j)
    half = T.meta_var(0.5)
    for i in range(8):
        x: T.let[T.float32] = A[i] * half
        y: T.let = x + j
        z = T.bind(y)
        T.evaluate(T.assume(A[i] < 100.0))
        T.pow(z, z)
        with T.LetStmt(z * 2.0) as w:
            B[i] = w
    k = T.int32()
    with T.LetStmt(7, var=k):
        B[k] = T.undef()
        B[k] = T.call_extern("fabsf", A[k], dtype="float32")
"""
    a = integers(8)
    wanted = a + 10
    wanted[7] = abs(a[7])
    np.testing.assert_array_equal(run(text, a), wanted)


def test_words_have_names() -> None:
    assert (T.exp10.__name__, T.float32x4.__name__) == ("exp10", "float32x4")


def test_powers_of_ten() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        B[i] = T.exp10(A[i])
"""
    a = integers(8)
    np.testing.assert_allclose(run(text, a), 10.0 ** a.astype(np.float64), rtol=1e-6)


def test_views_of_handles_and_allocations() -> None:
    text = """
@T.prim_func
def f(a: T.handle("float32"), b: T.handle("float32")):
    T.func_attr({"target": T.target("llvm")})
    T.attr("default", "device_id", 0)
    T.attr("default", "device_type", 1)
    A = T.decl_buffer((4, 8), data=a)
    B = T.decl_buffer((4, 8), data=b)
    flat = T.Buffer((32,), data=A.data)
    copied = T.allocate([32], "float32", "global")
    twice = T.Buffer((4, 8), data=copied)
    numbers = T.allocate_const([1.0, 2.0, 3.0, 4.0], dtype="float32", extents=[4])
    for i in range(32):
        copied[i] = flat[i] * 2.0
    for i, j in T.grid(4, 8):
        B[i, j] = twice[i, j] + numbers[i]
"""
    a = integers(4, 8)
    np.testing.assert_array_equal(run(text, a), 2 * a + np.arange(1, 5, dtype=np.float32)[:, None])
    assert isinstance(from_source(text).attrs["target"], type(Target("llvm")))


def test_addresses_of_elements() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((2, 4)), B: T.Buffer((2, 4))):
    T.evaluate(T.call_extern("void", "copied", T.address_of(B[1, 2]), T.address_of(A), 1))
"""
    assert "tir.call_extern" in str(from_source(text).op)
    assert "6" in str(from_source(text).op)
    with pytest.raises(TextError, match="expected one element, got several"):
        from_source(text.replace("B[1, 2]", "B[1, 0:2]"))


def test_packed_calls_and_variables_of_te() -> None:
    text = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    offset, other = te.var("offset"), tir.Var("other", "int32")
    n = T.Var("n", "int64")
    A = T.match_buffer(a, (n, 8), elem_offset=offset)
    B = T.match_buffer(b, (n, 8), elem_offset=other)
    T.evaluate(
        T.tvm_call_packed(
            "some.function",
            T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(n, 8, dtype="handle"), 0, 2, 0.0, offset),
            T.tvm_stack_make_array(B.data, T.tvm_stack_make_shape(n, 8, dtype="handle"), 0, 2, 0.0, other),
        )
    )
"""
    func = from_source(text)
    assert (func.body.value.callee, func.body.value.packed) == ("some.function", True)
    assert [argument.name for argument in func.body.value.arguments] == ["A", "B"]


def test_an_index_that_is_a_value_behind_a_condition() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,)), P: T.Buffer((8,), "int32"), B: T.Buffer((8,))):
    for i in range(8):
        B[i] = T.if_then_else(1 <= i, A[i - T.max(0, P[i])], T.float32(0))
"""
    a, p = integers(8), np.array([5, 1, 1, -2, 3, 0, 6, 7], "int32")
    wanted = a[np.arange(8) - np.maximum(p, 0)]
    wanted[0] = 0
    np.testing.assert_array_equal(run(text, a, p), wanted)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("for i in range(0, 8, 0): pass", "4:26: expected a number above 0 as step, got 0"),
        ("for i, j in T.grid(2, 2, 2): pass", "expected as many extents as names, 2, got 3"),
        ("for *i, *j in T.grid(2, 2, 2): pass", "4:13: expected one name with a star, got several"),
        ("for i in T.grid(*A): pass", "expected a list behind \\*, got A"),
        ("return 0", "4:5: expected statements that all run, got Python's return"),
        ("A[0] = A[0:2] + A[1:4]", "expected .* lanes"),
        ("A[0:N:2] = A[0:4]", "expected a slice of known length with a step above 0"),
        ("T.attr('x', 'device_type', 2)", "expected T.attr of a pragma, got 'device_type'"),
        ("x = T.Buffer((2,))", "expected the data of x; T.alloc_buffer makes memory"),
        ("T.func_attr({'target': T.target('cuda')})", "4:28: target: expected .* got 'cuda'"),
        ("j = T.int32(); T.bind(1.5, var=j)", "expected int32 as j is declared, got float32"),
    ],
)
def test_what_cannot_be_is_told_at_its_place(line: str, wanted: str) -> None:
    with pytest.raises(TextError, match=wanted):
        from_source(f"\n@T.prim_func\ndef f(A: T.Buffer((8,)), N: T.int32):\n    {line}\n")


def test_a_size_that_decides_what_is_there() -> None:
    func = from_source("@T.prim_func\ndef f(A: T.Buffer((8,)), n: T.int32):\n    B = T.alloc_buffer((-8 % n,))\n")
    with pytest.raises(ScheduleError, match="expected sizes that decide what is there, got te: floormod of -8"):
        _ = func.op
