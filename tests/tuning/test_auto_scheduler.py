"""Schedules without a template, and models, tuned by the names of auto_scheduler and meta_schedule."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import auto_scheduler, meta_schedule, relay, te
from whence.contrib import graph_executor
from whence.kernels import read_schedule
from whence.nd import cpu
from whence.relay.module import IRModule
from whence.support.errors import FrontendError, PipelineError

ROWS, COLUMNS = 64, 4096


@auto_scheduler.register_workload
def shifted_sums(m: int, n: int) -> list[Any]:
    """The sums of rows, and one."""
    A = te.placeholder((m, n), name="A")
    r = te.reduce_axis((0, n), name="r")
    S = te.compute((m,), lambda i: te.sum(A[i, r], axis=r), name="S")
    return [A, te.compute((m,), lambda i: S[i] + 1.0, name="out")]


@pytest.fixture(scope="module")
def task() -> Any:
    return auto_scheduler.create_task(shifted_sums, (ROWS, COLUMNS), "llvm")


def test_tensors_are_tuned_and_scheduled_by_a_log(task: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    a = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)
    assert task.flop == ROWS * COLUMNS + ROWS
    assert "for r in 4096" in task.compute_dag
    log = tmp_path / "log.json"
    runner = auto_scheduler.LocalRunner(repeat=1)
    options = auto_scheduler.TuningOptions(4, runner=runner, measure_callbacks=[auto_scheduler.RecordToFile(log)])
    (tmp_path / "empty.json").write_text("")
    with pytest.raises(PipelineError, match="apply_best: expected a line of shifted_sums"):
        task.apply_best(tmp_path / "empty.json")
    task.tune(options)
    assert len(log.read_text().splitlines()) == 4
    with caplog.at_level(logging.WARNING):
        schedule, arguments = task.apply_best(log)
    assert caplog.messages == []
    np.testing.assert_allclose(whence.build(schedule, arguments)(a), a.sum(1) + 1, rtol=1e-3, atol=1e-3)
    again = read_schedule(task.print_best(log))
    assert str(again.sequence).splitlines()[1:] == str(schedule.sequence).splitlines()[1:]
    np.testing.assert_allclose(whence.build_schedule(again)(a), a.sum(1) + 1, rtol=1e-3, atol=1e-3)
    with pytest.raises(PipelineError, match="print_best: expected print_mode schedule, got 'cuda'"):
        task.print_best(log, print_mode="cuda")
    costs = [(result.costs[0], inp) for inp, result in auto_scheduler.load_records(log) if not result.error_no]
    best = min(costs, key=lambda pair: pair[0])[1].config
    assert str(task.instantiate(task.config_space.get(task.config_space.index_of_entity(best)))[0]) == str(schedule)


def test_each_configuration_computes_what_numpy_does(task: Any):
    a = np.random.default_rng(1).standard_normal((ROWS, COLUMNS), np.float32)
    texts: set[str] = set()
    for index in task.config_space.sample_ints(3):
        schedule, arguments = task.instantiate(task.config_space.get(index))
        texts.add(str(schedule.sequence))
        np.testing.assert_allclose(whence.build(schedule, arguments)(a), a.sum(1) + 1, rtol=1e-3, atol=1e-3)
    assert len(texts) == 3


@pytest.mark.parametrize("transposed", [False, True])
def test_a_product_is_scheduled_as_one(transposed: bool):
    m, n, k = 33, 45, 20

    def product(m: int, n: int, k: int) -> list[Any]:
        A, B = te.placeholder((m, k), name="A"), te.placeholder((n, k) if transposed else (k, n), name="B")
        D = te.placeholder((m, n), name="D")
        r = te.reduce_axis((0, k), name="r")
        C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * (B[j, r] if transposed else B[r, j]), axis=r), name="C")
        return [A, B, D, te.compute((m, n), lambda i, j: C[i, j] + D[i, j], name="E")]

    task = auto_scheduler.create_task(product, (m, n, k), "llvm")
    assert task.flop == 2 * m * n * k + m * n
    a, b, d = (np.random.default_rng(5).standard_normal(shape, np.float32) for shape in ((m, k), (k, n), (m, n)))
    for index in task.config_space.sample_ints(4):
        schedule, arguments = task.instantiate(task.config_space.get(index))
        assert '= "dense"' in str(schedule.sequence).splitlines()[0]
        built = whence.build(schedule, arguments)
        operand = np.ascontiguousarray(b.T) if transposed else b
        np.testing.assert_allclose(built(a, operand, d), a @ b + d, rtol=1e-4, atol=1e-4)


def test_what_means_something_else_is_refused_in_a_sentence(task: Any, tmp_path: Path):
    with pytest.raises(PipelineError, match=r"SketchPolicy: expected SearchTask\.tune"):
        auto_scheduler.SketchPolicy(task)
    with pytest.raises(PipelineError, match="expected the search of whence tune, got a search_policy"):
        task.tune(auto_scheduler.TuningOptions(1), search_policy="sketch.random")
    with pytest.raises(PipelineError, match=r"SearchTask: expected a workload among .*shifted_sums.*, got 'none'"):
        auto_scheduler.create_task("none", (), "llvm")
    with pytest.raises(PipelineError, match="register_workload: expected a new name, or override=True"):
        auto_scheduler.register_workload("shifted_sums", lambda: [])
    with pytest.raises(PipelineError, match="TaskScheduler: expected a weight for each of 1 tasks, got 2"):
        auto_scheduler.TaskScheduler([task], [1, 2])
    with pytest.raises(PipelineError, match="tune_tir: expected tensors with a schedule"):
        meta_schedule.tune_tir(None, "llvm", tmp_path, 4)
    with pytest.raises(FrontendError, match="none: expected a file of records"):
        task.apply_best(tmp_path / "none")


def test_a_model_is_tuned_into_a_folder_and_compiled_by_it(tmp_path: Path):
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((32, 64), np.float32), rng.standard_normal((128, 64), np.float32)
    names = relay.var("x", shape=x.shape), relay.var("w", shape=w.shape)
    mod, params = IRModule.from_expr(relay.Function(list(names), relay.nn.dense(*names))), {"w": w}
    tuning = meta_schedule.relay_integration
    database = tuning.tune_relay(mod, params, "llvm", tmp_path, 2, budget=20)
    assert database.records
    lib = tuning.compile_relay(database, mod, "llvm", params)
    module = graph_executor.GraphModule(lib["default"](cpu()))
    module.run(x=x)
    np.testing.assert_allclose(module.get_output(0).numpy(), x @ w.T, rtol=1e-4, atol=1e-4)
    with pytest.raises(PipelineError, match="tune_relay: expected strategy evolutionary, as there is one way"):
        tuning.tune_relay(mod, params, "llvm", tmp_path, 2, strategy="replay-trace")
    with pytest.raises(PipelineError, match="compile_relay: expected backend graph, got 'vm'"):
        tuning.compile_relay(database, mod, "llvm", params, backend="vm")
    tasks, weights = auto_scheduler.extract_tasks(mod, params, "llvm")
    assert [task.kernel.calls for task in tasks] == weights == [1]
