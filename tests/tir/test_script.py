"""TVMScript of kernels. What TVM makes of the texts is measured by `benchmarks/against_tvm.py`."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

import whence
from whence import relay, te, tir
from whence.kernels import build_prim_func
from whence.lowering.kernel.record import Kernel
from whence.relay.testing import mobilenet
from whence.support.errors import FrontendError, ScheduleError


def relu(n: int = 100) -> whence.IRModule:
    A = te.placeholder((n, 4), name="A")
    B = te.compute((n, 4), lambda i, j: te.max(A[i, j], 0.0) * 0.1, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=8)
    s[B].parallel(outer)
    s[B].unroll(inner)
    s[B].pragma(B.op.axis[1], "note", 3)
    return whence.lower(s, [A, B], name="relu.f32", simple_mode=True)


TEXT = """\
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def relu_f32(A: T.Buffer((100, 4), 'float32'), B: T.Buffer((100, 4), 'float32')):
    T.func_attr({'global_symbol': 'relu.f32', 'tir.noalias': T.bool(True), 'num_outputs': 1, \
'tir.is_scheduled': T.bool(True)})
    for i_outer in T.parallel(13):
        for i_inner in T.unroll(8):
            for j in T.serial(4, annotations={'pragma_note': 3}):
                if i_outer * 8 + i_inner < 100:
                    B[i_outer * 8 + i_inner, j] = \
