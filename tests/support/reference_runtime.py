"""onnxruntime as the reference of tests.

On one thread: those of its pool, when they wait, keep a processor busy. Without its optimisations, which take longer
than to run once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto

Array = NDArray[Any]


def onnxruntime_outputs(model: ModelProto, inputs: Mapping[str, Array], quiet: bool = False) -> list[Array]:
    """The outputs of a model for inputs by name. quiet: what it refuses is told by an exception only."""
    runtime = cast(Any, onnxruntime)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4 if quiet else 3
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))
