"""A runtime with one network in a process of its own, and how it is asked for inferences.

    python benchmarks/beside/candidate.py RUNTIME MODEL CLASS THREADS OUTPUTS

The process writes its outputs into a file and prints facts, then for each number that it reads the seconds of so many
inferences, after one that does not count: on the wall, and of all its threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))

from beside.runtimes import RUNTIMES, feeds_of

TURN = 0.1
"""The seconds of inferences that a turn has, where one does not take longer."""


def serve(runtime: str, model: Path, kind: str, threads: int, outputs: str) -> None:
    feeds = feeds_of(model)
    start = time.perf_counter()
    try:
        opened = RUNTIMES[runtime](str(model), feeds, kind, threads)
        seconds = time.perf_counter() - start
        results = opened.run()
    except Exception as error:
        if os.environ.get("WHENCE_DEBUG"):
            raise
        print(json.dumps({"error": f"{type(error).__name__}: {str(error)[:300]}"}), flush=True)
        return
    np.savez(outputs, *(np.asarray(result) for result in results))
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    print(json.dumps({"compile": seconds, "peak": int(peak.split()[1]) / 1024}), flush=True)
    for line in sys.stdin:
        if line.strip() == "coverage":
            print(json.dumps(opened.handle.coverage()), flush=True)
            continue
        opened.run()
        times: list[tuple[float, float]] = []
        for _ in range(int(line)):
            wall, cpu = time.perf_counter(), time.process_time()
            opened.run()
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
        print(json.dumps(times), flush=True)


class Candidate:
    """The parent's end of it. `error` is why it cannot run the model, if it cannot."""

    def __init__(self, label: str, source: str, model: Path, kind: str, threads: int, cache: Path, folder: Path):
        # Any label that is no runtime's is another Whence.
        runtime = label if label in RUNTIMES else "whence"
        self.label, self.outputs = label, folder / f"{label}.npz"
        environment = {**os.environ, "PYTHONPATH": source, "WHENCE_CACHE_DIR": str(cache / label)}
        words = [sys.executable, __file__, runtime, str(model), kind, str(threads), str(self.outputs)]
        self.process = subprocess.Popen(
            words, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self.out, self.into = cast(IO[str], self.process.stdout), cast(IO[str], self.process.stdin)
        self.facts: dict[str, Any] = json.loads(self.out.readline() or '{"error": "the process ended"}')
        self.error = cast(str, self.facts.get("error", ""))
        self.times: list[tuple[float, float]] = []

    def ask(self, line: str) -> Any:
        self.into.write(f"{line}\n")
        self.into.flush()
        return json.loads(self.out.readline())

    def warm(self) -> int:
        """One inference or two; returns how many a turn has."""
        ((wall, _),) = self.ask("1")
        return max(1, min(200, int(TURN / wall)))

    def turn(self, count: int) -> None:
        self.times += self.ask(str(count))

    def results(self) -> list[NDArray[Any]]:
        with np.load(self.outputs) as arrays:
            return [arrays[name] for name in arrays.files]

    def end(self) -> None:
        self.into.close()
        self.process.wait()


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5])
