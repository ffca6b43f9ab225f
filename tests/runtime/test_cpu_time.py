"""Times of kernel calls: the CPU time of the threads that work on them, and of nothing else."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest

import whence
from whence import relay
from whence.contrib.debugger.debug_executor import GraphModuleDebug
from whence.lowering.llvm_to_native.thread_pool import pool_code, thread_pool
from whence.runtime.program.executor import Native, Runner
from whence.runtime.program.threads import ThreadPool
from whence.runtime.program.timing import Timing

X = np.ones((8, 8), np.float32)


def softmax_twice() -> relay.IRModule:
    x = relay.var("x", shape=(8, 8))
    return relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.softmax(x))))


def loop(pool: ThreadPool, body: Callable[[int, int], None], n: int) -> None:
    """Run a Python function in a loop of the pool."""

    def part(context: int | None, begin: int, end: int) -> None:
        body(begin, end)

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(part)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    run = kind(pool_code().parallel_for)
    run(pool.handle or None, ctypes.cast(callback, ctypes.c_void_p).value, None, n)


def work(seconds: float) -> float:
    """Work for so much CPU time; return it."""
    start = time.thread_time()
    while (worked := time.thread_time() - start) < seconds:
        pass
    return worked


def worked_and_clocked(share: Callable[[bool], float]) -> tuple[float, float]:
    """The CPU seconds that two threads worked, each in its part of a loop, and those of the clock.

    share: the seconds that the caller is to work, or the worker.
    """
    meet, caller, worked = threading.Barrier(2, timeout=20), threading.get_ident(), list[float]()

    def body(begin: int, end: int) -> None:
        meet.wait()
        worked.append(work(share(threading.get_ident() == caller)))

    pool = thread_pool(2)
    with pool.clock() as clock:
        start = clock()
        loop(pool, body, 2)
        clocked = clock() - start
    assert len(worked) == 2
    return sum(worked), clocked


def no_time(*arguments: object) -> float:
    """In the place of what a call costs."""
    return 0.0


def test_the_work_of_workers_counts():
    worked, clocked = worked_and_clocked(lambda caller: 0.02)
    assert worked <= clocked < worked + 0.01


@pytest.mark.parametrize("idle", [True, False], ids=["caller", "worker"])
def test_waiting_for_other_threads_does_not_count(idle: bool):
    worked, clocked = worked_and_clocked(lambda caller: 0.0 if caller == idle else 0.03)
    assert worked <= clocked < worked + 0.01


@pytest.mark.parametrize("threads", [1, 2])
def test_time_without_a_processor_does_not_count(threads: int):
    pool = thread_pool(threads)
    start = time.perf_counter()
    with pool.clock() as clock:
        before = clock()
        loop(pool, lambda begin, end: time.sleep(0.03), 2)
        clocked = clock() - before
    assert time.perf_counter() - start >= 0.03
    assert clocked < 0.015


def test_no_clock_is_read_unless_somebody_takes_times():
    pool = thread_pool(2)
    with pool.clock(lambda: 0.0) as clock:
        before = clock()
    loop(pool, lambda begin, end: None, 64)
    with pool.clock(lambda: 0.0) as clock:
        assert clock() == before
        for _ in range(100):
            loop(pool, lambda begin, end: None, 64)
        assert clock() != before


def test_calling_does_not_count(monkeypatch: pytest.MonkeyPatch):
    """Kernels that do nothing take none of a microsecond, which a call takes."""
    executable = whence.compile(softmax_twice(), threads=1)
    spin = thread_pool(1).code.spin
    idle = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(spin)

    def idling(*arguments: object) -> Native:
        return idle, [None] * 4

    monkeypatch.setattr(Runner, "_native", idling)
    taken = executable.times({"x": X}, repeat=50).calls
    monkeypatch.setattr(Runner, "_idle", no_time)
    assert max(taken) < 0.5 * min(executable.times({"x": X}, repeat=50).calls)


def test_a_call_that_sleeps_takes_no_time(monkeypatch: pytest.MonkeyPatch):
    executable = whence.compile(softmax_twice(), threads=1)

    def asleep(*arguments: object) -> Native:
        return (lambda: time.sleep(0.02)), []

    monkeypatch.setattr(Runner, "_native", asleep)
    times = executable.times({"x": X}, repeat=2)
    assert len(times.calls) == 2
    assert max(times.calls) < 0.01


@contextmanager
def steps(pool: ThreadPool) -> Generator[Callable[[], float]]:
    """A clock that moves by a second whenever it is read."""
    reads = count()
    yield lambda: float(next(reads))


def test_all_times_of_calls_are_by_the_clock_of_the_pool(monkeypatch: pytest.MonkeyPatch):
    executable, lib = whence.compile(softmax_twice()), relay.build(softmax_twice())
    debug = GraphModuleDebug(lib["debug_create"]("default", whence.cpu()))
    machine = relay.profiler_vm.VirtualMachineProfiler(relay.vm.compile(softmax_twice()))
    monkeypatch.setattr(ThreadPool, "clock", steps)
    assert executable.times({"x": X}, repeat=3).calls == (0.0, 0.0)  # as long as calls that do nothing
    monkeypatch.setattr(Runner, "_idle", no_time)
    assert executable.times({"x": X}, repeat=3).calls == (1.0, 1.0)
    assert executable.profile({"x": X}, 2).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    seconds: list[float] = []
    executable.runner.walk({"x": X}, thread_pool(1), lambda call, taken, outputs: seconds.append(taken))
    assert seconds == [1.0, 1.0]
    marks = np.zeros(1, np.int64)
    assert executable.runner.repeat({"x": X}, thread_pool(1), marks, lambda runs: runs < 5) == (5, [5.0, 5.0])
    debug.set_input("x", X)
    assert debug.run_individual(number=4, repeat=2) == [[0.0, 0.0], [0.25, 0.25], [0.25, 0.25]]
    report = debug.profile(x=X)
    assert [call["Duration (us)"] for call in report.calls] == [1e6, 1e6]
    assert report.device_metrics["CPU"]["Duration (us)"] == 5e6
    assert report.configuration["Clock"] == "CPU time of all threads"
    assert [call["Duration (us)"] for call in machine.profile(X).calls] == [1e6, 1e6]


def test_other_times_are_by_the_clock_on_the_wall():
    result = Timing(number=1, repeat=2).measure(lambda: time.sleep(0.01))
    assert result.min >= 0.01
