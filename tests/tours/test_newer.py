"""The tutorials of TVM's newer releases, with Relax and schedules of blocks, told anew with numpy as the judge."""

# pyright: basic, reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from whence.relax.frontend.onnx import from_onnx

import whence
from whence import IRModule, relax, te, topi
from whence.relax.frontend import nn
from whence.script import ir as I
from whence.script import relax as R
from whence.script import tirx as T
from whence.support.errors import PipelineError

tvm: Any = whence
RNG = np.random.default_rng(41)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


@I.ir_module
class Product:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((32, 48), "float32"), C: T.Buffer((64, 48), "float32")):
        T.func_attr({"tirx.noalias": True})
        with T.sblock("root"):
            T.reads()
            T.writes()
            Y = T.sblock_alloc_buffer((64, 48))
            for i, j, k in T.grid(64, 48, 32):
                with T.sblock("Y"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        Y[vi, vj] = T.float32(0)
                    Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
            for i, j in T.grid(64, 48):
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


@I.ir_module
class SameProduct:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((32, 48), "float32"), C: T.Buffer((64, 48), "float32")):
        T.func_attr({"tirx.noalias": True})
        Y = T.alloc_buffer((64, 48))
        for i in range(64):
            for j in range(48):
                for k in range(32):
                    with T.sblock("Y"):
                        vi = T.axis.spatial(64, i)
                        vj = T.axis.spatial(48, j)
                        vk = T.axis.reduce(32, k)
                        T.reads(A[vi, vk], B[vk, vj])
                        T.writes(Y[vi, vj])
                        with T.init():
                            Y[vi, vj] = T.float32(0)
                        Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i in range(64):
            for j in range(48):
                with T.sblock("C"):
                    vi = T.axis.spatial(64, i)
                    vj = T.axis.spatial(48, j)
                    T.reads(Y[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


@I.ir_module
class OpenProduct:
    @T.prim_func(s_tir=True)
    def product(a: T.handle, b: T.handle, c: T.handle):
        M = T.int32()
        N = T.int32()
        K = T.int32()
        A = T.match_buffer(a, [M, K], "float32")
        B = T.match_buffer(b, [K, N], "float32")
        C = T.match_buffer(c, [M, N], "float32")
        for i, j, k in T.grid(M, N, K):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.cast(T.float32(0), "float32")
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_a_kernel_is_made_in_three_ways() -> None:
    assert tvm.ir.structural_equal(Product, SameProduct)
    assert tvm.ir.structural_hash(Product) == tvm.ir.structural_hash(SameProduct)
    assert not tvm.ir.structural_equal(Product, OpenProduct)
    assert not tvm.ir.structural_equal(Product, SameProduct.with_attr("note", 1))
    lib = tvm.compile(OpenProduct, target="llvm")
    for m, n, k in (4, 4, 4), (7, 33, 12):
        a, b, out = floats(m, k), floats(k, n), tvm.runtime.tensor(np.zeros((m, n), "float32"))
        lib(tvm.runtime.tensor(a), tvm.runtime.tensor(b), out)
        np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4, atol=1e-5)
    A, B = te.placeholder((64, 32), "float32", name="A"), te.placeholder((32, 48), "float32", name="B")
    axis = te.reduce_axis((0, 32), "k")
    Y = te.compute((64, 48), lambda i, j: te.sum(A[i, axis] * B[axis, j], axis=axis), name="Y")
    C = te.compute((64, 48), lambda i, j: te.max(Y[i, j], 0), name="C")
    made = IRModule({"mm_relu": te.create_prim_func([A, B, C]).with_attr({"global_symbol": "mm_relu"})})
    a, b = floats(64, 32), floats(32, 48)
    np.testing.assert_allclose(tvm.compile(made)(a, b), np.maximum(a @ b, 0), rtol=1e-4, atol=1e-5)
    with pytest.raises(PipelineError, match="expected no opt_level for a module of kernels alone, got 1"):
        tvm.compile(made, opt_level=1)


def test_a_kernel_is_transformed_step_by_step() -> None:
    a, b = floats(64, 32), floats(32, 48)

    def check(module: Any) -> None:
        out = tvm.runtime.tensor(np.zeros((64, 48), "float32"))
        tvm.tirx.build(module, target="llvm")(a, b, out)
        np.testing.assert_allclose(out.numpy(), np.maximum(a @ b, 0), rtol=1e-4, atol=1e-5)

    check(Product)
    sch = tvm.s_tir.Schedule(Product)
    block = sch.get_sblock("Y")
    _, j, k = sch.get_loops(block)
    outer, inner = sch.split(j, factors=[None, 8])
    sch.reorder(outer, k, inner)
    check(sch.mod)
    sch.reverse_compute_at(sch.get_sblock("C"), outer)
    check(sch.mod)
    # The reader of the sum stays in the loop around the one in front of which it starts.
    start = sch.decompose_reduction(block, k)
    assert sch.get(start).name_hint == "Y_init"
    check(sch.mod)
    text = str(sch.mod["main"].script())
    assert text.index("'Y_init'") < text.index("'Y_update'") < text.index("'C'")


@T.prim_func(s_tir=True)
def tir_linear(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
    M = T.int64()
    N = T.int64()
    K = T.int64()
    X = T.match_buffer(x, (M, K), "float32")
    W = T.match_buffer(w, (N, K), "float32")
    B = T.match_buffer(b, (N,), "float32")
    Z = T.match_buffer(z, (M, N), "float32")
    for i, j, k in T.grid(M, N, K):
        with T.sblock("linear"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Z[vi, vj] = 0
            Z[vi, vj] = Z[vi, vj] + X[vi, vk] * W[vj, vk]
    for i, j in T.grid(M, N):
        with T.sblock("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = Z[vi, vj] + B[vj]


@pytest.mark.parametrize("n", [6, T.int64()], ids=["numbers", "a size"])
def test_a_function_is_emitted_with_kernels_of_three_kinds(n: Any) -> None:
    def linear(x: Any, w: Any, b: Any, out: Any) -> None:
        out.copyfrom(x.numpy() @ w.numpy().T + b.numpy())

    whence.register_func("tours.linear", linear, override=True)
    shapes = {"x": (n, 12), "w1": (8, 12), "b1": (8,), "w2": (5, 8), "b2": (5,)}
    x, w1, b1, w2, b2 = params = [relax.Var(name, R.Tensor(shape, "float32")) for name, shape in shapes.items()]
    bb = relax.BlockBuilder()
    with bb.function("forward", params):
        with bb.dataflow():
            if n == 6:
                lv = bb.emit(relax.call_dps_packed("tours.linear", [x, w1, b1], relax.TensorType((n, 8), "float32")))
            else:
                lv = bb.emit(relax.op.matmul(x, relax.op.permute_dims(w1)) + b1)
            lv1 = bb.emit_te(topi.nn.relu, lv)
            kernel = bb.add_func(tir_linear, "tir_linear")
            gv = bb.emit(relax.call_tir(kernel, [lv1, w2, b2], out_sinfo=relax.TensorType((n, 5), "float32")))
            bb.emit_output(gv)
        bb.emit_func_output(gv)
    a, v1, c1, v2, c2 = arrays = floats(6, 12), floats(8, 12), floats(8), floats(5, 8), floats(5)
    found = relax.VirtualMachine(relax.build(bb.get()))["forward"](*arrays)
    np.testing.assert_allclose(found, np.maximum(a @ v1.T + c1, 0) @ v2.T + c2, rtol=1e-4, atol=1e-5)


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(12, 8)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        return self.fc2(self.relu1(self.fc1(x)))


def test_quick_start() -> None:
    mod, spec = Mlp().export_tvm(spec={"forward": {"x": nn.spec.Tensor((1, 12), "float32")}})
    mod = relax.get_pipeline("zero")(mod)
    ex = tvm.compile(mod, tvm.target.Target("llvm"))
    vm = relax.VirtualMachine(ex, tvm.cpu())
    x = floats(1, 12)
    params = [floats(*param.shape) for _, param in spec]
    w1, b1, w2, b2 = params
    found = vm["forward"](tvm.runtime.tensor(x, device=tvm.cpu()), *map(tvm.runtime.tensor, params)).numpy()
    np.testing.assert_allclose(found, np.maximum(x @ w1.T + b1, 0) @ w2.T + b2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [3, "n"])
def test_operators_become_kernels_that_fuse(size: Any) -> None:
    mod, spec = Mlp().export_tvm({"forward": {"x": nn.spec.Tensor((size, 12), "float32")}})
    kernels = relax.transform.LegalizeOps()(mod)
    names = ["transpose", "nn_matmul", "add", "nn_relu", "transpose_1", "nn_matmul_1", "add_1"]
    assert list(kernels.kernels) == names
    assert "T.sblock('matmul')" in kernels["nn_matmul"].script()
    assert "R.call_tir(cls.nn_relu, (" in kernels.script()
    passes = relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps(), relax.transform.FuseTIR()
    fused = tvm.ir.transform.Sequential(passes)(kernels)
    assert list(fused.kernels) == ["transpose", "nn_matmul_add_nn_relu", "transpose_1", "nn_matmul_1_add_1"]
    x, params = floats(3, 12), [floats(*param.shape) for _, param in spec]
    w1, b1, w2, b2 = params
    for each in kernels, fused:
        ex = tvm.compile(each, "llvm")
        found = relax.VirtualMachine(ex)["forward"](x, *params)
        np.testing.assert_allclose(found, np.maximum(x @ w1.T + b1, 0) @ w2.T + b2, rtol=1e-4, atol=1e-5)
        program = ex.function("forward")
        assert list(program.kernels)[1] == "fused_nn_matmul_add_nn_relu"
        assert "fc1" in str(program.why("fused_nn_matmul_add_nn_relu"))
    assert whence.script.from_source(fused.script()).script() == fused.script()
    with pytest.raises(PipelineError, match="expected no kernels of one's own, got some for"):
        relax.transform.LegalizeOps({"relax.add": None})


def test_a_model_is_imported_compiled_written_and_loaded(tmp_path: Path) -> None:
    w = floats(8, 4)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"), helper.make_node("Relu", ["h"], ["y"], name="r")],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    mod, params = relax.frontend.detach_params(from_onnx(model, keep_params_in_input=True))
    assert [array.shape for array in params["main"]] == [(8, 4)]
    assert 'loc("mm"' in mod.script()
    ex = tvm.compile(relax.get_pipeline()(mod), target="llvm")
    ex.export_library(tmp_path / "net.so")
    x, twice = floats(3, 8), [2 * array for array in params["main"]]
    for runnable in ex, tvm.runtime.load_module(tmp_path / "net.so"):
        vm = relax.VirtualMachine(runnable, tvm.cpu())
        np.testing.assert_allclose(vm["main"](x, *twice), np.maximum(x @ (2 * w), 0), rtol=1e-4, atol=1e-5)
        with pytest.raises(PipelineError, match="expected main, the function that was compiled, got forward"):
            vm["forward"](x, *twice)
    bound, none = relax.frontend.detach_params(from_onnx(model))
    assert none == {}
    assert len(bound["main"].params) == 1
