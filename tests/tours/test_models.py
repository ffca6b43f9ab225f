"""TVM's tutorials on models and passes, told anew: values against numpy, the interpreter and onnxruntime."""

# pyright: basic

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import relay
from whence.contrib import graph_executor, relay_viz
from whence.contrib.debugger import debug_executor
from whence.dataflow_pattern import DFPatternCallback, is_constant, is_op, rewrite, wildcard
from whence.dialects.relay.interpret import evaluate_module
from whence.external import register_external_codegen
from whence.instrument import PassInstrument, PassTimingInstrument, pass_instrument
from whence.relay import testing
from whence.relay.profiler_vm import VirtualMachineProfiler
from whence.support.errors import WhenceError

tvm: Any = whence
RNG = np.random.default_rng(14)
ops: Any = relay


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def small_network() -> tuple[Any, Any]:
    """A convolution with constants to fold, and an addition that occurs twice; with its value in numpy."""
    weight, c = floats(8, 3, 1, 1), np.ones((1, 8, 4, 4), np.float32)
    x = ops.var("x", shape=(1, 3, 4, 4))
    conv = ops.nn.conv2d(x, ops.const(weight), channels=8, kernel_size=(1, 1))
    y = ops.add(ops.add(ops.const(c), ops.const(c)), ops.const(c))
    z, z1 = ops.add(conv, y), ops.add(conv, y)
    mod = tvm.IRModule.from_expr(ops.Function([x], ops.add(z, z1)))
    return mod, lambda data: 2 * (np.einsum("nchw,oc->nohw", data, weight[:, :, 0, 0]) + 3)


def run_graph(lib: Any, **inputs: Any) -> list[Any]:
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    for name, value in inputs.items():
        module.set_input(name, value)
    module.run()
    return [module.get_output(at).numpy() for at in range(module.get_num_outputs())]


def count(mod: Any, operator: str) -> int:
    return mod.astext(show_meta_data=False).count(f"{operator}(")


def test_quick_start(tmp_path: Path) -> None:
    """A residual network of relay.testing: built, run, exported, loaded and run again."""
    mod, params = testing.resnet.get_workload(num_layers=8, batch_size=1, image_shape=(3, 28, 28), num_classes=10)
    assert "nn.conv2d" in mod.astext(show_meta_data=False)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, tvm.target.Target("llvm"), params=params)
    data = floats(1, 3, 28, 28)
    (scores,) = run_graph(lib, data=data)
    bound = relay.build_module.bind_params_by_name(mod["main"], params)
    (expected,) = evaluate_module(tvm.IRModule.from_expr(bound).module, [data])
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    for suffix in ("tar", "so"):
        lib.export_library(str(tmp_path / f"deploy.{suffix}"))
        again = tvm.runtime.load_module(str(tmp_path / f"deploy.{suffix}"))
        np.testing.assert_array_equal(run_graph(again, data=data)[0], scores)


def test_deployment_in_parts(tmp_path: Path) -> None:
    """The graph, the library and the parameters as three files, as programs in C++ take them; none needs a network."""
    mod, params = testing.mlp.get_workload(batch_size=2)
    graph, lib, params = relay.build(mod, "llvm", params=params)
    lib.export_library(str(tmp_path / "net.tar"))
    (tmp_path / "net.json").write_text(graph)
    (tmp_path / "net.params").write_bytes(relay.save_param_dict(params))
    module = graph_executor.create(
        (tmp_path / "net.json").read_text(), tvm.runtime.load_module(str(tmp_path / "net.tar")), tvm.cpu(0)
    )
    module.load_params((tmp_path / "net.params").read_bytes())
    data = floats(2, 1, 28, 28)
    module.run(data=data)
    x = data.reshape(2, -1)
    weights = {name: array.numpy() for name, array in testing.mlp.get_workload(batch_size=2)[1].items()}
    for at in (1, 2, 3):
        x = x @ weights[f"fc{at}_weight"].T + weights[f"fc{at}_bias"]
        x = np.maximum(x, 0) if at < 3 else x
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(module.get_output(0).numpy(), e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-6)
    remote = tvm.rpc.LocalSession()
    remote.upload(str(tmp_path / "net.tar"))
    again = graph_executor.create(graph, remote.load_module("net.tar"), remote.cpu(0))
    again.load_params(relay.save_param_dict(params))
    again.run(data=data)
    np.testing.assert_array_equal(again.get_output(0).numpy(), module.get_output(0).numpy())
    assert remote.download("net.tar") == (tmp_path / "net.tar").read_bytes()
    with pytest.raises(WhenceError, match=r"session: expected a file that was uploaded \(net\.tar\), got 'other\.tar'"):
        remote.load_module("other.tar")
    with pytest.raises(WhenceError, match=r"rpc\.connect: expected LocalSession, as models run here and are shipped"):
        tvm.rpc.connect("0.0.0.0", 9090)


