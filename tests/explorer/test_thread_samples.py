"""Samples of all threads that work on a model."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import whence
from whence import relay
from whence.explorer.hot import hot_lines
from whence.explorer.samples import CallSamples, Samples
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


def test_workers_are_sampled_where_they_work():
    x, w = relay.var("x", shape=(256, 512)), relay.const(np.ones((512, 512), np.float32))
    body = relay.tanh(relay.nn.dense(x, w))
    network = whence.compile(relay.IRModule.from_expr(relay.Function([x], body)), threads=2)
    inputs = {"x": np.ones((256, 512), np.float32)}
    samples = network.sample(inputs, 0.1, 1e-4)
    for _ in range(20):
        if samples.calls[0].helped:
            break
        samples = network.sample(inputs, 0.2, 1e-4)  # a busy machine has no second core for us
    (call,) = samples.calls
    assert 0 < call.helped < sum(call.runs.values())
    assert call.own == call.total - call.helped + call.missed
    assert sum(samples.lines(0).values()) == call.total
    assert sum(one.seconds for one in hot_lines(samples)) == pytest.approx(samples.seconds_of(0))
    assert samples.seconds_of(0) <= samples.seconds / samples.runs
    network.run(inputs)


def test_time_is_that_of_the_calling_thread():
    x = relay.var("x", shape=(4, 4))
    artifact = whence.compile(relay.IRModule.from_expr(relay.Function([x], relay.tanh(x)))).artifact
    calls = (CallSamples({5: 90}, 10, helped=50),)  # pyright: ignore[reportArgumentType]
    samples = Samples(artifact, calls, 50, 0, 10, 2.0)
    assert (samples.total, samples.own) == (100, 50)
    assert samples.seconds_of(0) == pytest.approx(0.5 * 2.0 / 10)


def test_sleeping_workers_are_sampled_and_live_on():
    pool = thread_pool(3)
    numbers = pool.workers()
    taken = 0
    for _ in range(30):
        with Sampler(2e-5, numbers) as sampler:
            time.sleep(2e-3)
        taken += len(sampler.others)
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


def test_a_tick_at_which_the_thread_waits_is_time_of_its_call():
    """Two calls with as many samples: the one in which nine ticks were missed as well takes ten times as long."""
    calls = (CallSamples(Counter({0: 1}), missed=9), CallSamples(Counter({0: 1})))
    samples = Samples(None, calls, 0, 9, 1, 1.1)  # pyright: ignore[reportArgumentType]
    assert samples.seconds_of(0) == pytest.approx(1.0)
    assert samples.seconds_of(1) == pytest.approx(0.1)
