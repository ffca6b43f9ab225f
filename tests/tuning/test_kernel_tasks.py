"""The kernels of a model as tasks of AutoTVM's names: extracted, tuned, logged, and compiled by the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence import autotvm, relay
from whence.autotvm.measure.measure import Runner
from whence.contrib import graph_executor
from whence.lowering.relay_to_te.knobs import Space
from whence.nd import cpu
from whence.relay.module import IRModule
from whence.support.errors import PipelineError

W = np.random.default_rng(1).standard_normal((128, 64), np.float32)
X = np.random.default_rng(2).standard_normal((32, 64), np.float32)


@pytest.fixture(scope="module")
def mod() -> IRModule:
    x, w = relay.var("x", shape=X.shape), relay.var("w", shape=W.shape)
    return IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))


@pytest.fixture(scope="module")
def task(mod: IRModule) -> Any:
    (task,) = autotvm.task.extract_from_program(mod["main"], {"w": W}, target="llvm")
    return task


def test_the_space_of_a_kernel_is_the_compilers(task: Any):
    space, own = task.config_space, task.kernel.space
    assert isinstance(own, Space)
    assert [name for name in space.space_map] == [knob.name for knob in own.knobs]
    points = own.points()
    assert len(space) == len(points)
    indices = {space.index_of(points.decisions(point)) for point in range(len(points))}
    assert all(space.is_index_valid(index) for index in indices)
    assert len(indices) == len(points)
    assert space.decisions(space.get(space.index_of({}))) == {}
    assert task.flop == sum(operations for operations, _ in task.kernel.kernel.work) >= 2 * 32 * 64 * 128


@pytest.mark.parametrize("name", ["RandomTuner", "XGBTuner"])
def test_a_model_is_tuned_and_compiled_by_its_log(name: str, mod: IRModule, task: Any, tmp_path: Path):
    log, inputs, results = tmp_path / "log.json", list[Any](), list[Any]()
    option = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner(repeat=1))

    def keep(_: Any, candidates: Any, outcomes: Any) -> None:
        inputs.extend(candidates)
        results.extend(outcomes)

    tuner = getattr(autotvm.tuner, name)(task)
    tuner.tune(3, option, callbacks=[autotvm.callback.log_to_file(log), keep])
    kinds = [json.loads(line)["whence"]["kind"] for line in log.read_text().splitlines()]
    assert kinds == ["trial"] * (len(kinds) - 1) + ["winner"]
    assert len(inputs) == 4
    winner = inputs[-1].record
    assert winner is not None
    assert winner.interval[0] > 1 or winner.decisions == {}
    with autotvm.apply_history_best(log):
        lib = relay.build(mod, target="llvm", params={"w": W})
    (applied,) = lib.executable.tuned.values()
    assert (dict(applied.decisions), applied.source) == (dict(winner.decisions), "exact")
    module = graph_executor.GraphModule(lib["default"](cpu()))
    module.run(x=X)
    np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(X @ W.T, 0), rtol=1e-4, atol=1e-4)


def test_what_cannot_measure_a_kernel_is_told(task: Any, mod: IRModule):
    class Other(Runner):
        def run(self, measure_inputs: Any, build_results: Any) -> Any:
            return [autotvm.MeasureResult((built.code.why,), built.error_no, 0, 0) for built in build_results]

    reasons: list[str] = []
    tuner = autotvm.tuner.RandomTuner(task)
    option = {"builder": autotvm.LocalBuilder(n_parallel=1), "runner": Other()}
    tuner.tune(1, option, callbacks=[lambda _, inputs, results: reasons.extend(results[0].costs)])
    assert "expected LocalRunner, as it has no template" in reasons[0]
    with pytest.raises(PipelineError, match="extract_from_program: expected all operators, got ops"):
        autotvm.task.extract_from_program(mod, {"w": W}, ops=[relay.op.get("nn.dense")])