def test_passes_and_sequences() -> None:
    mod, value = small_network()
    folded = relay.transform.FoldConstant()(mod)
    assert (count(mod, "add"), count(folded, "add")) == (5, 3)
    merged = relay.transform.EliminateCommonSubexpr()(folded)
    assert count(merged, "add") == 2
    fused = relay.transform.FuseOps(fuse_opt_level=0)(merged)
    assert fused.astext(show_meta_data=False).count("Primitive=1") == 3

    sequence = tvm.transform.Sequential(
        [
            relay.transform.FoldConstant(),
            relay.transform.EliminateCommonSubexpr(),
            relay.transform.FuseOps(fuse_opt_level=2),
        ]
    )
    assert sequence(mod).astext(show_meta_data=False).count("Primitive=1") == 1
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
        assert count(sequence(mod), "add") == 3
    with tvm.transform.PassContext(opt_level=4), tvm.target.Target("llvm"):
        altered = relay.transform.AlterOpLayout()(tvm.transform.Sequential([relay.transform.FoldConstant()])(mod))
    data = floats(1, 3, 4, 4)
    for each in (mod, folded, merged, altered):
        np.testing.assert_allclose(run_graph(relay.build(each, "llvm"), x=data)[0], value(data), rtol=1e-5, atol=1e-5)


def test_a_pass_of_ones_own() -> None:
    """A class that multiplies constants, as a function pass; a pass by a visitor over expressions; one of a module."""
    mod, value = small_network()

    @relay.transform.function_pass(opt_level=1)
    class CustomPipeline:
        def __init__(self, multiplier: Any):
            self.multiplier = multiplier

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            outer = self

            class ReplaceConstant(relay.ExprMutator):
                def visit_constant(self, c: Any) -> Any:
                    return ops.multiply(outer.multiplier, c)

            return ReplaceConstant().visit(func)

    changed = CustomPipeline(ops.const(3.0, "float32"))(mod)
    assert count(changed, "multiply") == count(mod, "add") - 1
    data = floats(1, 3, 4, 4)
    np.testing.assert_allclose(run_graph(relay.build(changed), x=data)[0], 3 * value(data), rtol=1e-5, atol=1e-5)
    assert CustomPipeline(ops.const(3.0, "float32")).info.name == "CustomPipeline"

    @tvm.transform.module_pass(opt_level=2)
    def add_abs(mod: Any, ctx: Any) -> Any:
        x = ops.var("x", shape=(10,))
        mod[ops.GlobalVar("abs")] = ops.Function([x], ops.abs(x))
        return mod

    assert sorted(var.name_hint for var in add_abs(mod).get_global_vars()) == ["abs", "main"]


