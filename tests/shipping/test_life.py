"""Loaded models in processes: threads, forks, interrupts, exits, and that nothing stays when they go."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence import relay
from whence.runtime import load_module

Array = NDArray[Any]
KINDS = ("tar", "so", "o")


def mappings() -> int:
    """How many mappings this process has, but for those of allocators."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum("r-x" in line or "net." in line for line in map(str, lines))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_stays_of_a_model_that_is_let_go(kind: str, files: dict[str, Path], image: Array, tmp_path: Path):
    path = tmp_path / files[kind].name

    def cycle() -> None:
        # Another file each time: the system opens one library only once.
        path.unlink(missing_ok=True)
        path.write_bytes(files[kind].read_bytes())
        module = load_module(path, threads=2)
        module(image)
        module["default"]().run(x=image)

    cycle()
    gc.collect()
    threads, before = len(os.listdir("/proc/self/task")), mappings()
    gc.disable()  # it all goes at once, without a collector
    try:
        for _ in range(30):
            cycle()
    finally:
        gc.enable()
    assert mappings() <= before
    assert len(os.listdir("/proc/self/task")) <= threads


def test_workers_end_before_their_library_in_whatever_order_garbage_goes(files: dict[str, Path], image: Array):
    """What refers to itself goes all at once."""
    script = (
        "import gc, sys, numpy as np\n"
        "from whence.runtime import load_module\n"
        "module = load_module(sys.argv[1], threads=2)\n"
        "module(np.load(sys.argv[2]))\n"
        "module._linked.code.alive.held_by = [module, module._linked.code.alive]\n"
        "del module\n"
        "gc.collect()\n"
        "print('gone')\n"
    )
    place = files["so"].with_suffix(".npy")
    np.save(place, image)
    done = subprocess.run(
        [sys.executable, "-c", script, files["so"], place], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "gone\n"), done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_threads_share_a_model(kind: str, files: dict[str, Path], reference: dict[str, Array], image: Array):
    module = load_module(files[kind], threads=2)
    factors = [float(2**k) for k in range(8)]
    alone = [module(image * np.float32(factor)) for factor in factors]
    barrier = threading.Barrier(len(factors))

    def work(index: int) -> bool:
        barrier.wait()
        scaled = image * np.float32(factors[index])
        return all(np.array_equal(a, b) for _ in range(30) for a, b in zip(module(scaled), alone[index], strict=True))

    with ThreadPoolExecutor(len(factors)) as workers:
        assert all(workers.map(work, range(len(factors))))
    np.testing.assert_allclose(alone[0][1], reference["a"], rtol=1e-4, atol=1e-4)


def test_a_fork_goes_on(files: dict[str, Path], image: Array):
    module = load_module(files["tar"], threads=2)
    expected = module(image)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if not child:
        same = all(np.array_equal(a, b) for a, b in zip(module(image), expected, strict=True))
        other = load_module(files["so"], threads=2)(image)
        os._exit(0 if same and len(other) == 2 else 1)
    deadline = time.monotonic() + 20
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.005)
    if found == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert found == (child, 0)


_BUSY = """
import signal, sys, threading
import numpy as np
from whence import relay
from whence.runtime import load_module
modules = [load_module(path, threads=2) for path in sys.argv[2:]]
x = np.ones((1, 3, 32, 32), np.float32)
def forever(module):
    while True:
        module(x)
for module in modules:
    threading.Thread(target=forever, args=(module,), daemon=True).start()
modules[0](x)
if sys.argv[1] == "wait":
    # Where tests run in the background, interrupts are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("running", flush=True)
    forever(modules[0])
print("running")
"""


def test_the_interpreter_ends_while_models_run(files: dict[str, Path]):
    words = [sys.executable, "-c", _BUSY, "end", *files.values()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "running\n", "")


def test_an_interrupt_ends_a_process_that_runs_models(files: dict[str, Path]):
    words = [sys.executable, "-c", _BUSY, "wait", *files.values()]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT
    assert errors.strip().endswith("KeyboardInterrupt")


def test_a_library_is_the_file_that_has_its_name_now(tmp_path: Path):
    """Loaded by name, the system would take the one that is open for another that took its place."""
    path = tmp_path / "net.so"
    modules: list[Any] = []
    for factor in (2, 3):
        x = relay.var("x", shape=(4,), dtype="float32")
        function = relay.Function([x], relay.multiply(x, relay.const(float(factor))))
        relay.build(relay.IRModule.from_expr(function), "llvm").export_library(path)
        modules += [load_module(path, threads=2), load_module(path, threads=2)]
    ones = np.ones(4, np.float32)
    assert [module(ones)[0] for module in modules] == [2, 2, 3, 3]
    first, *rest = modules
    modules.clear()
    del first
    assert [module(ones)[0] for module in rest] == [2, 3, 3]
