"""A matrix product in eight steps: the schedules of docs/schedule.md, timed, and the last one against onnxruntime.

    python benchmarks/gemm_schedule.py [MxKxN ...]

The schedules are read from the page, which is tested. GFLOP/s are of the median call. What is compared is called in
turn in one process; the ratio is onnxruntime's median time by ours, so more than 1 is faster than onnxruntime.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import whence

PAGE = Path(__file__).parents[1] / "docs" / "schedule.md"
STEPS: tuple[str, ...] = (
    "naive",
    "tiled",
    "vectorized",
    "cached",
    "registers",
    "packing",
    "packed",
    "unrolled",
    "parallel",
)
NUMBERS: dict[str, str] = dict(zip(STEPS, "123456678", strict=True))
"""Packing in every call and packing once are two forms of one step."""
PACKED: tuple[str, ...] = STEPS[6:]
IN_TURN: tuple[str, ...] = STEPS[4:]
"""The fast ones, which are called in turn with onnxruntime; a call of the others takes a second at 1024."""
SIZES = ((1024, 1024, 1024), (128, 768, 768))
Call = Callable[[], object]


def page_functions() -> dict[str, Any]:
    """What the python blocks of the page define."""
    names: dict[str, Any] = {"__name__": "page"}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def time_in_turn(calls: Sequence[Call], seconds: float, most: int = 200) -> list[float]:
    """The median time of each call in seconds, after one call that is not counted."""
    for call in calls:
        call()
    times: list[list[float]] = [[] for _ in calls]
    end = perf_counter() + seconds
    while not times[0] or (perf_counter() < end and len(times[0]) < most):
        for call, taken in zip(calls, times, strict=True):
            begin = perf_counter()
            call()
            taken.append(perf_counter() - begin)
    return [median(taken) for taken in times]


def matmul(m: int, k: int, b: np.ndarray[Any, Any]) -> onnx.ModelProto:
    """A x B, with B constant."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["A", "B"], ["C"], name="matmul")],
        "matmul",
        [helper.make_tensor_value_info("A", TensorProto.FLOAT, [m, k])],
        [helper.make_tensor_value_info("C", TensorProto.FLOAT, [m, b.shape[1]])],
        [numpy_helper.from_array(b, "B")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def onnxruntime_call(model: onnx.ModelProto, a: np.ndarray[Any, Any]) -> Callable[[], np.ndarray[Any, Any]]:
    runtime: Any = onnxruntime  # which has no types
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"A": a})[0]


def run(functions: dict[str, Any], m: int, k: int, n: int) -> None:
    """Print the table of one size."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    weights = functions["pack"](b)
    model = matmul(m, k, b)
    theirs = onnxruntime_call(model, a)
    expected = theirs()
    work = 2e-9 * m * k * n

    def call_of(step: str) -> Call:
        function = whence.build_schedule(functions[step](m, k, n), threads=1)
        second = weights if step in PACKED else b
        np.testing.assert_allclose(function(a, second), expected, rtol=1e-3, atol=1e-3)
        return lambda: function(a, second)

    compiled = whence.compile(model, threads=1)
    seconds = {step: time_in_turn([call_of(step)], 1.0)[0] for step in STEPS if step not in IN_TURN}
    calls = {step: call_of(step) for step in IN_TURN}
    calls |= {"whence.compile": lambda: compiled(a), "onnxruntime": theirs}
    seconds |= zip(calls, time_in_turn(list(calls.values()), 15.0), strict=True)

    print(f"M x K x N = {f'{m} x {k} x {n}, 1 thread':29}{'GFLOP/s':>10}{'ratio':>8}")
    for name, taken in seconds.items():
        ratio = f"{seconds['onnxruntime'] / taken:8.2f}" if name in calls else ""
        print(f"{NUMBERS.get(name, ''):3}{name:38}{work / taken:10.1f}{ratio}")
    print()


def main() -> None:
    sizes = [tuple(map(int, size.split("x"))) for size in sys.argv[1:]] or SIZES
    functions = page_functions()
    for m, k, n in sizes:
        run(functions, m, k, n)


if __name__ == "__main__":
    main()