def test_folding_by_a_checker_and_a_mutator() -> None:
    """Constant folding as the guide to passes builds it: a visitor that asks, an evaluator, and a mutator."""

    class ConstantChecker(relay.ExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.memo: dict[Any, bool] = {}

        def check(self, expr: Any) -> bool:
            self.visit(expr)
            return self.memo.get(expr, False)

        def visit_constant(self, const: Any) -> None:
            self.memo[const] = True

        def visit_tuple(self, tup: Any) -> None:
            self.memo[tup] = all(self.check(field) for field in tup.fields)

    checker = ConstantChecker()
    one, x = ops.const(floats(2, 2)), ops.var("x", shape=(2, 2))
    assert checker.check(ops.Tuple([one, ops.Tuple([one])]))
    assert not checker.check(ops.Tuple([one, x]))

    folded: list[str] = []

    class ConstantFolder(relay.ExprMutator):
        def visit_call(self, call: Any) -> Any:
            new = super().visit_call(call)
            if not all(checker.check(arg) for arg in new.args):
                return new
            folded.append(new.op.name)
            value = relay.create_executor("debug", tvm.IRModule.from_expr(ops.Function([], new))).evaluate()()
            return ops.const(value.numpy())

    mod, value = small_network()
    result = relay.transform.InferType()(tvm.IRModule.from_expr(ConstantFolder().visit(mod["main"])))
    assert folded == ["add", "add"]
    assert tvm.ir.structural_equal(result["main"], relay.transform.FoldConstant()(mod)["main"])
    data = floats(1, 3, 4, 4)
    np.testing.assert_allclose(run_graph(relay.build(result), x=data)[0], value(data), rtol=1e-5, atol=1e-5)


def test_instruments_of_passes() -> None:
    mod, _ = small_network()
    timing = PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing]):
        relay.transform.FoldConstant()(relay.transform.InferType()(mod))
        profiles = timing.render()
    assert "FoldConstant" in profiles
    assert "InferType" in profiles

    @pass_instrument
    class RelayCallNodeDiffer:
        def __init__(self) -> None:
            self.differences: list[tuple[str, int]] = []
            self._before: list[int] = []
            self.entered: list[str] = []

        def enter_pass_ctx(self) -> None:
            self.entered.append("in")

        def exit_pass_ctx(self) -> None:
            self.entered.append("out")

        def run_before_pass(self, mod: Any, info: Any) -> None:
            self._before.append(count(mod, "add"))

        def run_after_pass(self, mod: Any, info: Any) -> None:
            self.differences.append((info.name, count(mod, "add") - self._before.pop()))

    differ: Any = RelayCallNodeDiffer()
    with tvm.transform.PassContext(instruments=[differ]):
        relay.transform.EliminateCommonSubexpr()(relay.transform.FoldConstant()(mod))
    assert ("FoldConstant", -2) in differ.differences
    assert ("EliminateCommonSubexpr", -1) in differ.differences
    assert differ.entered == ["in", "out"]

    class Skipping(PassInstrument):
        def should_run(self, mod: Any, info: Any) -> bool:
            return info.name != "FoldConstant"

        def exit_pass_ctx(self) -> None:
            raise ValueError("the end fails")

    with pytest.raises(ValueError, match="the end fails"), tvm.transform.PassContext(instruments=[Skipping()]):
        kept = relay.transform.FoldConstant()(mod)
    assert count(kept, "add") == count(mod, "add")


def test_a_pass_on_loops() -> None:
    from whence import te, tir

    n = tvm.tir.const(128, "int32")
    a, b = te.placeholder((n,), name="a"), te.placeholder((n,), name="b")
    c = te.compute((n,), lambda i: a[i] + b[i], name="c")
    loops: list[Any] = []

    def find_width8(op: Any) -> None:
        if isinstance(op, tir.For) and isinstance(op.extent, tir.IntImm) and op.extent.value % 8 == 0:
            loops.append(op)

    def vectorize8(op: Any) -> Any:
        if op not in loops:
            return None
        name, extent = op.loop_var.name, op.extent.value
        lo, li = te.var(name + ".outer"), te.var(name + ".inner")
        body = tir.stmt_functor.substitute(op.body, {op.loop_var: lo * 8 + li})
        body = tir.For(li, 0, 8, tir.ForKind.VECTORIZED, body)
        return tir.For(lo, 0, extent // 8, tir.ForKind.SERIAL, body)

    @tir.transform.prim_func_pass(opt_level=0)
    def vectorize(f: Any, mod: Any, ctx: Any) -> Any:
        tir.stmt_functor.post_order_visit(f.body, find_width8)
        return f.with_body(tir.stmt_functor.ir_transform(f.body, None, vectorize8, ["tir.For"])) if loops else f

    schedule = te.create_schedule(c.op)
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, vectorize)]}):
        assert "vector<8xf32>" in str(tvm.lower(schedule, [a, b, c]))
        f = tvm.build(schedule, [a, b, c])
    x, y = floats(128), floats(128)
    np.testing.assert_allclose(f(x, y), x + y, rtol=1e-6)
    assert "vector<" not in str(tvm.lower(schedule, [a, b, c]))


