"""Kernels of blocks that stay as they are written are tuned: measured beside themselves, and recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tuning_records import record
from written_kernels import scan

import whence
from whence import autotvm, te
from whence.dialects.tir import PrimFuncOp, prim_funcs
from whence.executables.restoring import read_artifact
from whence.kernels.building import build_prim_func, parsed_prim_func, scheduled
from whence.kernels.tuning import tune_prim_func
from whence.lowering.llvm_to_native.target import Target
from whence.script import from_source
from whence.support.context import PassContext
from whence.support.errors import PipelineError
from whence.tuning.block_tasks import block_task
from whence.tuning.builder import build
from whence.tuning.jobs import Code, Failed
from whence.tuning.records import Records, append
from whence.tuning.tasks import made_up

KERNEL = scan(12, 128)


def test_a_kernel_is_tuned_and_recorded(tmp_path: Path):
    tuned = tune_prim_func(KERNEL.func, tmp_path, budget=None, trials=3, threads=1, seed=2)
    outcome = tuned.result.outcome
    assert outcome is not None
    assert (outcome.measured, outcome.failed) == (3, [])
    # Vectors of a sum that is computed one by one: the worst of all candidates by rules is faster.
    assert tuned.ratio > 1.5
    assert tuned.decisions["rules"] == 1
    inputs = KERNEL.inputs(4)
    np.testing.assert_allclose(whence.build(tuned.func)(*inputs), KERNEL.reference(*inputs), rtol=1e-5, atol=1e-5)
    assert "schedule.knob" in str(tuned.schedule.sequence)
    records = Records.load(tmp_path, Target.native())
    assert {record.kind for record in records.records} == {"trial", "winner"}
    again = tune_prim_func(KERNEL.func, tmp_path, budget=None, trials=3, threads=1, seed=2)
    assert again.decisions == tuned.decisions
    assert "times as fast as the default, of 3 measured" in str(again)
    built = whence.build(KERNEL.func, tuned=tmp_path, threads=1)
    assert built.tuned["scan"].decisions == tuned.decisions
    assert built.tir == build_prim_func(tuned.func).tir


def test_candidates_of_the_same_loops_are_one():
    task = block_task(KERNEL.func, Target.native())
    unknown, written, by_rules = build(task, [{"rules": 1, "vectors.S": 7}, {"vectors.S": 4}, {"rules": 1}])
    assert isinstance(unknown, Failed)
    assert "knob 'vectors.S': expected one of" in unknown.why
    assert written == -1
    assert isinstance(by_rules, Code)


def test_kernels_that_rules_do_nothing_for_are_refused(tmp_path: Path):
    plain = parsed_prim_func("""
tir.prim_func @plain(%a: !tir.buffer<16xf32>, %b: !tir.buffer<16xf32>) outputs 1 {
  tir.for %i in 16 {
    %0 = tir.load %a[%i] : !tir.buffer<16xf32> -> f32
    tir.store %0, %b[%i] : f32, !tir.buffer<16xf32>
  }
}
""")
    with pytest.raises(PipelineError, match="tune: expected a kernel of blocks that rules can schedule, got @plain"):
        tune_prim_func(plain, tmp_path)
    with pytest.raises(PipelineError, match=r"tune: expected inputs .*, got float32\[3\]"):
        tune_prim_func(KERNEL.func, tmp_path, inputs=[np.zeros(3, np.float32)])


def _product() -> PrimFuncOp:
    """A kernel that strategies schedule by themselves, whose blocks rules can schedule, too."""
    script = """
@T.prim_func(s_tir=True)
def product(A: T.Buffer((16, 32)), B: T.Buffer((32, 64)), C: T.Buffer((16, 64))):
    for i, j, k in T.grid(16, 64, 32):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    return next(iter(prim_funcs(from_source(script).module)))


def _records(path: Path, func: PrimFuncOp, decisions: dict[str, int], **fields: object) -> Path:
    """A file with a made up winner about a kernel."""
    task = block_task(func, Target.native())
    append(path, [record(decisions=decisions, **({"workload": task.workload, "space": task.space.key} | fields))])
    return path


