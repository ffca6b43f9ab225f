"""Tuning a model from end to end: what is measured, kept and used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from planted_kernels import planted

import whence
from whence.cli.main import main
from whence.dialects.relay.core import FuncOp
from whence.lowering.relay_to_te.cost import Rates
from whence.support.errors import PipelineError
from whence.tuning import tuner
from whence.tuning.jobs import Code, Failed, Job, Outcome
from whence.tuning.local_pool import LocalPool
from whence.tuning.records import Records
from whence.tuning.tasks import Task

ROWS, TERMS, COLUMNS = 32, 48, 64


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    rng = np.random.default_rng(5)
    return {
        "w": rng.standard_normal((TERMS, COLUMNS), np.float32),
        "b": rng.standard_normal((COLUMNS,), np.float32),
    }


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, weights: Mapping[str, Any]) -> Path:
    path = tmp_path_factory.mktemp("model") / "dense.onnx"
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"], name="fc"),
        helper.make_node("Add", ["xw", "b"], ["y"], name="bias"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, TERMS])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, COLUMNS])]
    inits = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "dense", inputs, outputs, inits)
    cast(Any, onnx).save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def common_rates(pool: object, target: object, threads: int, machine: object) -> Rates:
    return Rates(threads=threads)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are searched however little there is to gain, anything that is not slower wins, and no probe is run."""
    monkeypatch.setattr(tuner, "_LEAST", -1.0)
    monkeypatch.setattr("whence.tuning.search._GAIN", 0.0)
    monkeypatch.setattr("whence.compiler.tune.probe", common_rates)