def test_quantisation_after_training() -> None:
    mod, params = testing.resnet.get_workload(num_layers=8, batch_size=1, image_shape=(3, 28, 28), num_classes=10)
    samples = [{"data": floats(1, 3, 28, 28)} for _ in range(8)]
    bound = tvm.IRModule.from_expr(relay.build_module.bind_params_by_name(mod["main"], params))
    wanted = np.concatenate([evaluate_module(bound.module, [sample["data"]])[0] for sample in samples])
    for options in (
        {"calibrate_mode": "kl_divergence", "weight_scale": "max"},
        {"calibrate_mode": "global_scale", "global_scale": 8.0},
    ):
        with relay.quantize.qconfig(**options):
            dataset = samples if options["calibrate_mode"] == "kl_divergence" else None
            quantized = relay.quantize.quantize(mod, params, dataset=dataset)
        text = quantized.astext(show_meta_data=False)
        assert "int8" in text
        lib = relay.build(quantized, "llvm")
        got = np.concatenate([run_graph(lib, **sample)[0] for sample in samples])
        assert np.abs(got - wanted).max() < 0.02
        assert not np.array_equal(got, wanted)


def test_a_model_that_is_quantised_already() -> None:
    """qnn.conv2d and requantize, against their definitions in integers."""
    data, weight = (
        RNG.integers(0, 256, (1, 3, 6, 6)).astype(np.uint8),
        RNG.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
    )
    x = ops.var("x", shape=data.shape, dtype="uint8")
    i32, f32 = (lambda value: ops.const(value, "int32")), (lambda value: ops.const(value, "float32"))
    y = ops.qnn.conv2d(x, ops.const(weight), i32(128), i32(0), f32(0.02), f32(0.01), kernel_size=(3, 3), channels=4)
    z = ops.qnn.requantize(y, f32(0.0002), i32(0), f32(0.05), i32(10), out_dtype="uint8")
    mod = tvm.IRModule.from_expr(ops.Function([x], z))
    (got,) = run_graph(relay.build(mod, "llvm"), x=data)
    windows = np.lib.stride_tricks.sliding_window_view(data.astype(np.int32) - 128, (3, 3), (2, 3))
    total = np.einsum("nchwij,ocij->nohw", windows, weight.astype(np.int32))
    exact = np.clip(np.round(total * (0.0002 / 0.05)) + 10, 0, 255)
    assert np.abs(got.astype(int) - exact).max() <= 1
    assert (got == exact).mean() > 0.99


def test_code_from_outside() -> None:
    """A part of a model goes to a compiler of one's own: annotated, partitioned, and called."""
    parts: list[Any] = []

    def takes(expr: Any) -> bool:
        return True

    for name in ("add", "multiply"):
        tvm.ir.register_op_attr(name, "target.tours_byoc", takes)

    @register_external_codegen("tours_byoc")
    def build(part: Any) -> Any:
        parts.append(part)
        return lambda *arrays: evaluate_module(part, arrays)

    x, y = ops.var("x", shape=(4, 8)), ops.var("y", shape=(4, 8))
    product = ops.multiply(ops.add(x, y), ops.const(2.0))
    mod = tvm.IRModule.from_expr(ops.Function([x, y], ops.nn.softmax(product)))
    cut = tvm.transform.Sequential(
        [
            relay.transform.AnnotateTarget("tours_byoc"),
            relay.transform.MergeCompilerRegions(),
            relay.transform.PartitionGraph(),
        ]
    )(mod)
    text = cut.astext(show_meta_data=False)
    assert text.count('Compiler="tours_byoc"') == 1
    a, b = floats(4, 8), floats(4, 8)
    (got,) = run_graph(relay.build(cut, "llvm"), x=a, y=b)
    e = np.exp((a + b) * 2 - ((a + b) * 2).max(1, keepdims=True))
    np.testing.assert_allclose(got, e / e.sum(1, keepdims=True), rtol=1e-5)
    assert len(parts) == 1


