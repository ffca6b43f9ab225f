"""Exported libraries called by tvm-ffi: networks and functions beside our own runs, and the time of a call.

    python benchmarks/ffi.py [--networks N] [--functions N]

Prints how many of the networks of the tests, and of functions of random loops, give the same bits through
`tvm_ffi.load_module`, and the time of a call of a small model beside `run` and `whence_run` of C's interface, medians
of alternating rounds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
import onnx.parser
import tvm_ffi

import whence
from whence import te
from whence.runtime import load_module

ROUNDS, CALLS = 15, 2000
SMALL_MODEL = """<ir_version: 8, opset_import: ["": 17]>
small (float[64] x, float[64] r) => (float[64] y) {
    a = Relu (x)
    y = Add (a, r)
}"""


def loaded(path: Path, name: str = "main") -> Callable[..., Any]:
    """A function of a library."""
    return cast(Any, tvm_ffi).load_module(str(path))[name]


def network_is_equal(model: Any, inputs: dict[str, Any], path: Path) -> bool:
    """Return whether a model gives the bits of our run."""
    executable = whence.compile(model, threads=2)
    executable.export_library(path)
    expected = executable.run(inputs)
    outputs = [np.empty_like(expected[spec.name]) for spec in executable.outputs]
    loaded(path)(*(np.array(inputs[spec.name]) for spec in executable.inputs), *outputs)
    pairs = zip(outputs, executable.outputs, strict=True)
    return all(output.tobytes() == np.asarray(expected[spec.name]).tobytes() for output, spec in pairs)


def function_is_equal(seed: int, folder: Path) -> bool:
    """Return whether a random function gives the bits of our call."""
    rng = np.random.default_rng(seed)
    rows, cols = (int(extent) for extent in rng.integers(1, 40, 2))
    dtype = str(rng.choice(["float32", "float64", "float16", "int32", "int8", "uint8", "int64"]))
    a, b = te.placeholder((rows, cols), dtype, "a"), te.placeholder((cols,), dtype, "b")
    k = te.reduce_axis((0, cols), "k")
    bodies = [
        lambda: te.compute((rows, cols), lambda i, j: a[i, j] * b[j] - a[i, cols - 1 - j], name="c"),
        lambda: te.compute((rows,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="c"),
        lambda: te.compute((cols, rows), lambda j, i: te.max(a[i, j], b[j]), name="c"),
        lambda: te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="c"),
    ]
    c = bodies[seed % len(bodies)]()
    order = [a, c, b] if seed % 2 else [b, a, c]
    function = whence.build(te.create_schedule(c.op), order, name=f"f{seed}")
    path = Path(function.export_library(folder / f"f{seed}.so"))
    values = {a: 4 * rng.standard_normal((rows, cols)), b: 4 * rng.standard_normal(cols)}
    values = {tensor: value.astype(dtype) for tensor, value in values.items()}
    results = [np.zeros([int(extent) for extent in c.shape], dtype) for _ in range(2)]
    for call, result in zip((function, loaded(path, f"f{seed}")), results, strict=True):
        call(*(values.get(tensor, result) for tensor in order))
    return results[0].tobytes() == results[1].tobytes()


def call_times(folder: Path) -> dict[str, float]:
    """Median microseconds of a call of the small model."""
    executable = whence.compile(onnx.parser.parse_model(SMALL_MODEL), threads=1)
    executable.export_library(folder / "small.so")
    x, r = np.random.default_rng(0).standard_normal((2, 64)).astype(np.float32)
    y = np.zeros(64, np.float32)
    main, module = loaded(folder / "small.so"), load_module(folder / "small.so")
    tensors = [cast(Any, tvm_ffi).from_dlpack(array) for array in (x, r, y)]
    calls: dict[str, Callable[[], object]] = {
        "tvm-ffi, its tensors": lambda: main(*tensors),
        "tvm-ffi, numpy": lambda: main(x, r, y),
        "module.run": lambda: module.run({"x": x, "r": r}),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            seconds[name].append((time.perf_counter() - start) / CALLS)
    return {name: 1e6 * median(values) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=20)
    parser.add_argument("--functions", type=int, default=50)
    args = parser.parse_args()
    sys.path.append(str(Path(__file__).parent.parent / "tests/support"))
    from zoo import SMALL

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        equal: dict[str, bool] = {}
        for network, make in list(SMALL.items())[: args.networks]:
            equal[network] = network_is_equal(*make(), folder / f"{network}.so")
            print(f"{network}: {'equal' if equal[network] else 'other bits'}", flush=True)
        functions = [function_is_equal(seed, folder) for seed in range(args.functions)]
        print(
            f"{sum(equal.values())} of {len(equal)} networks and {sum(functions)} of {len(functions)} functions equal"
        )
        times = call_times(folder)
        ours = times["module.run"]
        print(", ".join(f"{what} {taken:.1f} us ({taken / ours:.2f})" for what, taken in times.items()))


if __name__ == "__main__":
    main()
