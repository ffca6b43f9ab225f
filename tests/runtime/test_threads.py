"""The thread pool: every element once, whatever the size; nesting, other threads, forks, signals and exits."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.link import link
from whence.lowering.llvm_to_native.target import Target, binding
from whence.lowering.llvm_to_native.thread_pool import pool_code, thread_pool
from whence.lowering.llvm_to_native.thread_pool_text import pool_text
from whence.runtime.program.cpus import available_cpus
from whence.runtime.program.program import Code
from whence.runtime.program.threads import ThreadPool, thread_count
from whence.support.errors import PipelineError

_COUNT = """
declare void @whence_parallel_for(ptr, ptr, ptr, i64)

; ctx = {ptr data, ptr pool, i64 inner}: data[i] += i + 1 for the range; atomic, to see an element done twice
define void @add(ptr %ctx, i64 %begin, i64 %end) {
entry:
  %data = load ptr, ptr %ctx
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [%begin, %entry], [%i1, %loop]
  %at = getelementptr i64, ptr %data, i64 %i
  %i1 = add i64 %i, 1
  atomicrmw add ptr %at, i64 %i1 monotonic
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

; for every index of the range a parallel loop of its own over all the data
define void @nest(ptr %ctx, i64 %begin, i64 %end) {
entry:
  %p.pool = getelementptr i64, ptr %ctx, i64 1
  %pool = load ptr, ptr %p.pool
  %p.inner = getelementptr i64, ptr %ctx, i64 2
  %inner = load i64, ptr %p.inner
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%i1, %loop]
  call void @whence_parallel_for(ptr %pool, ptr @add, ptr %ctx, i64 %inner)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @flat(ptr %pool, ptr %ctx, i64 %n) {
  call void @whence_parallel_for(ptr %pool, ptr @add, ptr %ctx, i64 %n)
  ret void
}

define void @nested(ptr %pool, ptr %ctx, i64 %n) {
  call void @whence_parallel_for(ptr %pool, ptr @nest, ptr %ctx, i64 %n)
  ret void
}
"""

Ints = npt.NDArray[np.int64]


def _object(text: str) -> bytes:
    return compile_text(text, Target.native()).object


@cache
def _linked() -> Code:
    imports = {"whence_parallel_for": pool_code().parallel_for}
    return link([_object(_COUNT)], ["flat", "nested"], imports)


_once = threading.Lock()


def _kernels() -> Code:
    with _once:  # or two threads would link, and the code of one would go
        return _linked()


def _run(pool: ThreadPool, data: Ints, n: int, symbol: str = "flat") -> None:
    handle = pool.handle
    ctx = np.array([data.ctypes.data, handle, data.size], np.int64)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(_kernels()[symbol])
    function(handle or None, ctx.ctypes.data, n)


def _wanted(n: int) -> Ints:
    return np.arange(1, n + 1, dtype=np.int64)


def _tasks() -> set[str]:
    return set(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 9])
def test_every_element_is_done_once(threads: int):
    pool = thread_pool(threads)
    for n in (0, 1, 2, 3, 7, 8, 63, 64, 65, 1000, 20_001):
        data = np.zeros(n, np.int64)
        for _ in range(20):
            _run(pool, data, n)
        np.testing.assert_array_equal(data, 20 * _wanted(n))


def test_one_thread_needs_no_pool_and_pools_are_shared_by_size():
    assert thread_pool(1).handle == 0
    assert thread_pool(2).handle == thread_pool(2).handle != thread_pool(3).handle


def test_a_worker_really_runs():
    """With two threads, two bodies that wait for each other both get through."""
    meet = threading.Barrier(2, timeout=20)
    met: list[int] = []

    def body(_ctx: int | None, begin: int, end: int) -> None:
        meet.wait()
        met.extend(range(begin, end))

    pool = thread_pool(2)
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(body)
    address = pool_code().parallel_for
    loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
    time.sleep(0.01)  # the worker is asleep by now, and must be woken
    loop(pool.handle, ctypes.cast(callback, ctypes.c_void_p).value, None, 2)
    assert sorted(met) == [0, 1]


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("extent", [5, 36, 1000])
def test_chunks_become_short_towards_the_end(extent: int, threads: int):
    """A thread that comes late, or one chunk more than threads divide, costs a short chunk and not one like all."""
    chunks: list[tuple[int, int]] = []

    def body(_ctx: int | None, begin: int, end: int) -> None:
        chunks.append((begin, end))

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(body)
    address = pool_code().parallel_for
    loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
    loop(thread_pool(threads).handle, ctypes.cast(callback, ctypes.c_void_p).value, None, extent)
    chunks.sort()
    begins, ends = zip(*chunks, strict=True)
    assert (begins, ends) == ((0, *ends[:-1]), (*begins[1:], extent))
    least = max(1, extent // (16 * threads))
    assert [end - begin for begin, end in chunks] == [
        min(max((extent - begin) // (2 * threads), least), extent - begin) for begin in begins
    ]
    shares = [0] * threads
    for begin, end in chunks:
        shares[shares.index(min(shares))] += end - begin
    assert max(shares) - min(shares) <= least


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_nested_loops_run_serially(threads: int):
    data = np.zeros(100, np.int64)
    _run(thread_pool(threads), data, 50, "nested")
    np.testing.assert_array_equal(data, 50 * _wanted(100))


def test_python_threads_share_a_pool():
    pool, n, rounds = thread_pool(2), 501, 300
    arrays = [np.zeros(n, np.int64) for _ in range(4)]

    def work(data: Ints) -> None:
        for _ in range(rounds):
            _run(pool, data, n)

    threads = [threading.Thread(target=work, args=(data,)) for data in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for data in arrays:
        np.testing.assert_array_equal(data, rounds * _wanted(n))


def test_close_joins_the_workers_and_the_next_use_restarts_them():
    pool = thread_pool(5)
    before = _tasks()
    handle = pool.handle
    workers = _tasks() - before
    assert len(workers) == 4
    pool.close()
    deadline = time.monotonic() + 20  # a joined thread may stay in the list for a moment
    while workers & _tasks():
        assert time.monotonic() < deadline
    data = np.zeros(1000, np.int64)
    ctx = np.array([data.ctypes.data, handle, data.size], np.int64)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(_kernels()["flat"])
    function(handle, ctx.ctypes.data, 1000)  # the old handle is still safe
    np.testing.assert_array_equal(data, _wanted(1000))
    before = _tasks()
    _run(pool, data, 1000)
    assert len(_tasks() - before) == 4
    np.testing.assert_array_equal(data, 2 * _wanted(1000))
    pool.close()


def test_close_while_another_thread_runs_loops():
    pool, n = thread_pool(3), 501
    data, stop, rounds = np.zeros(n, np.int64), threading.Event(), 0

    def work() -> None:
        nonlocal rounds
        while not stop.is_set() or rounds < 100:
            _run(pool, data, n)
            rounds += 1

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(50):
        pool.close()
    stop.set()
    thread.join()
    np.testing.assert_array_equal(data, rounds * _wanted(n))


def test_size_comes_from_the_argument_then_the_environment_then_the_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_NUM_THREADS", "3")
    assert thread_count() == 3
    assert thread_count(2) == 2
    monkeypatch.delenv("WHENCE_NUM_THREADS")
    assert thread_count() == min(available_cpus(), 1024)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "99999"])
def test_a_bad_size_in_the_environment(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("WHENCE_NUM_THREADS", text)
    with pytest.raises(PipelineError, match=f"WHENCE_NUM_THREADS: expected a whole number .* got '{text}'"):
        thread_pool()


def test_a_bad_size_argument():
    with pytest.raises(PipelineError, match="threads: expected a whole number from 1 to 1024, got 0"):
        thread_pool(0)


_PRELUDE = """
import ctypes, importlib.util, os, signal, sys, threading
import numpy as np
spec = importlib.util.spec_from_file_location("kit", {file!r})
kit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kit)
pool = kit.thread_pool(3)
data = np.zeros(1000, np.int64)
def run():
    kit._run(pool, data, 1000)
