"""onnxruntime in a process of its own; what it makes of a model and arrays, as `Judge` asks it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import onnxruntime
from litert_worker import Array, Judge, work


@lru_cache(maxsize=4)
def _session(data: bytes) -> Any:
    runtime = cast(Any, onnxruntime)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _run(data: bytes, inputs: dict[str, Array]) -> list[Array]:
    return _session(data).run(None, inputs)


def judge() -> Judge:
    """onnxruntime as a judge: of a model's bytes, and inputs by name."""
    return Judge(__file__)


if __name__ == "__main__":
    work(_run)
