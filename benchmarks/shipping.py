"""Loading exported ResNet-50 with random weights (98 MiB): a fresh process, load_module, the linker beside LLVM's.

Prints medians; candidates take turns.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, cast

import onnx

import whence
from whence.lowering.llvm_to_native.link import link as link_with_llvm
from whence.lowering.llvm_to_native.thread_pool import pool_code
from whence.reading.models import model_path
from whence.runtime import load_module
from whence.runtime.loading.elf import Elf
from whence.runtime.loading.link import link
from whence.runtime.program.program import ENTRY, PARALLEL_FOR

ROUNDS = 9
_FRESH = """
import sys, time
start = time.perf_counter()
from whence.runtime import load_module
imported, before = time.perf_counter(), time.process_time()
module = load_module(sys.argv[1])
loaded, after = time.perf_counter(), time.process_time()
heavy = [name for name in sys.modules if name.split(".")[0] in ("xdsl", "llvmlite", "onnx")]
print(imported - start, loaded - imported, after - before, len(heavy))
"""


def alternating(candidates: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median milliseconds of each candidate, the candidates taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(ROUNDS):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: 1e3 * median(values) for name, values in seconds.items()}


def main() -> None:
    # The networks that onnx ships have no weights of their own; tests fill them in the same way.
    sys.path.append(str(Path(__file__).parent.parent / "tests/support"))
    from random_weights import randomize_weights

    compiled = whence.compile(randomize_weights(cast(Any, onnx).load(model_path("light_resnet50"))))
    artifact = compiled.artifact
    with tempfile.TemporaryDirectory() as folder:
        files = {kind: Path(folder) / f"resnet.{kind}" for kind in ("tar", "so", "o")}
        for kind, path in files.items():
            start = time.perf_counter()
            compiled.export_library(path)
            took = time.perf_counter() - start
            print(f"export .{kind}: {took:.2f} s, {path.stat().st_size / 2**20:.1f} MiB")
        found = alternating({kind: lambda path=path: load_module(path) for kind, path in files.items()})
        print("load_module: " + ", ".join(f".{kind} {taken:.0f} ms" for kind, taken in found.items()))
        for kind, path in files.items():
            rows = [
                subprocess.run([sys.executable, "-c", _FRESH, path], capture_output=True, text=True, check=True)
                for _ in range(5)
            ]
            numbers = [[float(word) for word in row.stdout.split()] for row in rows]
            imports, loads, busy, heavy = (median(column) for column in zip(*numbers, strict=True))
            print(
                f"fresh process, .{kind}: imports {1e3 * imports:.0f} ms, load {1e3 * loads:.0f} ms "
                f"({1e3 * busy:.0f} ms of processor time), "
                f"{heavy:.0f} modules of the compiler"
            )
    objects = [*(cast(Any, kernel).object for kernel in artifact.kernels), artifact.main]
    symbols = [ENTRY, *(kernel.symbol for kernel in artifact.program.kernels)]
    pool = {PARALLEL_FOR: pool_code().parallel_for}
    found = alternating(
        {
            "ours": lambda: link([Elf.of(data) for data in objects], symbols, pool),
            "llvm": lambda: link_with_llvm(objects, symbols, pool),
        }
    )
    print(
        f"linking {len(objects)} objects: ours {found['ours']:.1f} ms, LLVM's {found['llvm']:.1f} ms, "
        f"ours / LLVM's {found['ours'] / found['llvm']:.2f}"
    )


if __name__ == "__main__":
    main()