def test_virtual_machine() -> None:
    """A loop over a list, sizes that a call decides, closures; executables that are saved."""
    mod = relay.parse("""#[version = "0.0.5"]
def @main(%n: int32, %x: Tensor[(?, 2), float32]) -> Tensor[(?, 2), float32] {
  if (%n < 1) { %x } else {
    %0 = tanh(%x);
    %1 = (%0, %x);
    @main(%n - 1, concatenate(%1))
  }
}""")
    with tvm.transform.PassContext(opt_level=3):
        executable = relay.vm.compile(mod, target="llvm")
    machine = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    x = floats(1, 2)
    expected = x
    for _ in range(3):
        expected = np.concatenate([np.tanh(expected), expected])
    np.testing.assert_allclose(machine.invoke("main", np.int32(3), x).numpy(), expected, rtol=1e-5, atol=1e-6)
    got = relay.create_executor("vm", mod, tvm.cpu(), "llvm").evaluate()(np.int32(3), x)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)
    code, lib = executable.save()
    loaded = tvm.runtime.vm.VirtualMachine(tvm.runtime.vm.Executable.load_exec(code, lib), tvm.cpu())
    np.testing.assert_allclose(loaded.invoke("main", np.int32(3), x).numpy(), expected, rtol=1e-5, atol=1e-6)
    report = VirtualMachineProfiler(executable).profile(np.int32(3), x, func_name="main")
    assert len(report.calls) >= 3


def test_pictures_of_relay(tmp_path: Path) -> None:
    mod, params = testing.mlp.get_workload(batch_size=1)
    texts: list[str] = []
    relay_viz.RelayVisualizer(mod, params, relay_viz.TermPlotter(texts.append)).render()
    assert texts[0].count("Call nn.dense") == 3
    folder = tmp_path / "graph"
    plotter = relay_viz.DotPlotter()
    relay_viz.RelayVisualizer(mod, params, plotter, relay_viz.DotVizParser()).render(str(folder))
    written = "".join(path.read_text() for path in tmp_path.iterdir() if path.suffix != ".svg")
    assert "nn.softmax" in written


def test_debugger_and_profiler(tmp_path: Path) -> None:
    mod, params = testing.mlp.get_workload(batch_size=2)
    lib = relay.build(mod, "llvm", params=params)
    data = floats(2, 1, 28, 28)
    module = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu(), dump_root=str(tmp_path))
    module.load_params(relay.save_param_dict(lib.get_params()))
    module.set_input("data", data)
    module.run()
    (plain,) = run_graph(lib, data=data)
    np.testing.assert_allclose(module.get_output(0).numpy(), plain, rtol=1e-6)
    graph = json.loads(next(tmp_path.rglob("_tvmdbg_graph_dump.json")).read_text())
    assert [node["name"] for node in graph["nodes"] if node["op"] != "param"]
    dump = relay.load_param_dict(next(tmp_path.rglob("output_tensors.params")).read_bytes())
    values = [array.numpy() for array in dump.values()]
    assert any(value.shape == plain.shape and np.allclose(value, plain) for value in values)
    report = module.profile(data=data)
    assert sum("fused" in str(call["Name"]) for call in report.calls) >= 1
    assert "Duration (us)" in report.table()


def test_external_libraries() -> None:
    """A dense layer with an epilogue that onnxruntime runs: values as without it."""
    x = ops.var("x", shape=(4, 16))
    w, b = floats(8, 16), floats(8)
    body = ops.nn.relu(ops.nn.bias_add(ops.nn.dense(x, ops.const(w)), ops.const(b)))
    mod = tvm.IRModule.from_expr(ops.Function([x], ops.tan(body)))
    data = floats(4, 16)
    outside = tvm.compile(mod.module, target="onnxruntime, llvm")
    assert any("onnxruntime" in kernel for kernel in outside.kernels)
    np.testing.assert_allclose(outside(data), np.tan(np.maximum(data @ w.T + b, 0)), rtol=1e-2, atol=1e-3)


def test_an_expression_by_patterns() -> None:
    class Squares(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("power")(self.x, is_constant())

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            (x,) = node_map[self.x]
            return x * x

    x = ops.var("x", shape=(3,))
    changed = rewrite(Squares(), ops.power(ops.exp(x), ops.const(2.0)) + x)
    text = tvm.IRModule.from_expr(ops.Function([x], changed)).astext()
    assert "power" not in text
    data = floats(3)
    got = relay.create_executor("graph", tvm.IRModule.from_expr(ops.Function([x], changed))).evaluate()(data)
    np.testing.assert_allclose(got.numpy(), np.exp(data) ** 2 + data, rtol=1e-5)
