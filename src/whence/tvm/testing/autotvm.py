"""A small task, records of it, and a runner that measures nothing, for tests of tuners."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from whence import autotvm, te
from whence.autotvm.measure.measure import MeasureInput, MeasureResult, Runner
from whence.autotvm.task.task import Made, Task
from whence.target import Target


class DummyRunner(Runner):
    """Gives each candidate random seconds."""

    def __init__(self) -> None:
        super().__init__(1, 1)
        self._rng = np.random.default_rng(0)

    def run(self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]) -> list[MeasureResult]:
        return [MeasureResult((float(self._rng.random()),), 0, 0.2, time.time()) for _ in measure_inputs]


@autotvm.template("testing/matmul")
def matmul(N: int, L: int, M: int, dtype: str) -> Made:
    """A product of (N, L) and (L, M) in tiles."""
    A, B = te.placeholder((N, L), name="A", dtype=dtype), te.placeholder((L, M), name="B", dtype=dtype)
    k = te.reduce_axis((0, L), name="k")
    C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    y, x = s[C].op.axis
    inner = s[C].op.reduce_axis[0]
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    yo, yi = cfg["tile_y"].apply(s, C, y)
    if cfg["tile_x"].size[-1] == 1:
        s[C].reorder(yo, inner, yi, x)
    else:
        xo, xi = cfg["tile_x"].apply(s, C, x)
        s[C].reorder(yo, xo, inner, yi, xi)
    return s, [A, B, C]


def get_sample_task(n: int = 128) -> tuple[Task, Any]:
    """A task of products of (n, n), and its target."""
    target = Target("llvm")
    return autotvm.task.create("testing/matmul", args=(n, n, n, "float32"), target=target), target


def get_sample_records(n: int) -> list[tuple[MeasureInput, MeasureResult]]:
    """Candidates of that task with 1, 2, .. n seconds."""
    task, target = get_sample_task()
    space = task.config_space
    return [
        (MeasureInput(target, task, space.get(i % len(space))), MeasureResult((i + 1,), 0, i, time.time()))
        for i in range(n)
    ]
