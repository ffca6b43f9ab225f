"""Tensor intrinsics: C functions and computes that take a tile's place, from Python and from text."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from whence import te
from whence.dialects import schedule, tir
from whence.dialects.te import Te
from whence.kernels import build_schedule, lower
from whence.lowering.te_to_tir.schedule_apply import ScheduleApplyPass
from whence.reading.textio import context
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.intrin import Replacement, TensorIntrin, Tile
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
RNG = np.random.default_rng(5)
A, B = (RNG.standard_normal(shape).astype("float32") for shape in ((16, 32), (32, 4)))

C_SOURCE = """
void intrinsics_body(const float *a, const float *b, float *c, int n) {
  for (int i = 0; i < 8; i++) { c[i] = 0; for (int k = 0; k < n; k++) c[i] += a[i * n + k] * b[k]; }
}
void intrinsics_reset(float *c) { for (int i = 0; i < 8; i++) c[i] = 0; }
void intrinsics_update(const float *a, const float *b, float *c, int n) {
  for (int i = 0; i < 8; i++) for (int k = 0; k < n; k++) c[i] += a[i * n + k] * b[k];
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions that the intrinsics below call, in this process."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder: Path = tmp_path_factory.mktemp("intrinsics")
    (folder / "lib.c").write_text(C_SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "lib.c", "-o", "lib.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "lib.so"), mode=ctypes.RTLD_GLOBAL)


def gemv(length: int, parts: str = "body reset update") -> TensorIntrin:
    a, b = te.placeholder((8, length), name="a"), te.placeholder((length,), name="b")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute((8,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="c")

    def calls(ins: list[Tile], outs: list[Tile]) -> Replacement:
        all_of = [tile.access_ptr("rw") for tile in (*ins, *outs)]
        made = {
            "body": te.call_extern("int32", "intrinsics_body", *all_of, length),
            "reset": te.call_extern("int32", "intrinsics_reset", outs[0]),
            "update": te.call_extern("int32", "intrinsics_update", *all_of, ins[0].strides[0]),
        }
        return tuple(made[part] if part in parts.split() else None for part in made)

    return te.decl_tensor_intrin(c, calls, name="gemv")


def test_an_intrinsic_names_what_it_was_made_of():
    made = gemv(4)
    assert made.op is not None
    assert (made.op.name, [tensor.name for tensor in made.inputs]) == ("c", ["a", "b"])


def matmul() -> tuple[Schedule, Tensor]:
    a, b = te.placeholder((16, 32), name="A"), te.placeholder((32, 4), name="B")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((16, 4), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c), c


def tiled(length: int, parts: str = "body reset update") -> Schedule:
    """The product with rows of 8 by an intrinsic that takes `length` terms at a time."""
    s, c = matmul()
    (i, j), (k,) = c.op.axis, c.op.reduce_axis
    outer, inner = s[c].split(i, 8)
    k_outer, k_inner = s[c].split(k, length)
    s[c].reorder(outer, j, *([k_outer] if length < 32 else []), inner, k_inner)
    s[c].tensorize(inner, gemv(length, parts))
    return s


def apply(text: str) -> None:
    """Run the pass schedule-apply over a module's text."""
    loaded = Context()
    for dialect in (Builtin, Te, schedule.Schedule, arith.Arith, tir.Tir):
        loaded.load_dialect(dialect)
    module = Parser(loaded, text).parse_module()
    module.verify()
    ScheduleApplyPass().apply(loaded, module)


@pytest.mark.parametrize(
    ("length", "parts"),
    [(32, "body"), (16, "body reset update"), (16, "update"), (8, "reset update"), (16, "body update")],
)
def test_c_functions(library: ctypes.CDLL, replayed: Callable[[Schedule], None], length: int, parts: str) -> None:
    s = tiled(length, parts)
    assert library
    np.testing.assert_allclose(build_schedule(s, threads=1)(A, B), A @ B, rtol=1e-4, atol=1e-5)
    replayed(s)


def product(length: int) -> Schedule:
    """A matrix by a vector, 8 rows and `length` terms of each at a time."""
    a, b = te.placeholder((2, 16, 32), name="A"), te.placeholder((32,), name="B")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((2, 16), lambda n, i: te.sum(a[n, i, k] * b[k], axis=k), name="C")
    s = te.create_schedule(c)
    outer, inner = s[c].split(c.op.axis[1], 8)
    k_outer, k_inner = s[c].split(k, length)
    s[c].reorder(outer, *([k_outer] if length < 32 else []), inner, k_inner)
    s[c].tensorize(inner, gemv(length))
    return s


@pytest.mark.parametrize(
    ("length", "copied", "calls"),
    [
        (32, [], ["(%A at %_, %B, %out at %_, %_)"]),
        # Half of each row: the rows do not lie close together; the vector and the results do.
        (16, ["8x16xf32"], ["(%out at %_)", "(%a, %B at %_, %out at %_, %_)"]),
    ],
)
def test_tiles_that_lie_close_together_are_not_copied(
    library: ctypes.CDLL, replayed: Callable[[Schedule], None], length: int, copied: list[str], calls: list[str]
) -> None:
    func = lower(product(length), "main", simple_mode=True)
    allocs = [op.result.type for op in func.walk() if isinstance(op, tir.AllocOp)]
    assert [str(type_) for type_ in allocs] == [f"!tir.buffer<{type_}, local>" for type_ in copied]
    assert sum(isinstance(op, tir.StoreOp) for op in func.walk()) == len(copied)
    text = str(func)
    found = [line.split('"')[2].split(" : ")[0] for line in text.splitlines() if "call_extern" in line]
    assert [re.sub(r"%\d+", "%_", call) for call in found] == calls
    assert "tir.index [%n * 512 + %i.outer * 256]" in text or copied
    assert str(Parser(context(), text).parse_op()) == text
    assert library
    data, vector = RNG.standard_normal((2, 16, 32)).astype("float32"), RNG.standard_normal(32).astype("float32")
    s = product(length)
    np.testing.assert_allclose(build_schedule(s, threads=1)(data, vector), data @ vector, rtol=1e-4, atol=1e-5)
    replayed(s)


@pytest.mark.parametrize(("factor", "copied"), [(32, 1), (40, 2)])
def test_tiles_with_gaps_between_rows_are_copied(library: ctypes.CDLL, factor: int, copied: int) -> None:
    """Whole rows of a stage, `factor` elements apart; the column beside them is copied in any case."""
    a, b = te.placeholder((16, 32), name="A"), te.placeholder((32, 4), name="B")
    doubled = te.compute((16, 32), lambda i, j: a[i, j] * 2.0, name="D")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((4, 16), lambda j, i: te.sum(doubled[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c)
    s[doubled].storage_align(doubled.op.axis[0], factor, 0)
    s[c].tensorize(s[c].split(c.op.axis[1], 8)[1], gemv(32))
    func = lower(s.snapshot(len(s.primitive_record)), "main", simple_mode=True)
    allocs = [op.result.type for op in func.walk() if isinstance(op, tir.AllocOp)]
    assert sum(type_.scope.data == "local" for type_ in allocs) == copied
    assert library
    np.testing.assert_allclose(build_schedule(s, threads=1)(A, B), (2 * A @ B).T, rtol=1e-4, atol=1e-5)


def test_offsets_are_those_of_buffers() -> None:
    text = """tir.prim_func @f(%a: !tir.buffer<4xf32>) outputs 1 {
      tir.for %i in 4 {
        tir.call_extern "f"(%a at %i, %i AT) : (!tir.buffer<4xf32>, index) -> ()
      }
    }"""
    Parser(context(), text.replace("AT", "")).parse_op().verify()
    with pytest.raises(VerifyException, match="expected offsets of buffers, got one of argument 1"):
        Parser(context(), text.replace("AT", "at %i")).parse_op().verify()


def test_a_compute_in_text(replayed: Callable[[Schedule], None]) -> None:
    s, c = matmul()
    outer, inner = s[c].split(c.op.axis[0], 8)
    s[c].reorder(outer, c.op.axis[1], inner, c.op.reduce_axis[0])

    def body(ins: list[Tile], outs: list[Tile]) -> Schedule:
        del outs
        k = te.reduce_axis((0, 32), name="k")
        dot = te.compute((8,), lambda i: te.sum(ins[0][i, k] * ins[1][k], axis=k), name="dot")
        inside = te.create_schedule(dot, ins)
        inside[dot].vectorize(dot.op.axis[0])
        inside[dot].reorder(dot.op.reduce_axis[0], dot.op.axis[0])
        return inside

    pattern = gemv(32).operation
    assert pattern is not None
    s[c].tensorize(inner, te.decl_tensor_intrin(pattern, body, name="dot8"))
    text = str(s.module())
    assert 'schedule.tensor_intrin "dot8"' in text
    assert "schedule.sequence @body" in text
    replayed(s)
    np.testing.assert_allclose(build_schedule(s, threads=1)(A, B), A @ B, rtol=1e-4, atol=1e-5)


def test_two_intrinsics_of_one_name(replayed: Callable[[Schedule], None]) -> None:
    x = te.placeholder((16, 8), name="x")
    y = te.compute((16, 8), lambda i, j: x[i, j] * 2.0, name="y")
    z = te.compute((16, 8), lambda i, j: y[i, j] * 2.0, name="z")
    s = te.create_schedule(z)

    def twice(n: int) -> TensorIntrin:
        a = te.placeholder((n,), name="a")
        double = te.compute((n,), lambda i: a[i] * 2.0, name="b")
        return te.decl_tensor_intrin(double, lambda ins, _: te.compute((n,), lambda i: ins[0][i] + ins[0][i]), "twice")

    s[y].tensorize(y.op.axis[1], twice(8))
    s[z].tensorize(s[z].split(z.op.axis[1], 4)[1], twice(4))
    text = str(s.module())
    assert 'schedule.tensor_intrin "twice_1"' in text
    replayed(s)
    data = RNG.standard_normal((16, 8)).astype("float32")
    np.testing.assert_array_equal(build_schedule(s, threads=1)(data), data * 4)


def test_computes_of_intrinsics(library: ctypes.CDLL, replayed: Callable[[Schedule], None]) -> None:
    a, b = te.placeholder((16, 32), name="A"), te.placeholder((32, 4), name="B")
    part, ro = gemv(16), te.reduce_axis((0, 2), name="ro")
    c = te.compute(
        (2, 4, 8),
        lambda i, j: part(a[i * 8 : i * 8 + 8, ro * 16 : ro * 16 + 16], b[ro * 16 : ro * 16 + 16, j], reduce_axis=ro),
        name="C",
    )
    s = te.create_schedule(c)
    stage = s[c]
    assert library
    assert [axis.name for axis in stage.leaf_iter_vars] == ["i", "j", "ro", "ax0", "k"]
    assert s.primitive_record == ["vanilla"]
    assert str(s.snapshot(0)) == str(s)
    stage.reorder(stage.axes[1], stage.axes[0])
    stage.parallel(stage.axes[1])
    assert s.primitive_record == ["vanilla", "reorder", "parallel"]
    with pytest.raises(ScheduleError, match="Cannot split on Tensorized axis ax0"):
        stage.split(stage.axes[2], 2)
    with pytest.raises(ScheduleError, match="Cannot unroll on Opaque axis k"):
        stage.unroll(stage.reduce_axes[1])
    expected = (A @ B).reshape(2, 8, 4).transpose(0, 2, 1)
    np.testing.assert_allclose(build_schedule(s, threads=1)(A, B), expected, rtol=1e-4, atol=1e-5)
    replayed(s)


def test_a_compute_of_a_whole_intrinsic_and_its_readers() -> None:
    """Regions of whole tensors, of rows, and a tile of two dimensions."""
    p, q = te.placeholder((4, 8), name="p"), te.placeholder((8,), name="q")
    add = te.compute((4, 8), lambda i, j: p[i, j] + q[j], name="r")
    intrin = te.decl_tensor_intrin(add, lambda ins, _: te.compute((4, 8), lambda i, j: ins[1][j] + ins[0][i, j]), "add")
    x, y = te.placeholder((3, 4, 8), name="x"), te.placeholder((8,), name="y")
    z = te.compute((3, 4, 8), lambda n: intrin(x[n], y), name="z")
    w = te.compute((3, 4, 8), lambda n, i, j: z[n, i, j] * 2.0, name="w")
    s = te.create_schedule(w)
    s[z].compute_at(s[w], w.op.axis[0])
    left, right = RNG.standard_normal((3, 4, 8)).astype("float32"), RNG.standard_normal(8).astype("float32")
    np.testing.assert_allclose(build_schedule(s, threads=1)(left, right), (left + right) * 2, rtol=1e-6)


def vadd() -> TensorIntrin:
    a, b = te.placeholder((8,), name="a"), te.placeholder((8,), name="b")
    add = te.compute((8,), lambda i: a[i] + b[i], name="c")
    return te.decl_tensor_intrin(add, lambda ins, _: te.compute((8,), lambda i: ins[0][i] + ins[1][i]), name="vadd")


X, Y = te.placeholder((4, 16), name="x"), te.placeholder((4, 16), "int32", name="y")
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no intrinsic": (
        lambda: te.compute((4, 16), lambda i: X[i, 0]),
        "Number of args to fcompute does not match dimension, args=1, dimension=2",
    ),
    "shape": (
        lambda: te.compute((4, 16), lambda i: vadd()(X[i, 0:8], X[i, 8:16]), name="z"),
        r"te.compute: expected \[8\] as what 'vadd' computes, got \[16\] \(stage 'z'\)",
    ),
    "regions": (lambda: te.compute((4, 8), lambda i: vadd()(X[i, 0:8])), "expected 2 regions for 'vadd', got 1"),
    "region": (
        lambda: te.compute((4, 8), lambda i: vadd()(X[i, 0:8], X[i, 0:4])),
        r"expected a region \[8\] of 'x', got \[1, 4\] \('vadd', stage 'compute'\)",
    ),
    "dtype": (lambda: te.compute((4, 8), lambda i: vadd()(X[i, 0:8], Y[i, 0:8])), "expected a tensor of float32"),
    "step": (lambda: te.compute((4, 8), lambda i: vadd()(X[i, 0:8], X[i, 0:16:2])), "expected ranges without steps"),
    "reduction": (
        lambda: te.compute(
            (4, 8), lambda i: vadd()(X[i, 0:8], X[i, 0:8], reduce_axis=te.reduce_axis((0, 2), name="k"))
        ),
        "expected an intrinsic that reduces beside reduce_axis, got 'vadd'",
    ),
    "no update": (
        lambda: tiled(16, "body"),
        r"tensorize: Reduction update op is not defined.* \(intrinsic 'gemv'\) \(stage 'C', layer 'C', test_intrin",
    ),
    "no body": (lambda: tiled(32, "reset update"), r"Normal body op is not defined.* \(intrinsic 'gemv'\)"),
    "nothing": (lambda: gemv(8, ""), "expected something that computes a tile, got nothing"),
    "a stranger": (
        lambda: te.decl_tensor_intrin(
            te.compute((16,), lambda i: X[0, i] * 2.0), lambda ins, outs: te.call_extern("int32", "f", X, outs[0])
        ),
        "expected the intrinsic's tiles, got x",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    make, text = REFUSED[case]
    with pytest.raises(ScheduleError, match=text):
        make()


def test_a_name_that_no_intrinsic_has() -> None:
    text = str(tiled(32).module()).replace('schedule.tensorize %i.inner "gemv"', 'schedule.tensorize %i.inner "gemm"')
    with pytest.raises(ScheduleError, match=r"schedule.tensorize: expected an intrinsic among gemv, got gemm"):
        apply(text)


def scale(values: str = "sp") -> Any:
    """`c[i] = a[i] * factor` of 8 elements; the factor is open."""
    factor, a = te.var("factor", "float32"), te.placeholder((8,), name="a")
    scaled = te.compute((8,), lambda i: a[i] * factor, name="c")
    return te.decl_tensor_intrin(
        scaled,
        lambda ins, _, given: te.compute((8,), lambda i: given[0] * ins[0][i] if values == "sp" else ins[0][i]),
        name="scale",
        scalar_params=[factor],
    )


def test_scalar_parameters(replayed: Callable[[Schedule], None]) -> None:
    x = te.placeholder((4, 8), name="x")
    intrin = scale()
    y = te.compute((4, 8), lambda i: intrin(x[i], scalar_inputs=[2.5]), name="y")
    z = te.compute((4, 8), lambda i, j: y[i, j] * -3.0, name="z")
    s = te.create_schedule(z)
    s[z].tensorize(z.op.axis[1], intrin.with_scalars(-3.0))
    assert "arith.constant 2.5" in str(s.module())
    data = RNG.standard_normal((4, 8)).astype("float32")
    np.testing.assert_allclose(build_schedule(s, threads=1)(data), data * 2.5 * -3, rtol=1e-6)
    replayed(s)


def strided(length: int, *strides: Any, **params: Any) -> TensorIntrin:
    """A product with rows whose stride is said by a buffer."""
    a, b = te.placeholder((8, length), name="a"), te.placeholder((length,), name="b")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute((8,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="c")
    row = te.var("row")
    buffer = te.decl_buffer(a.shape, a.dtype, "a", strides=strides or (row, 1), offset_factor=1)
    return te.decl_tensor_intrin(
        c,
        lambda ins, outs: te.call_extern("int32", "intrinsics_body", *ins, *outs, row),
        name="gemv",
        binds={a: buffer},
        default_buffer_params=params or {"offset_factor": 1},
    )


def test_bound_buffers(library: ctypes.CDLL, replayed: Callable[[Schedule], None]) -> None:
    s, c = matmul()
    outer, inner = s[c].split(c.op.axis[0], 8)
    s[c].reorder(outer, c.op.axis[1], inner, c.op.reduce_axis[0])
    s[c].tensorize(inner, strided(32))
    assert library
    np.testing.assert_allclose(build_schedule(s, threads=1)(A, B), A @ B, rtol=1e-4, atol=1e-5)
    replayed(s)


def _stranger() -> object:
    a = te.placeholder((8,), name="a")
    c = te.compute((8,), lambda i: a[i] * 2.0, name="c")
    return te.decl_tensor_intrin(c, lambda ins, _: ins[0], binds={X: te.decl_buffer(X.shape)})


PARAMETERS: dict[str, tuple[Callable[[], object], str]] = {
    "open": (lambda: matmul_row().tensorize(scale()), r"tensorize: expected numbers .*scale.with_scalars\(..\)"),
    "no scalars": (
        lambda: te.compute((4, 8), lambda i: scale()(X[i, 0:8])),
        "expected scalar_inputs for factor, got 0",
    ),
    "an expression": (
        lambda: te.compute((4, 8), lambda i: scale()(X[i, 0:8], scalar_inputs=[X[i, 0]])),
        "'scale': expected a number of float32 for factor",
    ),
    "closed": (
        lambda: te.compute((4, 8), lambda i: vadd()(X[i, 0:8], X[i, 0:8], scalar_inputs=[1])),
        "'vadd': expected no scalar_inputs",
    ),
    "unused": (
        lambda: te.decl_tensor_intrin(
            te.compute((16,), lambda i: X[0, i] * 2.0), lambda ins, _, sp: ins[0], scalar_params=te.var("n")
        ),
        "expected scalar_params that .* uses, got n",
    ),
    "stride": (lambda: strided(32, 64, 1), "expected the stride 32 of 'a', got 64 \\('gemv'\\)"),
    "strides": (lambda: strided(32, 32), "tir.decl_buffer: expected 2 strides, got 1"),
    "params": (lambda: strided(32, colour=1), "default_buffer_params: .*unexpected keyword argument 'colour'"),
    "alignment": (lambda: strided(32, data_alignment=64), "expected data_alignment of at most 4, an element, got 64"),
    "scope": (lambda: strided(32, scope="shared"), "expected the scope global, got 'shared'"),
    "no tensor of it": (_stranger, r"expected binds of a, c, got x"),
}


def matmul_row() -> Any:
    """Something to tensorize by the last axis."""
    y = te.compute((4, 8), lambda i, j: X[i, j] * 2.0, name="y")
    stage = te.create_schedule(y)[y]

    class Row:
        def tensorize(self, intrin: Any) -> None:
            stage.tensorize(stage.axes[1], intrin)

    return Row()


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters_that_are_refused(case: str) -> None:
    make, text = PARAMETERS[case]
    with pytest.raises(ScheduleError, match=text):
        make()


def test_a_cache_of_what_an_intrinsic_computes(library: ctypes.CDLL, replayed: Callable[[Schedule], None]) -> None:
    a, b = te.placeholder((16, 32), name="A"), te.placeholder((32, 4), name="B")
    part, ro = gemv(16), te.reduce_axis((0, 2), name="ro")
    c = te.compute(
        (2, 4, 8),
        lambda i, j: part(a[i * 8 : i * 8 + 8, ro * 16 : ro * 16 + 16], b[ro * 16 : ro * 16 + 16, j], reduce_axis=ro),
        name="C",
    )
    s = te.create_schedule(c)
    s[c].parallel(c.op.axis[0])
    cache = s.cache_write(c, "local")
    assert library
    assert [axis.kind for axis in s[c].leaf_iter_vars] == ["parallel", "serial", "serial"]
    assert [axis.kind for axis in cache.leaf_iter_vars] == ["serial", "serial", "serial", "tensorized", "serial"]
    cache.compute_at(s[c], s[c].axes[1])
    s[c].vectorize(s[c].axes[2])
    expected = (A @ B).reshape(2, 8, 4).transpose(0, 2, 1)
    np.testing.assert_allclose(build_schedule(s, threads=1)(A, B), expected, rtol=1e-4, atol=1e-5)
    replayed(s)
    assert str(s.snapshot()) == str(s)
