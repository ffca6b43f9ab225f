"""Candidates measured by processes of this machine: right ones, wrong ones, and those that end or never do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from planted_kernels import QUICK, SIZE, planted, product_job

from whence.runtime.loading.measuring_slot import Slot
from whence.runtime.values.tensors import TensorSpec
from whence.support.errors import PipelineError
from whence.tuning.jobs import Failed, Measured, Outcome
from whence.tuning.local_pool import LocalPool
from whence.tuning.machines import machine_here

_ORPHAN = """
import sys
from planted_kernels import product_job
from whence.runtime.loading.measuring_slot import Slot
slot = Slot()
slot.measured(product_job("good").packed())
print(slot._process._child.pid, flush=True)
slot.measured(product_job("hang", protocol=product_job().protocol.__class__(seconds=600.0)).packed())
"""


def measured(job: bytes) -> list[Outcome]:
    with closing(Slot()) as slot:
        return slot.measured(job)


def kinds(outcomes: tuple[Outcome, ...] | list[Outcome]) -> list[str]:
    return [outcome.kind if isinstance(outcome, Failed) else "measured" for outcome in outcomes]


def test_each_flaw_is_found_and_the_candidates_after_it_are_measured():
    expected = {
        "good": ("measured", ""),
        "off": ("wrong", "output 0: 1 of 1000 elements differ: expected 0.0, got 0.125 at [7]"),
        "unwritten": ("wrong", "got nan at [0]"),
        "beyond": ("wrong", "writes beside output 0"),
        "before": ("wrong", "writes beside output 0"),
        "workspace": ("wrong", "writes beside the workspace"),
        "input": ("wrong", "changes input 0"),
        "weight": ("wrong", "changes input 1"),
        "positive": ("wrong", "output 0: "),
        "far": ("crash", "ended its process by SIGSEGV"),
        "segfault": ("crash", "ended its process by SIGSEGV"),
        "exit": ("crash", "ended its process with code 3"),
        "hang": ("hang", "expected an end within 2 s"),
        "slow": ("measured", ""),
    }
    with LocalPool() as pool:
        ((number, outcomes),) = pool.measure([product_job(*expected, protocol=replace(QUICK, seconds=2.0))])
    assert number == 0
    assert dict(zip(expected, kinds(outcomes), strict=True)) == {name: kind for name, (kind, _) in expected.items()}
    for outcome, (_, why) in zip(outcomes, expected.values(), strict=True):
        assert isinstance(outcome, Measured) or why in outcome.why


def test_times_are_taken_in_turns():
    protocol = replace(QUICK, pairs=7)
    with LocalPool() as pool:
        ((_, outcomes),) = pool.measure([product_job("slow", "good", protocol=protocol)])
    for outcome in outcomes:
        assert isinstance(outcome, Measured)
        assert len(outcome.ratios) == 7
        assert 0 <= outcome.disturbed <= 7
        assert outcome.interval[0] <= outcome.ratio <= outcome.interval[1]
        assert outcome.seconds > 0 < outcome.default_seconds


def test_outcomes_do_not_depend_on_the_slots():
    jobs = [product_job("good", "off", "good"), product_job("segfault", "good", "unwritten", "exit", "good", "good")]
    seen: list[dict[int, list[str]]] = []
    for slots in (1, 2):
        with LocalPool(slots) as pool:
            assert [machines.workers for machines in pool.machines()] == [slots]
            seen.append({number: kinds(outcomes) for number, outcomes in pool.measure(jobs)})
    assert seen[0] == seen[1]
    assert seen[0][1] == ["crash", "measured", "wrong", "crash", "measured", "measured"]


def test_a_bad_default_kernel_fails_all_candidates():
    for flaw, why in (("beyond", "writes beside output 0"), ("segfault", "SIGSEGV"), ("input", "changes input 0")):
        outcomes = measured(product_job("good", "good", default=flaw).packed())
        assert kinds(outcomes) == ["error", "error"]
        assert all(isinstance(outcome, Failed) and why in outcome.why for outcome in outcomes)


def test_code_that_cannot_be_linked_is_an_error_of_that_candidate():
    job = product_job("good", "good")
    broken = replace(job.candidates[0], symbol="nothing")
    (outcome, other) = measured(replace(job, candidates=(broken, job.candidates[1])).packed())
    assert isinstance(outcome, Failed)
    assert (outcome.kind, "defines 'nothing'" in outcome.why) == ("error", True)
    assert isinstance(other, Measured)


def test_weights_go_round_and_are_the_same_in_all_copies():
    cold = replace(QUICK, rotate_bytes=1 << 20)
    outcomes = measured(product_job("good", "off", "weight", "good", protocol=cold).packed())
    assert kinds(outcomes) == ["measured", "wrong", "wrong", "measured"]


def test_memory_that_is_not_to_be_had_is_an_error():
    job = product_job("good", protocol=replace(QUICK, rotate_bytes=8 << 30, memory_bytes=1 << 30))
    weight = np.ones((1 << 22,), np.float32)
    (outcome,) = measured(replace(job, inputs=(job.inputs[0], weight)).packed())
    assert isinstance(outcome, Failed)
    assert outcome.kind == "error"
    assert outcome.why.startswith("memory: expected no more than the 1073741824 bytes of the protocol, got Unable to")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "int32"])
def test_integers_are_equal_or_wrong(dtype: str):
    """The bits of the product stand for integers here: one bit more is wrong."""
    count = 4 * SIZE // np.dtype(dtype).itemsize
    job = replace(product_job("good", "off", "unwritten"), outputs=(TensorSpec("out", (count,), np.dtype(dtype)),))
    outcomes = measured(job.packed())
    assert kinds(outcomes) == ["measured", "wrong", "wrong"]


def test_kernels_of_several_threads_get_them():
    outcomes = measured(product_job("good", "off", protocol=replace(QUICK, threads=2)).packed())
    assert kinds(outcomes) == ["measured", "wrong"]


def test_who_stops_asking_ends_the_processes():
    job = product_job("hang", protocol=replace(QUICK, seconds=600.0))
    with LocalPool(2) as pool:
        results = pool.measure([product_job("good"), job])
        assert next(results)[0] == 0
        cast(Any, results).close()
        assert [kinds(outcomes) for _, outcomes in pool.measure([product_job("good")])] == [["measured"]]


def test_a_candidate_ends_with_the_process_that_measures():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    with subprocess.Popen(
        [sys.executable, "-c", _ORPHAN], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(0.2)
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 60
    while _runs(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not _runs(child)


def _runs(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_child_has_no_files_of_this_process(tmp_path: Path):
    with open(tmp_path / "secret", "w") as file:
        os.set_inheritable(file.fileno(), True)
        slot = Slot()
        slot.measured(product_job("good").packed())
        number = slot._process._child.pid  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
        files = [os.readlink(path) for path in Path(f"/proc/{number}/fd").iterdir()]
        slot.close()
    assert all(name.startswith("pipe:") or name == "/dev/null" for name in files), files


def _four(_process: int) -> set[int]:
    return set(range(4))


def _in_order(_cpus: set[int]) -> list[int]:
    return [0, 2, 1, 3]


def test_a_slot_has_processors_of_its_own_where_there_are_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", _four)
    monkeypatch.setattr("whence.runtime.loading.measuring_slot.available_cpus", lambda: 4)
    monkeypatch.setattr("whence.runtime.loading.measuring_slot.in_core_order", _in_order)

    def cpus(slots: int, threads: int) -> list[list[int]]:
        return [Slot(number, slots)._cpus(threads) for number in range(slots)]  # pyright: ignore[reportPrivateUsage]

    assert cpus(2, 1) == [[0], [2]]
    assert cpus(2, 2) == [[0, 2], [1, 3]]
    assert cpus(1, 4) == [[0, 2, 1, 3]]
    assert cpus(3, 2) == [[0, 2, 1, 3]] * 3


def test_a_pool_has_slots():
    with pytest.raises(PipelineError, match="local pool: expected at least 1 slot, got 0"):
        LocalPool(0)
    with LocalPool() as pool:
        assert list(pool.measure([product_job()])) == [(0, ())]
        assert pool.machines()[0].facts == machine_here()
    assert planted("good").workspace == 256
