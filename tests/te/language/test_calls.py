"""`whence.lower` and `whence.build` as TVM calls them, what their functions refuse, and sizes that stay open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence import te
from whence.kernels import lower
from whence.kernels.open_functions import SPECIALIZATIONS, OpenFunction
from whence.support.errors import FrontendError, PipelineError, ScheduleError

Array = np.ndarray[Any, Any]
A, B = te.placeholder((3, 4), name="A"), te.placeholder((4,), name="B")
C = te.compute((3, 4), lambda i, j: A[i, j] * 2.0 + B[j], name="C")
_RANDOM = np.random.default_rng(3)


def _floats(*shape: int) -> Array:
    return _RANDOM.standard_normal(shape).astype("float32")


X, Y = _floats(3, 4), _floats(4)
WANTED = X * np.float32(2) + Y


def test_lower_puts_the_arguments_in_order() -> None:
    func = lower(te.create_schedule(C), [B, A, C], name="f", simple_mode=True)
    assert func.sym_name.data == "f"
    assert [argument.name_hint for argument in func.block.args] == ["B", "A", "C"]
    assert func.outputs.value.data == 1
    assert lower(te.create_schedule(C), "g").sym_name.data == "g"


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell", "native"])
@pytest.mark.parametrize("order", ["ABC", "BAC", "CAB", "ACB"])
def test_build_writes_outputs_in_place_wherever_they_are(order: str, target: str) -> None:
    tensors, out = {"A": A, "B": B, "C": C}, np.full((3, 4), np.nan, "float32")
    arrays = {"A": X, "B": Y, "C": out}
    f = whence.build(te.create_schedule(C), [tensors[name] for name in order], target=target, name="f")
    assert f.name == "f"
    assert f(*(arrays[name] for name in order)) is None
    np.testing.assert_allclose(out, WANTED, rtol=1e-6)
    np.testing.assert_allclose(f(*(arrays[name] for name in order if name != "C")), WANTED, rtol=1e-6)


def test_outputs_that_are_not_laid_out_as_kernels_write() -> None:
    f = whence.build(te.create_schedule(C), [A, B, C])
    columns = np.zeros((4, 3), "float32").T
    f(X, Y, columns)
    np.testing.assert_allclose(columns, WANTED, rtol=1e-6)
    same = X.copy()
    f(same, Y, same)
    np.testing.assert_allclose(same, WANTED, rtol=1e-6)


def test_arguments_that_nothing_reads() -> None:
    unused = te.placeholder((2,), name="unused")
    f = whence.build(te.create_schedule(C), [A, unused, B, C])
    np.testing.assert_allclose(f(X, np.zeros(2, "float32"), Y), WANTED, rtol=1e-6)


def test_build_of_a_function_and_of_its_text() -> None:
    func = te.create_prim_func([A, B, C])
    assert str(func) == str(whence.create_prim_func([A, B, C]))
    for source in (func, str(func)):
        out = np.zeros((3, 4), "float32")
        whence.build(source)(X, Y, out)
        np.testing.assert_allclose(out, WANTED, rtol=1e-6)
    with pytest.raises(PipelineError, match="expected no args beside a prim_func"):
        whence.build(func, [A])


def test_args_that_do_not_fit_the_schedule() -> None:
    middle = te.compute((3, 4), lambda i, j: C[i, j] + 1.0, name="D")
    other = te.compute((3, 4), lambda i, j: A[i, j] + 1.0, name="other")
    s = te.create_schedule(middle)
    for args, text in (
        ([A, middle], "expected every placeholder among args, missing B"),
        ([A, B, other], "expected tensors of the schedule as args, got 'other'"),
        ([A, B, B, middle], "expected each tensor once among args"),
        ([te.size_var("n"), A, B, middle], "expected no variables among args, as all have values, got n"),
    ):
        with pytest.raises(ScheduleError, match=text):
            whence.build(s, args)
    with pytest.raises(ScheduleError, match="expected tensors and variables as args, got str"):
        lower(s, ["A"])  # pyright: ignore[reportArgumentType]

    s[C].set_scope("local")
    with pytest.raises(ScheduleError, match="lower: expected a global tensor in its own layout among the arguments"):
        whence.build(s, [A, B, C, middle])
    s[C].set_scope("global")
    s[C].compute_inline()
    with pytest.raises(ScheduleError, match="expected tensors that are computed as args, got 'C', inlined"):
        whence.build(s, [A, B, C, middle])


@pytest.mark.parametrize("rows", [3, te.size_var("rows")])
def test_args_on_the_way_to_an_output(rows: Any) -> None:
    """A call gets what it passes an array for: a middle stage that is computed in a loop, not the output."""
    source = te.placeholder((rows, 21), name="source")
    middle = te.compute((rows, 21), lambda i, j: source[i, j] * 2.0, name="middle")
    output = te.compute((rows, 20), lambda i, j: middle[i, j] + middle[i, j + 1], name="output")
    s = te.create_schedule(output)
    outer, _ = s[output].split(output.op.axis[1], 6)
    s[middle].compute_at(s[output], outer)
    x = np.random.default_rng(0).standard_normal((3, 21), "float32")
    y, z = np.zeros((3, 20), "float32"), np.zeros_like(x)
    whence.build(s, [output, middle, source])(y, z, x)
    np.testing.assert_array_equal(z, x * 2)
    np.testing.assert_array_equal(y, z[:, :-1] + z[:, 1:])
    z[:] = 0
    whence.build(s, [source, middle])(x, z)
    np.testing.assert_array_equal(z, x * 2)


def test_buffers_for_tensors() -> None:
    buffer = te.decl_buffer((4,), name="close", strides=[te.var("s")], elem_offset=te.var("o"), offset_factor=1)
    s = te.create_schedule(C)
    np.testing.assert_allclose(whence.build(s, [A, buffer, C], binds={B: buffer})(X, Y), WANTED, rtol=1e-6)
    apart = te.decl_buffer((4,), name="apart", strides=[2])
    for declared, binds, text in (
        (buffer, {}, "expected a tensor for 'close' in binds, got none"),
        (buffer, {A: buffer}, "expected a buffer like"),
        (apart, {B: apart}, "expected elements of 'apart' close together, got strides"),
    ):
        with pytest.raises(ScheduleError, match=text):
            whence.lower(s, [A, declared, C], binds=binds)


STRANGE: dict[str, tuple[tuple[Any, ...], str]] = {
    "list": ((X, [1.0] * 3), r"expected input 1 'B' of float32\[4\], got float32\[3\] \(layer 'B', test_calls.py line"),
    "none": ((None, Y), r"expected input 0 'A' of float32\[3, 4\], got a NoneType that is no such array"),
    "scalar": ((X, 2.0), r"expected input 1 'B' of float32\[4\], got float"),
    "rank": ((X, Y[:, None]), r"expected input 1 'B' of float32\[4\], got float32\[4, 1\]"),
    "dtype": ((X.astype("int32"), Y), r"got int32\[3, 4\]"),
    "few": ((X,), r"expected 2 inputs \(A, B\), or 3 arguments with outputs to write, got 1"),
    "output": ((X, Y, X.T), r"expected output 2 'C' of float32\[3, 4\], got float32\[4, 3\]"),
    "read-only": ((X, Y, np.broadcast_to(np.float32(0), (3, 4))), r"got a read-only array"),
}


def test_lists_and_arrays_of_the_default_float_are_taken() -> None:
    f = whence.build(te.create_schedule(C), [A, B, C])
    np.testing.assert_array_equal(f(X.tolist(), Y.astype("float64")), f(X, Y))


@pytest.mark.parametrize("case", STRANGE)
def test_strange_arguments_are_named(case: str) -> None:
    arrays, text = STRANGE[case]
    f = whence.build(te.create_schedule(C), [A, B, C])
    with pytest.raises(FrontendError, match=rf"^function 'main': .*{text}"):
        f(*arrays)


def _open() -> tuple[Any, Any, Any, Any, Any]:
    n, m = te.size_var("n"), te.var("m")
    x, y = te.placeholder((n, m), name="X"), te.placeholder((n + 1,), name="Y")
    z = te.compute((n, m), lambda i, j: x[i, j] * y[i + 1] + n, name="Z")
    return n, m, x, y, z


def test_one_build_serves_many_sizes() -> None:
    *_, z = _open()
    s = te.create_schedule(z)
    _, inner = s[z].split(z.op.axis[1], 8)
    s[z].vectorize(inner)
    s[z].parallel(z.op.axis[0])
    f = whence.build_schedule(s, threads=2)
    assert isinstance(f, OpenFunction)
    for rows, columns in ((3, 4), (5, 16), (1, 9), (3, 4), (700, 3)):
        a, b = _floats(rows, columns), _floats(rows + 1)
        np.testing.assert_allclose(f(a, b), a * b[1:, None] + rows, rtol=1e-6)
    assert f.specializations == []
    assert repr(f).endswith("code for all sizes)")
    assert "vector" in f.tir
    special = f.specialized(n=3, m=4)
    np.testing.assert_allclose(special(a[:3, :1].repeat(4, 1), b[:4]), a[:3, :1] * b[1:4, None] + 3 + np.zeros(4))
    assert f.specializations == [{"n": 3, "m": 4}]


def test_the_code_for_sizes_is_bounded() -> None:
    n = te.size_var("n")
    x = te.placeholder((n,), name="x")
    f = whence.build_schedule(te.create_schedule(x + 1.0), threads=1)
    assert isinstance(f, OpenFunction)
    for size in range(1, SPECIALIZATIONS + 3):
        np.testing.assert_array_equal(f.specialized(n=size)(np.zeros(size, "float32")), np.ones(size))
    assert [one["n"] for one in f.specializations] == list(range(3, SPECIALIZATIONS + 3))


def test_shapes_that_do_not_fit_each_other() -> None:
    n, m, x, y, z = _open()
    f = whence.build(te.create_schedule(z), [n, m, x, y, z])
    a, b, out = _floats(3, 4), _floats(4), np.zeros((3, 4), "float32")
    f(3, np.int64(4), a, b, out)
    np.testing.assert_allclose(out, a * b[1:, None] + 3, rtol=1e-6)
    for arrays, text in (
        (
            (5, 4, a, b, out),
            r"argument 2 'X' of float32\[n, m\], n = 5 as in argument 0, got float32\[3, 4\] with n = 3",
        ),
        ((3, 4, a, b[:3], out), r"argument 3 'Y' of .*float32\[4\] for n = 3, m = 4, got float32\[3\]"),
        ((3, 4, a, b, out[:2]), r"argument 4 'Z' of .*got float32\[2, 4\] with n = 2"),
        ((3.0, 4, a, b, out), r"argument 0 'n' of int32, got float"),
        ((3, 4, [1], b, out), r"argument 2 'X' of float32\[n, m\], got list"),
    ):
        with pytest.raises(FrontendError, match=text):
            f(*arrays)


def test_a_size_that_no_shape_says() -> None:
    n, scale = te.size_var("n"), te.var("scale", "float32")
    x = te.placeholder((n,), name="x")
    t = te.compute((n,), lambda i: x[i] * scale, name="t")
    with pytest.raises(ScheduleError, match="expected a value for the variable 'scale', got none; give it"):
        whence.build_schedule(te.create_schedule(t))(np.ones(3, "float32"))
    with pytest.raises(ScheduleError, match="expected a value for the variable 'n', got none"):
        lower(te.create_schedule(t))
    f = whence.build(te.create_schedule(t), [scale, x, t])
    np.testing.assert_array_equal(f(0.5, np.ones(3, "float32")), np.full(3, 0.5))


@pytest.mark.parametrize("split", [0, 4])
def test_sums_of_nothing_start_where_data_and_terms_are_one_loop(split: int) -> None:
    n, m = te.size_var("n"), te.size_var("m")
    x = te.placeholder((n, m), name="x")
    k = te.reduce_axis((0, m), name="k")
    total = te.compute((n,), lambda i: te.sum(x[i, k], axis=k), name="total")
    schedule = te.create_schedule(total)
    both = schedule[total].fuse(total.op.axis[0], k)
    if split:
        schedule[total].split(both, split)
    f = whence.build(schedule, [x, total])
    for rows, columns in ((5, 0), (0, 3), (5, 1), (3, 7), (8, 16)):
        given, out = _floats(rows, columns), np.full(rows, np.nan, "float32")
        f(given, out)
        np.testing.assert_allclose(out, given.sum(1), rtol=1e-5, atol=1e-6)


def test_names_are_shown() -> None:
    assert {"build", "lower", "Span", "SequentialSpan", "SourceName", "SIBuilder", "set_span", "te"} <= set(dir(whence))
    assert {"compute", "exp", "sum", "hybrid", "create_prim_func", "TensorSlice", "ldexp"} <= set(dir(te))
    for module in (whence, te):
        assert all(hasattr(module, name) for name in dir(module))
        assert all(name in dir(module) for name in module.__all__)
