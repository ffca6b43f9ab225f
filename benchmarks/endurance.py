"""What a service does to a model: threads for a minute, loading and unloading, death while a file is written, damage.

    python benchmarks/endurance.py [--seconds 60] [--loads 100] [--kills 10] [--flips 200]

Prints what was found and ends with 1 if something was wrong.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import whence
from whence.lowering.cache import KernelCache
from whence.reading.arrays import random_inputs
from whence.runtime import load_module
from whence.support.errors import WhenceError

THREADS = 8
MODEL = "light_squeezenet"


def resident() -> float:
    """MiB of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def hammer(executable: Any, seconds: float) -> str:
    """`THREADS` threads call one executable, each with an input of its own, and compare every bit."""
    feeds = [random_inputs(executable.inputs, seed) for seed in range(THREADS)]
    expected = [executable.run(feed) for feed in feeds]
    runs, wrong = [0] * THREADS, [0] * THREADS
    end = time.monotonic() + seconds

    def work(index: int) -> None:
        while time.monotonic() < end:
            found = executable.run(feeds[index])
            runs[index] += 1
            wrong[index] += any(not np.array_equal(found[name], array) for name, array in expected[index].items())

    for _ in range(3):
        executable.run(feeds[0])
    threads = [threading.Thread(target=work, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    time.sleep(min(5.0, seconds / 4))
    before = resident()
    for thread in threads:
        thread.join(seconds + 60)
    stuck = sum(thread.is_alive() for thread in threads)
    grown = 100 * (resident() / before - 1)
    print(
        f"{THREADS} threads, {seconds:.0f} s: {sum(runs)} runs, {sum(wrong)} wrong, {stuck} stuck, RSS {grown:+.1f} %"
    )
    return "threads" if sum(wrong) or stuck or grown > 5 else ""


def reload(path: Path, expected: Any, feed: Any, loads: int) -> str:
    """Load, run, unload."""
    before = resident()
    for number in range(loads):
        if number == loads // 5:
            gc.collect()
            before = resident()
        module = load_module(path)
        if any(not np.array_equal(array, expected[name]) for name, array in module.run(feed).items()):
            return f"loads of {path.suffix}"
        del module
    after = resident()
    print(f"{loads} loads of a {path.suffix}: {before:.1f} MiB in memory at first, {after:.1f} in the end")
    return f"loads of {path.suffix}" if after > 1.05 * before else ""


_EXPORT = """
import sys
from whence.executables.executable import Executable
from whence.executables.restoring import read_artifact
executable = Executable(read_artifact(sys.argv[1]))
while True:
    executable.export_library(sys.argv[2])
    print("one", flush=True)
"""


def kill(path: Path, folder: Path, kills: int) -> str:
    """Exports over a file that are killed somewhere: the file is always whole."""
    target, rng = folder / "killed.tar", random.Random(0)
    left = 0
    for _ in range(kills):
        target.unlink(missing_ok=True)
        with subprocess.Popen([sys.executable, "-c", _EXPORT, path, target], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            start = time.monotonic()
            process.stdout.readline()
            time.sleep(2 * rng.random() * (time.monotonic() - start))
            process.send_signal(signal.SIGKILL)
        for found in folder.glob(".killed.tar*"):
            left += 1
            found.unlink()
        load_module(target)
    print(f"{kills} exports killed: each time a whole file was there, {left} times an unfinished one beside it")
    return ""


def damage(path: Path, folder: Path, flips: int) -> str:
    """A byte changed somewhere, again and again."""
    data, rng = path.read_bytes(), random.Random(1)
    changed = folder / f"damaged{path.suffix}"
    told = 0
    for _ in range(flips):
        copy = bytearray(data)
        copy[rng.randrange(len(copy))] ^= rng.randrange(1, 256)
        changed.write_bytes(copy)
        try:
            load_module(changed)
        except WhenceError:
            told += 1
    print(f"{path.suffix}: {told} of {flips} changed bytes told")
    return f"damage of {path.suffix}" if told != flips else ""


def damage_cache(folder: Path, flips: int) -> str:
    """A byte changed in every file of the kernel cache: results are the same, compiled anew."""
    rng = random.Random(2)
    os.environ["WHENCE_CACHE_DIR"] = str(folder / "cache")
    first = whence.compile(MODEL)
    feed = random_inputs(first.inputs, 0)
    expected = first.run(feed)
    wrong = done = 0
    while done < flips:
        for path in (folder / "cache").iterdir():
            if path.is_file() and len(path.name) == 64:
                data = bytearray(path.read_bytes())
                data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
                path.write_bytes(data)
                done += 1
                wrong += KernelCache().get(path.name) is not None
    found = whence.compile(MODEL).run(feed)
    wrong += any(not np.array_equal(found[name], array) for name, array in expected.items())
    print(f"cache: {done} changed bytes, {wrong} believed or wrong")
    return "cache" if wrong else ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--loads", type=int, default=100)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--flips", type=int, default=200)
    args = parser.parse_args()
    compiled = whence.compile(MODEL)
    feed = random_inputs(compiled.inputs, 0)
    expected = compiled.run(feed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / f"net{suffix}" for suffix in (".tar", ".so", ".o")]
        for path in files:
            compiled.export_library(path)
        wrong = [hammer(compiled, args.seconds / 2), hammer(load_module(files[0]), args.seconds / 2)]
        wrong += [reload(path, expected, feed, args.loads) for path in files]
        wrong += [damage(path, folder, args.flips) for path in files]
        wrong += [kill(files[0], folder, args.kills), damage_cache(folder, args.flips)]
    found = [what for what in wrong if what]
    print("wrong: " + ", ".join(found) if found else "all right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
