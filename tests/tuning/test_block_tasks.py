"""Kernels of blocks that stay as they are written are tuned: measured beside themselves, and recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from written_kernels import scan

import whence
from whence.kernels.building import parsed_prim_func
from whence.kernels.tuning import tune_prim_func
from whence.lowering.llvm_to_native.target import Target
from whence.support.errors import PipelineError
from whence.tuning.block_tasks import block_task
from whence.tuning.builder import build
from whence.tuning.jobs import Code, Failed
from whence.tuning.records import Records

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
    assert "times as fast as written, of 3 measured" in str(again)


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
