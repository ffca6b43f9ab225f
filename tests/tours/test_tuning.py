"""TVM's tutorials on tuning, told anew: each winner is built again from its log and held against numpy."""

# pyright: basic

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import auto_scheduler, autotvm, meta_schedule, relay, te
from whence.contrib import graph_executor
from whence.support.errors import WhenceError

tvm: Any = whence
RNG = np.random.default_rng(3)
ops: Any = relay


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


@autotvm.template("tours/matmul")
def matmul(n: int, depth: int, m: int, dtype: str) -> Any:
    A, B = te.placeholder((n, depth), name="A", dtype=dtype), te.placeholder((depth, m), name="B", dtype=dtype)
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    y, x = s[C].op.axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    yo, yi = cfg["tile_y"].apply(s, C, y)
    xo, xi = cfg["tile_x"].apply(s, C, x)
    s[C].reorder(yo, xo, s[C].op.reduce_axis[0], yi, xi)
    return s, [A, B, C]


def test_a_template_is_tuned(tmp_path: Path) -> None:
    n, depth, m = 32, 24, 16
    task = autotvm.task.create("tours/matmul", args=(n, depth, m, "float32"), target="llvm")
    assert len(task.config_space) == 6 * 5
    option = autotvm.measure_option(builder="local", runner=autotvm.LocalRunner(number=1, repeat=1))
    log = str(tmp_path / "matmul.log")
    tuner = autotvm.tuner.RandomTuner(task)
    tuner.tune(n_trial=3, measure_option=option, callbacks=[autotvm.callback.log_to_file(log)])
    records = list(autotvm.record.load_from_file(log))
    assert len(records) == 3
    a, b = floats(n, depth), floats(depth, m)
    with autotvm.apply_history_best(log), tvm.target.Target("llvm"):
        s, arg_bufs = matmul(n, depth, m, "float32")
        function = tvm.build(s, arg_bufs)
    c = tvm.nd.empty((n, m))
    function(tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4, atol=1e-5)
    for index in (0, 13, 29):
        with autotvm.ApplyConfig(task.config_space.get(index)):
            s, arg_bufs = matmul(n, depth, m, "float32")
        np.testing.assert_allclose(tvm.build(s, arg_bufs)(a, b), a @ b, rtol=1e-4, atol=1e-5)


def network() -> tuple[Any, Any, Any, Any]:
    w, v = floats(64, 32), floats(16, 64)
    x = ops.var("data", shape=(64, 32))
    body = ops.nn.dense(ops.nn.relu(ops.nn.dense(x, ops.var("w", shape=w.shape))), ops.var("v", shape=v.shape))
    mod = tvm.IRModule.from_expr(ops.Function(relay.analysis.free_vars(body), body))
    data = floats(64, 32)
    return mod, {"w": tvm.nd.array(w), "v": tvm.nd.array(v)}, data, np.maximum(data @ w.T, 0) @ v.T


def run(lib: Any, data: Any) -> Any:
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("data", data)
    assert module.benchmark(tvm.cpu(), number=1, repeat=2).mean > 0
    module.run()
    return module.get_output(0).numpy()


def test_a_network_is_tuned_by_autotvm(tmp_path: Path) -> None:
    mod, params, data, expected = network()
    tasks = autotvm.task.extract_from_program(mod["main"], target="llvm", params=params)
    assert tasks
    log = str(tmp_path / "network.log")
    option = autotvm.measure_option(builder=autotvm.LocalBuilder(), runner=autotvm.LocalRunner(number=1, repeat=1))
    for task in tasks:
        tuner = autotvm.tuner.XGBTuner(task, loss_type="rank")
        tuner.tune(2, measure_option=option, callbacks=[autotvm.callback.log_to_file(log)])
    with autotvm.apply_history_best(log), tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    np.testing.assert_allclose(run(lib, data), expected, rtol=1e-4, atol=1e-4)


@auto_scheduler.register_workload
def tours_matmul_add(n: int, depth: int, m: int, dtype: str) -> list[Any]:
    A, B = te.placeholder((n, depth), name="A", dtype=dtype), te.placeholder((depth, m), name="B", dtype=dtype)
    C = te.placeholder((n, m), name="C", dtype=dtype)
    k = te.reduce_axis((0, depth), name="k")
    product = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")
    return [A, B, C, te.compute((n, m), lambda i, j: product[i, j] + C[i, j], name="out")]


def test_tensors_are_scheduled_without_a_template(tmp_path: Path) -> None:
    n, depth, m = 48, 64, 80
    task = auto_scheduler.SearchTask(func=tours_matmul_add, args=(n, depth, m, "float32"), target="llvm")
    assert "matmul" in str(task.compute_dag)
    log = str(tmp_path / "matmul.json")
    task.tune(
        auto_scheduler.TuningOptions(
            num_measure_trials=2,
            measure_callbacks=[auto_scheduler.RecordToFile(log)],
            runner=auto_scheduler.LocalRunner(number=1, repeat=1),
        )
    )
    sch, args = task.apply_best(log)
    a, b, c = floats(n, depth), floats(depth, m), floats(n, m)
    np.testing.assert_allclose(tvm.build(sch, args, "llvm")(a, b, c), a @ b + c, rtol=1e-4, atol=1e-4)
    assert "split" in task.print_best(log) or "vectorize" in task.print_best(log)
    with pytest.raises(WhenceError, match=r"SketchPolicy: expected SearchTask\.tune"):
        auto_scheduler.SketchPolicy(task)


def test_a_network_is_tuned_by_auto_scheduler(tmp_path: Path) -> None:
    mod, params, data, expected = network()
    tasks, weights = auto_scheduler.extract_tasks(mod["main"], params, "llvm")
    log = str(tmp_path / "network.json")
    tuner = auto_scheduler.TaskScheduler(tasks, weights)
    tuner.tune(
        auto_scheduler.TuningOptions(
            num_measure_trials=2,
            runner=auto_scheduler.LocalRunner(number=1, repeat=1),
            measure_callbacks=[auto_scheduler.RecordToFile(log)],
        )
    )
    with (
        auto_scheduler.ApplyHistoryBest(log),
        tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_auto_scheduler": True}),
    ):
        lib = relay.build(mod, target="llvm", params=params)
    np.testing.assert_allclose(run(lib, data), expected, rtol=1e-4, atol=1e-4)


def test_a_network_is_tuned_by_meta_schedule(tmp_path: Path) -> None:
    mod, params, data, expected = network()
    records = meta_schedule.relay_integration.tune_relay(mod, params, "llvm", tmp_path / "work", 2)
    lib = meta_schedule.relay_integration.compile_relay(records, mod, "llvm", params)
    np.testing.assert_allclose(run(lib, data), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(WhenceError, match="tune_tir: expected tensors with a schedule"):
        meta_schedule.tune_tir(mod, "llvm", tmp_path, 2)
