"""AutoTVM's names: the scope of records, lines there and back, the best of a file, logs of TVM itself."""

from __future__ import annotations

import json
import logging
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tuning_records import record, winners

import whence
from whence import autotvm, relay
from whence.contrib import graph_executor
from whence.relay.module import IRModule
from whence.support.errors import FrontendError, PipelineError
from whence.testing import as_tvm
from whence.tuning.records import Records, append

X, W = (np.random.default_rng(1).standard_normal(shape).astype(np.float32) for shape in ((64, 32), (128, 32)))


def theirs(cost: float, task: str = "dense_nopack.x86", error: int = 0) -> str:
    """A line as TVM 0.14 writes it."""
    row: dict[str, object] = {
        "input": ["llvm -keys=cpu -mcpu=znver4", task, [["TENSOR", [1, 64], "float32"], None], {}],
        "config": {
            "index": 7,
            "code_hash": None,
            "entity": [["tile_ic", "sp", [-1, 16]], ["reorder_0", "re", [0, 2, 1]], ["unroll_kw", "ot", True]],
        },
        "result": [[cost], error, 1.25, 1.6e9],
        "version": 0.2,
        "tvm_version": "0.14.0",
    }
    return json.dumps(row)


def network() -> IRModule:
    x, w = relay.var("x", shape=X.shape), relay.var("w", shape=W.shape)
    return IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    append(tmp_path / "log.json", winners(whence.compile(network())))
    return tmp_path / "log.json"


def test_a_program_written_for_tvm_compiles_by_its_log(tmp_path: Path):
    as_tvm()
    assert import_module("tvm.autotvm") is autotvm
    (record,) = winners(relay.build(network(), params={"w": W}).executable)
    append(tmp_path / "log.json", [record])
    with autotvm.apply_history_best(str(tmp_path / "log.json")):
        lib = relay.build(network(), target="llvm", params={"w": W})
    (applied,) = lib.executable.tuned.values()
    assert (applied.decisions, applied.source) == (record.decisions, "exact")
    module = graph_executor.GraphModule(lib["default"](whence.cpu()))
    module.run(x=X)
    np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(X @ W.T, 0), rtol=1e-4, atol=1e-5)


def test_a_scope_takes_files_pairs_and_records_and_ends(log: Path, tmp_path: Path):
    pairs = list(autotvm.record.load_from_file(log))
    for history in (log, [log, str(log)], pairs, Records.load(log), log.parent):
        with autotvm.apply_history_best(history):
            assert len(whence.compile(network()).tuned) == 1
            with autotvm.ApplyHistoryBest(None):
                assert whence.compile(network()).tuned == {}
            assert len(whence.compile(network()).tuned) == 1
        assert whence.compile(network()).tuned == {}
    with pytest.raises(FrontendError, match=r"none: expected a file of records of tuning, got No such file"):
        autotvm.apply_history_best(tmp_path / "none")
    with pytest.raises(PipelineError, match=r"apply_history_best: expected files, or pairs of .*, got 7"):
        autotvm.apply_history_best(cast(Any, [7]))


def test_a_log_of_tvm_decides_nothing_and_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "tophub.log"
    path.write_text(f"# from elsewhere\n{theirs(0.002)}\n{theirs(0.001)}\n")
    with caplog.at_level(logging.WARNING), autotvm.apply_history_best(path):
        assert whence.compile(network()).tuned == {}
    text = "0 records, 2 lines skipped (2 of AutoTVM); TVM's records are of its own schedules, and decide nothing here"
    assert caplog.messages == [f"{path}: {text}"]


def test_lines_there_and_back(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path, ours = tmp_path / "log", record(task="fused_nn_dense", target="llvm", timestamp=5.0)
    path.write_text(f"{theirs(0.002)}\n{{\n{ours.line}\n")
    with caplog.at_level(logging.WARNING):
        (first, cost), (second, _) = autotvm.record.load_from_file(str(path))
    assert caplog.messages == [f"{path}: 2 records, 1 line skipped (1 broken)"]
    assert (first.target, first.task.name, first.config.index) == ("llvm -keys=cpu -mcpu=znver4", "dense_nopack.x86", 7)
    assert cost == autotvm.MeasureResult((0.002,), 0, 1.25, 1.6e9)
    assert json.loads(autotvm.record.encode(first, cost)) == json.loads(theirs(0.002))
    assert second.record == ours
    changed = autotvm.MeasureResult((0.5,), 0, 2.0, 9.0)
    decoded = autotvm.record.decode(autotvm.record.encode(second, changed))
    assert decoded is not None
    assert decoded[1] == changed
    for row in ("{", "7", theirs(0.002).replace("0.2,", "0.1,"), '{"input": 1, "config": 2, "result": 3}'):
        assert autotvm.record.decode(row) is None
    with pytest.raises(PipelineError, match="expected protocol json, got 'pickle'"):
        autotvm.record.decode(ours.line, "pickle")


def test_the_best_of_a_file(tmp_path: Path):
    old, new = (record(decisions={"rows": rows}, timestamp=float(rows)) for rows in (1, 2))
    other, trial = record(workload="v"), record("trial", {"rows": 3}, timestamp=9.0)
    kept = [new.line, other.line, theirs(0.001), theirs(0.5, "conv2d.x86")]
    lines = [new.line, old.line, trial.line, other.line, theirs(0.002), theirs(0.001)]
    lines += [theirs(1e-9, error=4), theirs(0.5, "conv2d.x86")]
    (tmp_path / "log").write_text("\n".join(lines))
    autotvm.record.pick_best(str(tmp_path / "log"), str(tmp_path / "best"))
    assert (tmp_path / "best").read_text().splitlines() == kept
    autotvm.record.pick_best(tmp_path / "best", tmp_path / "best")
    assert (tmp_path / "best").read_text().splitlines() == kept
    with pytest.raises(FrontendError, match="none: expected a file of records of tuning"):
        autotvm.record.pick_best(tmp_path / "none", tmp_path / "best")


def test_a_callback_writes_what_was_right(tmp_path: Path):
    (tmp_path / "in").write_text(f"{record().line}\n{theirs(0.001)}\n")
    (ours, result), (foreign, _) = autotvm.record.load_from_file(tmp_path / "in")
    log = autotvm.callback.log_to_file(tmp_path / "out")
    failed = autotvm.MeasureResult((1e9,), 2, 1.0, 1.0)
    log(None, [ours, foreign, ours], [result, failed, result._replace(costs=(0.25,))])
    log(None, [ours], [result])
    lines = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line)["result"][0] for line in lines] == [list(result.costs), [1e9], [0.25], list(result.costs)]
    with pytest.raises(PipelineError, match="out: cannot be written"):
        autotvm.callback.log_to_file(tmp_path / "none" / "out")(None, [ours], [result])