def test_builds_take_records_and_say_so(tmp_path: Path):
    decisions = {"rules": 1, "vectors.S": 4}
    path = _records(tmp_path / "a.jsonl", KERNEL.func, decisions)
    inputs = KERNEL.inputs(4)
    plain, built = whence.build(KERNEL.func), whence.build(KERNEL.func, tuned=path)
    assert plain.tuned == {}
    assert built.tuned["scan"].about.startswith("rules = 1, vectors.S = 4 (exact, 1.25 times as fast")
    assert "vector<" in built.tir
    assert "vector<" not in plain.tir
    np.testing.assert_allclose(built(*inputs), KERNEL.reference(*inputs), rtol=1e-5, atol=1e-5)
    with autotvm.apply_history_best(str(path)):
        assert whence.build(KERNEL.func).tir == built.tir
        assert "tir.for vectorized" in str(scheduled(KERNEL.func))
        # Neither other kernels nor the same one under options that shape code otherwise.
        assert whence.build(scan(12, 64).func).tuned == {}
        with PassContext(config={"tir.raise_kernels": False}):
            assert whence.build(KERNEL.func).tir == plain.tir
    built.export_library(tmp_path / "scan.tar")
    assert read_artifact(tmp_path / "scan.tar").tuned == built.tuned


def test_records_of_another_compiler_are_borrowed(tmp_path: Path):
    path = _records(tmp_path / "a.jsonl", KERNEL.func, {"rules": 1}, compiler="another")
    assert whence.build(KERNEL.func, tuned=path).tuned["scan"].source == "borrowed"
    other = _records(tmp_path / "b.jsonl", KERNEL.func, {"rules": 1}, compiler="another", space="another")
    assert whence.build(KERNEL.func, tuned=other).tuned == {}


def test_decisions_that_do_not_fit_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = _records(tmp_path / "a.jsonl", KERNEL.func, {"rules": 1, "vectors.S": 7})
    built = whence.build(KERNEL.func, tuned=path)
    assert built.tuned == {}
    assert built.tir == whence.build(KERNEL.func).tir
    assert "scan: what was tuned, rules = 1, vectors.S = 7, is left out: " in caplog.text


def test_the_default_of_what_strategies_schedule_is_theirs(tmp_path: Path):
    func = _product()
    task = block_task(func, Target.native())
    assert '"dense"' in str(task.blocks.decided({}).attributes["raised"])
    a, b = np.random.default_rng(3).integers(-4, 5, (2, 32, 64)).astype(np.float32)
    a = np.ascontiguousarray(a[:16, :32])
    default = _records(tmp_path / "a.jsonl", func, {})
    built = whence.build(func, tuned=default)
    assert built.tuned["product"].about == "the default (exact, nothing was faster when measured)"
    assert built.tir == whence.build(func).tir
    by_rules = whence.build(func, tuned=_records(tmp_path / "b.jsonl", func, {"rules": 1}))
    assert by_rules.tir != built.tir
    np.testing.assert_array_equal(by_rules(a, b), a @ b)
    np.testing.assert_array_equal(built(a, b), a @ b)


def test_records_that_no_build_takes_are_refused(tmp_path: Path):
    with pytest.raises(PipelineError, match=r"build: expected a file, a folder or Records as tuned, got 3"):
        whence.build(KERNEL.func, tuned=3)  # pyright: ignore[reportCallIssue, reportArgumentType]
    a = te.placeholder((4,), name="a")
    schedule = te.create_schedule(te.compute((4,), lambda i: a[i] + 1, name="b").op)
    with pytest.raises(PipelineError, match="build: expected no records of tuning beside a schedule"):
        whence.build(schedule, tuned=tmp_path)
    n = te.var("n")
    opened = te.placeholder((n,), name="a")
    result = te.compute((n,), lambda i: opened[i] + 1, name="b")
    assert whence.build(te.create_schedule(result.op), [opened, result]).tuned == {}
    with pytest.raises(PipelineError, match="tune: expected a budget of more than 0 seconds, got 0"):
        tune_prim_func(KERNEL.func, tmp_path, budget=0)


def test_inputs_that_are_made_up_may_be_indices():
    rng = np.random.default_rng(5)
    assert set(made_up((40,), np.dtype(np.int32), rng)) == {0, 1}
    floats = made_up((40,), np.dtype(np.float16), rng)
    assert floats.dtype == np.float16
    assert set(np.sign(floats).tolist()) == {-1, 1}
