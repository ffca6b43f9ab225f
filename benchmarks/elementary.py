"""Elementary functions of f32: nanoseconds per element, beside numpy and onnxruntime, and the largest error found.

    python benchmarks/elementary.py [--count N] [function ...]

One thread, vectors of 16; 393,216 elements (the hidden layer of BERT-base at 128 tokens) unless said otherwise. What is
compared is called in turn in one process, and medians are shown; `copy` is what a call and the memory take. Errors are
in units in the last place against float64, over every 4079th bit pattern; a function of two numbers gets pairs of any
patterns. A dash: there is no such function.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from whence import te
from whence.kernels import Function, build_schedule

SECONDS = 1.0
Array = np.ndarray[Any, Any]
Call = Callable[[], object]


class Row(NamedTuple):
    """A function: in numpy, on the range in which it is timed, and its operator in ONNX."""

    numpy: Callable[..., Array]
    low: float
    high: float
    onnx: str = ""
    operands: int = 1


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


ROWS: dict[str, Row] = {
    "copy": Row(np.copy, -9, 9, "Identity"),
    "exp": Row(np.exp, -9, 9, "Exp"),
    "exp2": Row(np.exp2, -9, 9),
    "log": Row(np.log, 0.01, 9, "Log"),
    "log2": Row(np.log2, 0.01, 9),
    "log10": Row(np.log10, 0.01, 9),
    "log1p": Row(np.log1p, -0.9, 9),
    "tanh": Row(np.tanh, -9, 9, "Tanh"),
    "sigmoid": Row(_sigmoid, -9, 9, "Sigmoid"),
    "erf": Row(np.vectorize(math.erf, [np.float64]), -4, 4, "Erf"),
    "rsqrt": Row(_rsqrt, 0.01, 9),
    "sin": Row(np.sin, -9, 9, "Sin"),
    "cos": Row(np.cos, -9, 9, "Cos"),
    "tan": Row(np.tan, -9, 9, "Tan"),
    "asin": Row(np.arcsin, -1, 1, "Asin"),
    "acos": Row(np.arccos, -1, 1, "Acos"),
    "atan": Row(np.arctan, -9, 9, "Atan"),
    "sinh": Row(np.sinh, -9, 9, "Sinh"),
    "cosh": Row(np.cosh, -9, 9, "Cosh"),
    "asinh": Row(np.arcsinh, -9, 9, "Asinh"),
    "acosh": Row(np.arccosh, 1, 9, "Acosh"),
    "atanh": Row(np.arctanh, -1, 1, "Atanh"),
    "power": Row(np.power, 0.1, 9, "Pow", operands=2),
    "atan2": Row(np.arctan2, -9, 9, operands=2),
}


def _same(x: te.Expr) -> te.Expr:
    return x


def ours(name: str, operands: int, count: int) -> Function:
    """The function of arrays of `count` numbers, in vectors."""
    inputs = [te.placeholder((count,), name=f"x{number}") for number in range(operands)]
    apply: Callable[..., te.Expr] = _same if name == "copy" else getattr(te, name)
    result = te.compute((count,), lambda i: apply(*(x[i] for x in inputs)), name="y")
    schedule = te.create_schedule(result, inputs=inputs)
    stage = schedule[result]
    _, lanes = stage.split(stage.op.axis[0], factor=16)
    stage.vectorize(lanes)
    return build_schedule(schedule, threads=1)


def onnxruntime_call(operator: str, arrays: Sequence[Array]) -> Call:
    names = [f"x{number}" for number in range(len(arrays))]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(arrays[0].shape)) for name in (*names, "y")]
    graph = helper.make_graph([helper.make_node(operator, names, ["y"])], "one", values[:-1], values[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    runtime: Any = onnxruntime  # which has no types
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, dict(zip(names, arrays, strict=True)))


def time_in_turn(calls: Sequence[Call]) -> list[float]:
    """The median time of each call in seconds, after one call that is not counted."""
    for call in calls:
        call()
    times: list[list[float]] = [[] for _ in calls]
    end = perf_counter() + SECONDS
    while not times[0] or perf_counter() < end:
        for call, taken in zip(calls, times, strict=True):
            begin = perf_counter()
            call()
            taken.append(perf_counter() - begin)
    return [median(taken) for taken in times]


def largest_error(function: Function, row: Row, count: int) -> float:
    """In units in the last place; infinite where infinities or NaN are not those of float64."""
    rng = np.random.default_rng(0)
    bits = np.arange(0, 1 << 32, 4079, dtype=np.uint32)
    worst = 0.0
    for start in range(0, len(bits), count):
        piece = np.resize(bits[start : start + count], count)
        arrays = [(rng.permutation(piece) if number else piece).view(np.float32) for number in range(row.operands)]
        found = np.asarray(function(*arrays))
        exact = row.numpy(*(array.astype(np.float64) for array in arrays))
        rounded = exact.astype(np.float32)
        finite = np.isfinite(rounded)
        if not np.array_equal(found[~finite], rounded[~finite], equal_nan=True):
            return math.inf
        spacing = np.spacing(np.abs(rounded[finite])).astype(np.float64)
        worst = max(worst, float((np.abs(found[finite] - exact[finite]) / spacing).max(initial=0)))
    return worst


def measure(name: str, count: int) -> str:
    """A line of the table."""
    row, rng = ROWS[name], np.random.default_rng(0)
    arrays = [rng.uniform(row.low, row.high, count).astype(np.float32) for _ in range(row.operands)]
    function = ours(name, row.operands, count)
    calls: dict[str, Call] = {"ours": lambda: function(*arrays)}
    if not isinstance(row.numpy, np.vectorize):
        calls["numpy"] = lambda: row.numpy(*arrays)
    if row.onnx:
        calls["onnxruntime"] = onnxruntime_call(row.onnx, arrays)
    with np.errstate(all="ignore"):
        seconds = dict(zip(calls, time_in_turn(list(calls.values())), strict=True))
        error = largest_error(function, row, count)
    shown = [f"{seconds[who] / count * 1e9:.3f}" if who in seconds else "-" for who in ("ours", "numpy", "onnxruntime")]
    return f"{name:14}{shown[0]:>8}{shown[1]:>8}{shown[2]:>13}{error:>15.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("functions", nargs="*", choices=[*ROWS, []], help="all of them unless said otherwise")
    parser.add_argument("--count", type=int, default=393_216, help="elements, a multiple of 16")
    given = parser.parse_args()
    print(f"{'ns per element':14}{'ours':>8}{'numpy':>8}{'onnxruntime':>13}{'error in ulp':>15}")
    for name in given.functions or ROWS:
        print(measure(name, given.count), flush=True)


if __name__ == "__main__":
    main()