class Replies:
    """A pool whose times follow from what was decided: a measurement never depends on the machine."""

    def __init__(self, order: int = 1):
        self.order = order
        self.jobs: list[Job] = []

    def __enter__(self) -> Replies:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def machines(self) -> Any:
        return LocalPool().machines()

    def measure(self, jobs: Sequence[Job]) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
        from whence.tuning.jobs import Measured

        self.jobs += jobs
        answers: list[tuple[int, tuple[Outcome, ...]]] = []
        for number, job in enumerate(jobs):
            outcomes = list[Outcome]()
            for code in job.candidates:
                ratio = 1 + int(code.symbol[-4:], 16) / 0xFFFF if code.symbol != job.default.symbol else 1.0
                outcomes.append(Measured((ratio,) * max(6, job.protocol.pairs), 1e-3, 1e-3 / ratio))
            answers.append((number, tuple(outcomes)))
        return iter(answers[:: self.order])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_tuned_model_is_the_decided_one_and_right(
    model: Path, tmp_path: Path, weights: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("whence.compiler.tune.LocalPool", Replies)
    (report,) = whence.tune(model, tmp_path, trials=20, threads=1, budget=None)
    (won,) = report.won
    assert won.outcome is not None
    tuned = whence.compile(model, tuned=tmp_path, threads=1)
    (applied,) = tuned.tuned.values()
    assert dict(applied.decisions) == won.outcome.decisions != {}
    assert applied.source == "exact"
    x = np.random.default_rng(1).standard_normal((ROWS, TERMS), np.float32)
    expected = x @ weights["w"] + weights["b"]
    np.testing.assert_allclose(tuned.run({"x": x})["y"], expected, rtol=1e-4, atol=1e-4)
    assert set(won.task.layers) == {("fc", "bias")}
    assert "fc" in report.text()


def test_a_second_run_measures_nothing_and_decides_the_same(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pools: list[Replies] = []

    def replies(order: int) -> Replies:
        pools.append(Replies(order))
        return pools[-1]

    decided: list[dict[str, int]] = []
    # Answers come in another order, too, as from more workers.
    for order in (1, -1):
        monkeypatch.setattr("whence.compiler.tune.LocalPool", lambda order=order: replies(order))
        (report,) = whence.tune(model, tmp_path, trials=20, threads=1, budget=None, seed=3)
        assert report.won[0].outcome is not None
        decided.append(report.won[0].outcome.decisions)
    assert decided[0] == decided[1]
    assert pools[0].jobs
    assert not pools[1].jobs


def test_workers_change_nothing(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    decided: list[Any] = []
    for number, order in enumerate((1, -1)):
        monkeypatch.setattr("whence.compiler.tune.LocalPool", lambda order=order: Replies(order))
        (report,) = whence.tune(model, tmp_path / str(number), trials=20, threads=1, budget=None, seed=3)
        decided.append([result.outcome for result in report.results])
    assert decided[0] == decided[1]


@pytest.mark.parametrize("flaw", ["off", "segfault", "hang"])
def test_what_is_wrong_crashes_or_hangs_is_never_kept(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flaw: str
):
    bad: list[dict[str, int]] = []
    real = tuner.build

    def build(task: Task, decided: Sequence[Mapping[str, int]]) -> list[Code | Failed | int]:
        built = real(task, decided)
        for position, (decisions, code) in enumerate(zip(decided, built, strict=True)):
            if isinstance(code, Code):
                bad[:] = bad or [dict(decisions)]
                if decisions == bad[0]:
                    built[position] = flawed(task, decisions, flaw)
        return built

    monkeypatch.setattr(tuner, "build", build)
    (report,) = whence.tune(model, tmp_path, trials=6, threads=1, budget=None, timeout=2)
    kinds = {"off": "wrong", "segfault": "crash", "hang": "hang"}
    (result,) = [result for result in report.results if result.outcome is not None]
    assert result.outcome is not None
    assert bad
    # Candidates of the same code fail with it.
    assert bad[0] in [decisions for decisions, _ in result.outcome.failed]
    assert {one.kind for _, one in result.outcome.failed} == {kinds[flaw]}
    kept = [row["whence"]["decisions"] for row in lines(report.records)]
    assert kept
    assert bad[0] not in kept
    assert kinds[flaw] in report.text()


def flawed(task: Task, decisions: Mapping[str, int], flaw: str) -> Code:
    """The kernel with other code in its place: a planted one's, or the right one with an element off."""
    if flaw == "segfault":
        return planted(flaw)
    from whence.lowering.kernel.draft import draft_kernel
    from whence.lowering.llvm_to_native.compile import compile_text

    if flaw == "hang":
        body = "entry:\n br label %again\nagain:\n %x = load volatile i8, ptr %a\n br label %again"
        return Code("hang", compile_text(f"define void @hang(ptr %a) {{\n{body}\n}}", task.target).object)
    assert isinstance(task.func, FuncOp)
    draft = draft_kernel(task.func, task.target, "f" * 64, "", decisions)
    # A bias is subtracted.
    text = draft.llvm.replace(" fadd ", " fsub ", 1)
    assert text != draft.llvm
    return Code(draft.symbol, compile_text(text, task.target).object, draft.workspace)


def test_a_budget_that_is_short_is_kept_and_leaves_records(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """On a machine where measuring one candidate takes three seconds of a clock that only measuring moves."""
    seconds = [0.0]

    class Slow(Replies):
        def measure(self, jobs: Sequence[Job]) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
            seconds[0] += 3 * sum(len(job.candidates) for job in jobs)
            return super().measure(jobs)

    states: list[Any] = []
    clock = Clock(seconds)
    monkeypatch.setattr("whence.compiler.tune.LocalPool", Slow)
    monkeypatch.setattr("whence.compiler.tune.time", clock)
    monkeypatch.setattr(tuner, "time", clock)
    (report,) = whence.tune(model, tmp_path, trials=96, threads=1, budget=60, progress=states.append)
    before = ["compiling", "looking for choices", "measuring the machine", "measuring the defaults of 1 kernel"]
    assert [state.stage for state in states[:4]] == before
    assert states[0].elapsed == 0
    assert 3 * 8 <= report.elapsed <= 120
    assert {line["whence"]["kind"] for line in lines(tmp_path / "records.jsonl")} == {"trial", "winner"}
    (result,) = report.results
    assert result.outcome is not None
    # Candidates of the same code take no time; without a budget all 96 would be tried.
    assert 8 <= result.outcome.measured < 96
    seconds[0] = 0
    (report,) = whence.tune(model, tmp_path / "again", trials=96, threads=1, budget=1, progress=states.append)
    assert report.results[0].reason == "no time was left"
    assert "1 kernel, no time was left" in report.text()
    assert len(lines(tmp_path / "again" / "records.jsonl")) == 1


@dataclass
class Clock:
    """A clock of seconds that a test sets."""

    seconds: list[float]

    def monotonic(self) -> float:
        return self.seconds[0]

    def perf_counter(self) -> float:
        self.seconds[0] += 0.001
        return self.seconds[0]


def test_a_killed_tuning_leaves_whole_lines_and_is_gone_on_with(model: Path, tmp_path: Path):
    script = (
        "import sys, whence; from whence.tuning import tuner; tuner._LEAST = -1.0;"
        "whence.tune(sys.argv[1], sys.argv[2], trials=400, threads=1, budget=None)"
    )
    path = tmp_path / "records.jsonl"
    with subprocess.Popen([sys.executable, "-c", script, str(model), str(tmp_path)]) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 8):
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    records = Records.load(path)
    assert records.skipped <= 1
    assert len(records) >= 7
    measured = len(lines(path)) if not records.skipped else len(records)
    (report,) = whence.tune(model, tmp_path, trials=16, threads=1, budget=None)
    assert report.measured == 16
    assert len(Records.load(path)) > measured
    # What was measured is there once.
    ways = [
        json.dumps([row["whence"][name] for name in ("kind", "workload", "decisions", "protocol")])
        for row in lines(path)
        if row["whence"]["kind"] == "trial"
    ]
    assert len(set(ways)) == len(ways)


def test_bad_wishes_are_one_sentence(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(PipelineError, match=r"tune: expected a budget of more than 0 seconds, got 0"):
        whence.tune(model, tmp_path, budget=0)
    (tmp_path / "file").write_text("")
    for words, text in (
        (["--budget", "0"], "argument --budget: expected a time of more than 0, such as 90s, 10m or 1h, got '0'"),
        (["-o", str(tmp_path / "file" / "x")], f"records {tmp_path / 'file' / 'x' / 'records.jsonl'}: expected a file"),
        (["--target", "llvm -mtriple=aarch64-linux-gnu"], "target: expected code that runs on this machine"),
        (["--scheduler", "tcp://127.0.0.1:1", "--target", "llvm"], "tune: expected no target, as the workers'"),
        (["--tls-key", "k"], "--tls-ca-file, --tls-cert, --tls-key: expected all three"),
    ):
        assert main(["tune", str(model), *words]) == 1
        told = capsys.readouterr().err
        assert text in told
        assert "Traceback" not in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_model_without_a_choice_says_so(tmp_path: Path):
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"], name="twice")],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    tiny = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(
        PipelineError, match=r"expected a model with kernels that could be made otherwise, got 1 kernel"
    ):
        whence.tune(tiny, tmp_path)
