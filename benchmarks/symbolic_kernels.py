"""Kernels over open sizes beside the same kernels made for one size, on one thread.

    python benchmarks/symbolic_kernels.py [WORD ...]

Prints a row for each kernel whose name contains one of the words (all of them without) and each size: median
microseconds of both, called in turn, their ratio, and the seconds of processor time that making each took.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whence.dialects.relay import OPERATORS
from whence.dialects.sizes import Size, symbol

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from symbolic_kernels import SymbolicKernel, inputs_of, relay_function

OP = {operator.name.removeprefix("relay."): operator for operator in OPERATORS}
ROUNDS = 60


class Case(NamedTuple):
    shapes: Callable[[Size], Sequence[Sequence[Size]]]
    make: Callable[..., Any]
    sizes: Sequence[int] = (1, 16, 100, 128)


def _gelu(x: Any, bias: Any) -> list[Any]:
    total = OP["add"](x, bias)
    error = OP["erf"](total.results[0])
    return [total, error, OP["multiply"](total.results[0], error.results[0])]


CASES: dict[str, Case] = {
    "dense": Case(lambda s: [(s, 768), (24, 768, 32)], lambda *v: OP["nn.contrib_dense_pack"](*v)),
    "dense, not packed": Case(lambda s: [(s, 768), (768, 768)], lambda *v: OP["nn.dense"](*v)),
    "scores": Case(lambda s: [(12, s, 64), (12, s, 64)], lambda *v: OP["nn.batch_matmul"](*v), (16, 100, 128)),
    "context": Case(
        lambda s: [(12, s, s), (12, s, 64)], lambda *v: OP["nn.batch_matmul"](*v, transpose_b=False), (16, 100, 128)
    ),
    "softmax": Case(lambda s: [(12, s, s)], lambda x: OP["nn.softmax"](x, axis=-1), (16, 100, 128, 384)),
    "softmax of short rows": Case(
        lambda s: [(192, s, s)], lambda x: OP["nn.softmax"](x, axis=-1), (4, 12, 16, 36, 100)
    ),
    "layer_norm": Case(lambda s: [(s, 768), (768,), (768,)], lambda *v: OP["nn.layer_norm"](*v)),
    "elementwise": Case(lambda s: [(s, 3072), (3072,)], _gelu),
    "exp of a row": Case(lambda s: [(s,)], lambda x: OP["exp"](x), (7, 100, 10000)),
}


def _made(case: Case, size: Size) -> tuple[SymbolicKernel, float]:
    func = relay_function(case.shapes(size), case.make)
    start = time.process_time()
    return SymbolicKernel(func, threads=1), time.process_time() - start


def _medians(*calls: Callable[[], Any]) -> list[float]:
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, times in zip(calls, found, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) * 1e6 for times in found]


def main(words: Sequence[str]) -> None:
    print(f"{'kernel':18} {'size':>6} {'open us':>10} {'fixed us':>10} {'ratio':>6} {'made in s':>16}")
    for name, case in CASES.items():
        if words and not any(word in name for word in words):
            continue
        _made(case, case.sizes[-1])
        kernel, open_seconds = _made(case, symbol("s"))
        for size in case.sizes:
            fixed, seconds = _made(case, size)
            arrays = inputs_of(case.shapes(symbol("s")), {"s": size})
            one, other = kernel.function.at((size,)), fixed.function
            results = one(*arrays), other(*arrays)
            np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-3)
            # In place: how long fresh memory takes is not theirs.
            a, b = _medians(partial(one, *arrays, results[0]), partial(other, *arrays, results[1]))
            print(f"{name:18} {size:6} {a:10.1f} {b:10.1f} {a / b:6.2f} {open_seconds:8.2f}{seconds:8.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
