"""Models as C source beside LLVM's code: bits, warnings, size of the source, and time.

    python benchmarks/c_source.py [--cases N] [--networks NAME ..] [--cc gcc clang]

Prints how many of the kernels of onnx's node tests compile without a warning at -Wall and give the bits of our own run,
with vectors and without; and for each network and compiler the same, the kilobytes of the source, the seconds that
compiling takes, and LLVM's time over C's: CPU time of `whence_run`, medians of alternating rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import whence
from whence.runtime.values.tensors import aligned_empty
from whence.support.errors import WhenceError

sys.path.append(str(Path(__file__).parents[1] / "tests/support"))

ROUNDS, SECONDS = 15, 0.01
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-shared", "-fPIC")
SCALAR = ("-DWHENCE_SCALAR", "-O1")
NETWORKS = (
    *("resnet", "mobilenet_v3", "bert", "gpt2", "squeezenet"),
    *("unet", "gru", "resnet_qdq", "vit", "shufflenet"),
)


class Library:
    """An exported model in a shared library, and the memory of its runs."""

    def __init__(self, path: Path, executable: Any, inputs: dict[str, Any], expected: dict[str, Any]):
        self.code = ctypes.CDLL(str(path))
        arrays = [np.ascontiguousarray(inputs[spec.name]) for spec in executable.inputs]
        shapes = [np.asarray(expected[spec.name]) for spec in executable.outputs]
        self.outputs = [aligned_empty(array.shape, array.dtype) for array in shapes]
        self.arena = aligned_empty((ctypes.c_int64.in_dll(self.code, "whence_arena_bytes").value,), np.dtype(np.uint8))
        self._inputs = arrays
        self._arguments = (addresses(arrays), addresses(self.outputs), ctypes.c_void_p(self.arena.ctypes.data), None)

    def run(self) -> None:
        self.code.whence_run(*self._arguments)


def addresses(arrays: list[NDArray[Any]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(len(arrays), 1))(*[array.ctypes.data for array in arrays])


def compiled(source: Path, compiler: str, *flags: str) -> tuple[Path, str, float]:
    """The library that a compiler makes of a source, its warnings, and the seconds that it took."""
    out = source.with_suffix(f".{compiler}{len(flags)}.so")
    start = time.perf_counter()
    command = [compiler, *FLAGS, *flags, "-o", out.name, source.name, "-lm"]
    done = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return out, done.stderr, time.perf_counter() - start


def same_bits(library: Library, executable: Any, expected: dict[str, Any]) -> bool:
    for output in library.outputs:
        output.view(np.uint8)[...] = 255
    library.run()
    pairs = zip(library.outputs, executable.outputs, strict=True)
    return all(output.tobytes() == np.asarray(expected[spec.name]).tobytes() for output, spec in pairs)


def cases(count: int, compiler: str, folder: Path) -> None:
    """Print how many kernels of node tests are right."""
    import standard_cases

    seen: Counter[str] = Counter()
    kernels = Counter[str]()
    given = (case for case in standard_cases.cases() if not standard_cases.reason(case.name))
    for case in given:
        if kernels["equal"] >= count:
            break
        values = case.sets[0][0] if case.sets else []
        if any(not isinstance(value, np.ndarray) for value in values):
            continue
        names = [value.name for value in case.model.graph.input]
        inputs = dict(zip(names, values, strict=False))
        # A path is opened once in a process.
        source = folder / f"{case.name}.c"
        try:
            executable = whence.compile(case.model, threads=1)
            expected = executable.run(inputs)
            executable.export_library(source)
            number = len(executable.artifact.kernels)
        except (WhenceError, AttributeError) as error:
            seen[type(error).__name__] += 1
            if "C source" in str(error):
                print(f"{case.name}: {error}", flush=True)
            continue
        if not number or executable.artifact.program.sizes is not None:
            continue
        for flags in (("-O1",), SCALAR):
            label = "scalar" if flags is SCALAR else "vectors"
            try:
                path, warnings, _ = compiled(source, compiler, *flags)
                library = Library(path, executable, inputs, expected)
                equal = same_bits(library, executable, expected)
            except RuntimeError as error:
                warnings, equal = str(error), False
            if warnings or not equal:
                print(f"{case.name} {label}: equal {equal} {warnings[:400]}", flush=True)
            kernels["warned"] += number if warnings else 0
            kernels["equal" if label == "vectors" else "scalar"] += number if equal else 0
            kernels["vectors_all" if label == "vectors" else "scalar_all"] += number
    print(
        f"{kernels['equal']} of {kernels['vectors_all']} kernels equal, without vectors {kernels['scalar']} of "
        f"{kernels['scalar_all']}, {kernels['warned']} with warnings; not exported: {dict(seen)}"
    )


def network(name: str, compilers: list[str], folder: Path) -> None:
    """Print the bits and times of a network."""
    from zoo import SMALL

    model, inputs = SMALL[name]()
    executable = whence.compile(model, threads=1)
    expected = executable.run(inputs)
    source = folder / f"{name}.c"
    executable.export_library(source)
    executable.export_library(folder / f"{name}.so")
    reference = Library(folder / f"{name}.so", executable, inputs, expected)
    size = source.stat().st_size // 1024
    for compiler in compilers:
        path, warnings, seconds = compiled(source, compiler)
        library = Library(path, executable, inputs, expected)
        equal = same_bits(library, executable, expected)
        ratio = ratio_of_times(reference, library)
        print(
            f"{name} {compiler}: equal {equal}, {warnings.count('warning:')} warnings, {size} KB, compiled in "
            f"{seconds:.0f} s, LLVM's time over C's {ratio:.2f}",
            flush=True,
        )
    path, _, _ = compiled(source, compilers[0], *SCALAR)
    print(f"{name} scalar: equal {same_bits(Library(path, executable, inputs, expected), executable, expected)}")


def ratio_of_times(first: Library, second: Library) -> float:
    """The CPU time of a run of one library over that of the other."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for library, taken in zip((first, second), times, strict=True):
            start, runs = time.process_time(), 0
            while time.process_time() - start < SECONDS:
                library.run()
                runs += 1
            taken.append((time.process_time() - start) / runs)
    return median(times[0]) / median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--cc", nargs="+", default=["gcc", "clang"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.cases:
            cases(args.cases, args.cc[0], Path(folder))
        for name in args.networks:
            network(name, args.cc, Path(folder))


if __name__ == "__main__":
    main()
