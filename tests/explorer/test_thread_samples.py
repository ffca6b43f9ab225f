"""Samples of all threads that work on a model."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import whence
from whence import relay
from whence.explorer.hot import hot_lines
from whence.lowering.llvm_to_native.sampler import Sampler, can_sample
from whence.lowering.llvm_to_native.thread_pool import thread_pool

pytestmark = pytest.mark.skipif(not can_sample(), reason="no sampler for this system")


def test_workers_have_the_numbers_of_the_system():
    before = set(os.listdir("/proc/self/task"))
    pool = thread_pool(4)
    numbers = pool.workers()
    try:
        assert len(set(numbers)) == 3
        assert {str(number) for number in numbers} <= set(os.listdir("/proc/self/task"))
        assert os.getpid() not in numbers
        assert thread_pool(1).workers() == []
    finally:
        pool.close()
    assert not {str(number) for number in numbers} - before & set(os.listdir("/proc/self/task"))


def test_workers_are_sampled_where_they_work(monkeypatch: pytest.MonkeyPatch):
    x, w = relay.var("x", shape=(256, 512)), relay.const(np.ones((512, 512), np.float32))
    body = relay.tanh(relay.nn.dense(x, w))
    network = whence.compile(relay.IRModule.from_expr(relay.Function([x], body)), threads=2)
    inputs = {"x": np.ones((256, 512), np.float32)}
    samples = network.sample(inputs, 0.1, 1e-4)
    (call,) = samples.calls
    assert sum(samples.lines(0).values()) == call.total
    assert sum(one.seconds for one in hot_lines(samples)) == pytest.approx(samples.seconds_of(0))
    assert samples.seconds_of(0) == samples.timed[0] / samples.runs
    monkeypatch.setattr(Sampler, "samples", property(lambda sampler: np.empty((0, 2), np.int64)))
    for _ in range(20):
        (call,) = network.sample(inputs, 0.1, 1e-4).calls
        assert call.elsewhere == 0
        if call.total:
            break  # a busy machine has no second core for us
    assert call.total == sum(call.runs.values()) > 0


def test_sleeping_workers_are_sampled_and_live_on():
    pool = thread_pool(3)
    numbers = pool.workers()
    taken = 0
    for _ in range(30):
        with Sampler(2e-5, numbers) as sampler:
            time.sleep(2e-3)
        taken += sum(map(len, sampler.others))
    assert taken
    for number in numbers:
        assert Path(f"/proc/self/task/{number}").exists()
    pool.close()


_LATE = """
import signal, time
from whence.lowering.llvm_to_native.sampler import Sampler
with Sampler(1e-3) as sampler:
    time.sleep(0.02)
signal.raise_signal(signal.SIGPROF)
print("lives")
"""


def test_a_signal_after_the_sampler_ended_does_no_harm():
    """Of a signal that a thread has taken, and not yet handled, nothing tells: it may come at any time."""
    done = subprocess.run([sys.executable, "-c", _LATE], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "lives\n"), done.stderr
