"""How long it takes to import Whence, and to compile light ResNet-50 cold, with all kernels in the cache, and with the
whole model in it: in fresh processes.

`python benchmarks/compile_time.py OTHER [MODEL[:SHAPES] ..]` compares with another state of Whence, whose `src` folder
is OTHER: seconds of CPU, of all threads and processes, that compiling takes with an empty kernel cache and with a full
one, in turns. Models are paths or names of networks; a model of open sizes is compiled for all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROUNDS = 3
OURS = Path(__file__).parents[1] / "src"
_IMPORT = "import time; s = time.perf_counter(); import whence; print(time.perf_counter() - s)"
COMPILE = """
import os, sys, whence
whence.compile("light_resnet50", threads=1, cache=sys.argv[1])
print(sum(os.times()[:4]))
"""
CPU = """
import os, sys, whence
model, _, shapes = sys.argv[1].partition(":")
before = sum(os.times()[:4])
whence.compile(model, threads=1, input_shapes=shapes or None)
print(sum(os.times()[:4]) - before)
"""


def seconds(code: str, cache: str, *arguments: str, source: Path = OURS) -> float:
    """What `code` prints, run in a fresh interpreter with the kernel cache in `cache`."""
    environment = {**os.environ, "WHENCE_CACHE_DIR": cache, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    print(f"import whence: {median(seconds(_IMPORT, '') for _ in range(ROUNDS)):.3f} s")
    times: dict[str, list[float]] = {"cold": [], "kernels from the cache": [], "read whole": []}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            times["cold"].append(seconds(COMPILE, cache, "kernels"))
            times["kernels from the cache"].append(seconds(COMPILE, cache, "kernels"))
            seconds(COMPILE, cache, "model")
            times["read whole"].append(seconds(COMPILE, cache, "model"))
    text = ", ".join(f"{what} {median(measured):.2f} s" for what, measured in times.items())
    print(f"light ResNet-50, CPU of all threads and processes, imports included: {text}")


def compare(other: Path, models: list[str]) -> None:
    """Prints seconds of CPU per model, of the other state and of this one."""
    sources = (other, OURS)
    for model in models or ["light_squeezenet", "light_resnet50"]:
        times: dict[tuple[str, Path], list[float]] = {}
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
                for what in ("cold", "from the cache"):
                    for source, cache in zip(sources, (one, two), strict=True):
                        times.setdefault((what, source), []).append(seconds(CPU, cache, model, source=source))
        for what in ("cold", "from the cache"):
            before, after = (median(times[what, source]) for source in sources)
            print(f"{model}, {what}: {before:.2f} s before, {after:.2f} s now, {after / before:.2f}x")


if __name__ == "__main__":
    if sys.argv[1:]:
        compare(Path(sys.argv[1]), sys.argv[2:])
    else:
        main()