T.call_llvm_pure_intrin('float32', 'llvm.maximum', A[i_outer * 8 + i_inner, j], T.float32(0)) \
* T.float32(0.10000000149011612)"""


def test_loops_guards_and_names() -> None:
    mod = relu()
    assert mod["relu.f32"].script() == TEXT
    assert mod.script() == TEXT
    assert whence.script.text(mod["relu.f32"].op) == TEXT
    old = mod["relu.f32"].script("0.14")
    assert old == TEXT.replace("tirx as T", "tir as T").replace("(s_tir=True)", "")


def test_vectors_masks_and_fused_products() -> None:
    n = 13
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[1], factor=8)
    s[C].reorder(outer, k, inner)
    s[C].vectorize(inner)
    text = whence.lower(s, [A, B, C])["main"].script()
    ast.parse(text)
    assert "'llvm.fma'" in text
    assert "T.masked_store(C, " in text or "T.Ramp(j_outer * 8, 1, 8)" in text
    assert "T.Broadcast(A[i, k], " in text


def test_open_sizes_are_found_by_the_shapes() -> None:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    B = te.compute((n, 4), lambda i, j: A[n - 1 - i, j], name="B")
    text = whence.script.text(whence.lower(te.create_schedule(B.op), [A, B], simple_mode=True)["main"])
    assert "def main(A_handle: T.handle, B_handle: T.handle):" in text
    assert "    n = T.int32()\n    A = T.match_buffer(A_handle, (n, 4), 'float32')\n" in text
    assert "for i, j in T.grid(n, 4):" in text
    assert "B[i, j] = A[n - 1 - i, j]" in text


def test_every_kernel_of_a_network_has_a_text() -> None:
    mod, params = mobilenet.get_workload(batch_size=1, num_classes=10, image_shape=(3, 32, 32))
    with whence.PassContext(opt_level=3):
        kernels = relay.build(mod, "native", params=params).executable.artifact.kernels
    for kernel in kernels:
        assert isinstance(kernel, Kernel)
        text = whence.script.text(kernel.tir)
        tree = ast.parse(text)
        assert isinstance(tree.body[0], ast.FunctionDef)
        # A store of the kernel is one of the text, or of several lanes.
        stores = len(re.findall(r"tir\.(?:masked_)?store ", kernel.tir))
        assert len(re.findall(r"^ *(?:\w+\[.*\] = |T\.masked_store)", text, re.MULTILINE)) >= stores


def test_values_that_are_used_twice_are_computed_once() -> None:
    x, y = tir.decl_buffer((8,), name="x"), tir.decl_buffer((8,), name="y")
    i = tir.Var("i")
    half = x[i] * 0.5
    guarded = tir.if_then_else(i < 4, x[i + 4] + x[i + 4], 1.0)
    body = tir.For(i, 0, 8, 0, tir.BufferStore(y, half * half + guarded, [i]))
    text = tir.PrimFunc([x, y], body).script()
    assert "        v: T.float32 = x[i] * T.float32(0.5)\n        y[i] = v * v + T.if_then_else(i < 4, " in text


def test_names_are_python_and_single() -> None:
    x, again = tir.decl_buffer((8,), name="for"), tir.decl_buffer((8,), name="x.1")
    i, j = tir.Var("x.1"), tir.Var("T")
    body = tir.For(i, 0, 8, 0, tir.For(j, 0, 2, 0, tir.BufferStore(again, x[i] + 1.0, [i])))
    text = tir.PrimFunc([x, again], body).script()
    ast.parse(text)
    assert "def main(for_1: T.Buffer((8,), 'float32'), x_1: T.Buffer((8,), 'float32')):" in text
    assert "for x_1_1, T_1 in T.grid(8, 2):" in text


def test_what_tvmscript_cannot_say_is_refused_with_its_place() -> None:
    text = """
      tir.prim_func @f(%x: !tir.buffer<8xi8>, %y: !tir.buffer<2xi32>) outputs 1 {
        tir.for %i in 2 {
          %0 = tir.load %x[%i * 4] : !tir.buffer<8xi8> -> i32 loc("conv1"("net.onnx":7:0))
          tir.store %0, %y[%i] : i32, !tir.buffer<2xi32>
        }
      }"""
    with pytest.raises(ScheduleError, match=r'got tir\.load at loc\("conv1"\("net\.onnx":7:0\)\)'):
        whence.script.text(text)
    with pytest.raises(ScheduleError, match=r"expected a version among 0\.27, 0\.14, got '0\.9'"):
        relu()["relu.f32"].script("0.9")
    with pytest.raises(FrontendError, match="Operation nothing is not registered"):
        whence.script.text("nothing")


def test_sums_of_lanes_are_written_in_the_order_of_the_code() -> None:
    """Halves are added, which LLVM does where the order is left open: an ordered sum rounds otherwise."""
    text = """tir.prim_func @sums(%a: !tir.buffer<4x16xf32>, %y: !tir.buffer<4xf32>, %z: !tir.buffer<4xf32>) outputs 2 {
        tir.for %i in 4 {
          %v = tir.load %a[%i, 0] : !tir.buffer<4x16xf32> -> vector<16xf32>
          %s = vector.reduction <add>, %v : vector<16xf32> into f32
          tir.store %s, %y[%i] : f32, !tir.buffer<4xf32>
          %start = arith.constant 0.1 : f32
          %p = vector.reduction <mul>, %v, %start : vector<16xf32> into f32
          tir.store %p, %z[%i] : f32, !tir.buffer<4xf32>
        }
      }"""
    script = whence.script.text(text)
    assert script.count("T.Shuffle") == 16
    assert "vector.reduce" not in script
    a = np.random.default_rng(1).uniform(0.5, 1.5, (4, 16)).astype("float32")
    halves = [a]
    while halves[-1].shape[1] > 1:
        width = halves[-1].shape[1] // 2
        halves.append(halves[-1][:, :width] + halves[-1][:, width:])
    for kernel in (text, whence.script.from_source(script).op):
        y, z = build_prim_func(kernel)(a)
        np.testing.assert_array_equal(y, halves[-1][:, 0])
        np.testing.assert_allclose(z, np.prod(a, 1) * np.float32(0.1), 1e-5)


def test_masked_lanes_of_numbers_without_sign() -> None:
    A = te.placeholder((60,), "uint8", name="A")
    B = te.compute((60,), lambda i: A[i] + te.const(7, "uint8"), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], factor=64)[1])
    kernel = whence.lower(s, [A, B])["main"]
    script = kernel.script()
    assert "T.masked_load('uint8x64'" in script
    a = np.arange(200, 260).astype("uint8")
    for func in (kernel, whence.script.from_source(script)):
        np.testing.assert_array_equal(build_prim_func(func.op)(a), a + np.uint8(7))


def test_exact_texts_keep_products_and_sums_apart() -> None:
    """TVM's compiler joins them, which rounds once; the fences of LLVM's that prevent it mean nothing here."""
    A, B = (te.placeholder((32,), name=name) for name in "AB")
    C = te.compute((32,), lambda i: A[i] * 0.3 + B[i], name="C")
    s = te.create_schedule(C.op)
    s[C].vectorize(s[C].split(C.op.axis[0], factor=8)[1])
    kernel = whence.lower(s, [A, B, C])["main"]
    text = kernel.script(exact=True)
    assert "T.call_llvm_pure_intrin('float32x8', 'llvm.arithmetic.fence'," in text
    assert "fence" not in kernel.script()
    assert whence.script.from_source(text).script() == whence.script.from_source(kernel.script()).script()


def test_loops_that_depend_on_one_another_are_no_grid() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 2):
        for k in range(i + 1):
            for l, m in T.grid(2, 2):
                B[i, k] = A[k, j * 4 + l * 2 + m]
"""
    printed = whence.script.from_source(text).script()
    assert "for i, j in T.grid(8, 2):\n        for k, l, m in T.grid(i + 1, 2, 2):" in printed
    assert whence.script.from_source(printed).script() == printed
