"""Jobs as bytes, outcomes as JSON, intervals of ratios."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from planted_kernels import QUICK, product_job

from whence.runtime.loading.measuring_slot import Slot
from whence.runtime.loading.outcomes import JobHead, outcomes_of
from whence.runtime.loading.package import Package
from whence.runtime.loading.sealed import unsealed
from whence.support.codec import JSON
from whence.support.errors import FrontendError, PipelineError
from whence.tuning.jobs import Collection, Failed, Measured, Part, parts
from whence.tuning.machines import machine_here, target_of

_WITHOUT_COMPILER = """
import sys
sys.path[:] = sys.argv[1:]
sys.modules.update(dict.fromkeys(["xdsl", "llvmlite", "onnx", "lark", "tflite"]))
from whence.runtime.loading.measuring_slot import measure
job = sys.stdin.buffer.read()
print(measure(job, 0, 2).decode())
print(*sorted(name for name in sys.modules if name.startswith("whence.") and name.count(".") == 1))
"""


def test_what_a_job_holds_comes_back():
    job = product_job("good", "slow")
    package = Package.of(unsealed(memoryview(job.packed()), "job"), "job")
    assert [code.workspace for code in package.about(JobHead).codes] == [256] * 3
    assert bytes(package.part("code 2")) == job.candidates[1].object
    for array, given in zip(package.params(), job.inputs, strict=True):
        np.testing.assert_array_equal(array, given)
    assert job.packed() == product_job("good", "slow").packed()


@pytest.mark.parametrize("damaged", [b"", b"job", "cut", "changed"])
def test_only_a_whole_job_is_measured(damaged: bytes | str):
    whole = product_job("good").packed()
    if isinstance(damaged, str):
        damaged = whole[:-100] if damaged == "cut" else whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:]
    with pytest.raises(FrontendError, match="job: expected a job for measuring"):
        Slot().measured(damaged)


def test_the_measuring_side_needs_no_compiler():
    done = subprocess.run(
        [sys.executable, "-I", "-c", _WITHOUT_COMPILER, *sys.path],
        input=product_job("good", "off").packed(),
        capture_output=True,
        check=True,
    )
    outcomes, modules = done.stdout.decode().splitlines()
    assert '"ratios"' in outcomes
    assert '"wrong"' in outcomes
    assert modules.split() == ["whence.runtime", "whence.support"]


def test_a_job_of_another_machine_is_refused():
    facts = {**machine_here(), "processor": "Another 9000"}
    with closing(Slot()) as slot:
        (outcome,) = slot.measured(replace(product_job("good"), machine=facts).packed())
    assert isinstance(outcome, Failed)
    assert outcome.kind == "error"
    assert "expected kernels for" in outcome.why
    assert "got Another 9000" in outcome.why


def test_the_target_of_a_machine_is_what_it_says():
    here = machine_here()
    assert target_of(here).key == target_of({**here, "processor": "Another 9000"}).key
    unknown = {name: value for name, value in here.items() if name != "target"} | {"processor": "Another 9000"}
    with pytest.raises(PipelineError, match="expected a machine where the compiler is installed, got Another 9000"):
        target_of(unknown)


def test_outcomes_survive_as_json():
    outcomes = [Measured((1.0, 2.0, 1.5), 2e-3, 1e-3, 1), Failed("hang", "expected an end within 5 s")]
    assert outcomes_of(json.loads(JSON.text(outcomes))) == outcomes


def test_the_interval_is_that_of_the_sign_test():
    # Of Conover's table: the numbers of ratios left out at either end.
    for count, skipped in ((6, 0), (8, 0), (9, 1), (12, 2), (21, 5), (40, 13)):
        ratios = tuple(float(number) for number in range(count, 0, -1))
        measured = Measured(ratios, 1.0, 1.0)
        assert measured.interval == (1.0 + skipped, count - skipped)
        coins = sum(math.comb(count, heads) for heads in range(skipped + 1)) / 2**count
        assert coins <= 0.025 < coins + math.comb(count, skipped + 1) / 2**count
    assert Measured((2.0,) * 5, 1.0, 1.0).interval == (0.0, math.inf)
    assert Measured((3.0, 1.0, 2.0), 1.0, 1.0).ratio == 2.0


def test_jobs_are_shared_in_parts():
    jobs = [product_job(*["good"] * count, protocol=QUICK) for count in (10, 0, 3)]
    assert parts(jobs, 1) == [Part(0, 0, 10), Part(2, 0, 3)]
    assert parts(jobs, 2) == [Part(0, 0, 5), Part(0, 5, 10), Part(2, 0, 3)]
    assert parts(jobs, 8) == [Part(0, 0, 4), Part(0, 4, 8), Part(0, 8, 10), Part(2, 0, 3)]
    collection, fails = Collection(jobs), [Failed("crash", str(number)) for number in range(10)]
    assert collection.add(Part(0, 5, 10), fails[5:]) is None
    assert collection.add(Part(0, 0, 5), fails[:5]) == (0, tuple(fails))