run()
"""


def _prelude() -> str:
    return _PRELUDE.format(file=__file__)


def _script(body: str) -> str:
    """What a script prints that starts with a running pool; it must end by itself, with status 0."""
    source = _prelude() + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_forked_child_makes_workers_of_its_own():
    out = _script("""
        child = os.fork()
        if child == 0:
            assert len(os.listdir("/proc/self/task")) == 1
            for _ in range(100):
                run()
            assert len(os.listdir("/proc/self/task")) == 3
            assert (data == 101 * np.arange(1, 1001)).all()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        run()
        assert (data == 2 * np.arange(1, 1001)).all()
        print("fine")
    """)
    assert out == "fine\n"


def test_a_fork_while_another_thread_is_in_a_loop():
    out = _script("""
        stop = threading.Event()
        def busy():
            other = np.zeros(1000, np.int64)
            while not stop.is_set():
                kit._run(pool, other, 1000)
        thread = threading.Thread(target=busy)
        thread.start()
        for _ in range(10):
            child = os.fork()
            if child == 0:
                run()
                os._exit(0 if (data == 2 * np.arange(1, 1001)).all() else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        thread.join()
        print("fine")
    """)
    assert out == "fine\n"


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "os._exit(0)"])
def test_exit_with_sleeping_workers(end: str):
    assert _script(f"print('bye', flush=True)\n{end}\n") == "bye\n"


def test_exit_while_a_daemon_thread_runs_loops():
    out = _script("""
        def busy():
            while True:
                run()
        threading.Thread(target=busy, daemon=True).start()
        print("bye", flush=True)
    """)
    assert out == "bye\n"


def test_an_exit_handler_may_still_run_loops():
    """One that was registered before the pool's own runs after it."""
    done = subprocess.run(
        [sys.executable, "-c", "import atexit\natexit.register(lambda: late())\n" + _prelude() + _LATE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


_LATE = """
def late():
    before = kit._tasks()
    run()
    print((data == 2 * np.arange(1, 1001)).all() and kit._tasks() <= before)
"""


def test_signals_reach_python_and_leave_the_pool_alone():
    """Signals go to the process all the time; none may be lost to a worker, or end a loop early."""
    seen: list[int] = []
    data, rounds = np.zeros(10_000, np.int64), 2000
    pool = thread_pool(4)
    previous = signal.signal(signal.SIGALRM, lambda number, _frame: seen.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        for _ in range(rounds):
            _run(pool, data, data.size)
        deadline = time.monotonic() + 20
        while not seen and time.monotonic() < deadline:
            time.sleep(0.002)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert seen
    np.testing.assert_array_equal(data, rounds * _wanted(data.size))


@pytest.mark.parametrize(
    ("system", "machine", "triple"),
    [
        ("linux", "x86_64", "x86_64-unknown-linux-gnu"),
        ("linux", "aarch64", "aarch64-unknown-linux-gnu"),
        ("linux", "riscv64", "riscv64-unknown-linux-gnu"),
        ("darwin", "arm64", "arm64-apple-darwin"),
    ],
)
def test_the_pool_compiles_for_other_systems(system: str, machine: str, triple: str):
    llvm = binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple).create_target_machine(reloc="pic", codemodel="default")
    text = target.emit_assembly(llvm.parse_assembly(pool_text(system, machine)))
    assert "whence_parallel_for" in text
    assert ("pthread_create" in text) == (system == "linux")
    assert ("\tyield" in text) == (machine == "aarch64")


def test_without_workers_loops_run_serially():
    library = link([_object(pool_text("win32", "AMD64"))], ["whence_parallel_for"])
    seen: list[tuple[int, int]] = []

    def body(_ctx: int | None, begin: int, end: int) -> None:
        seen.append((begin, end))

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(body)
    loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    loop(library["whence_parallel_for"])(None, ctypes.cast(callback, ctypes.c_void_p).value, None, 5)
    assert seen == [(0, 5)]
