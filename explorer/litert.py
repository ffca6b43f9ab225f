"""Reference values of a TFLite model: every tensor that LiteRT computes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..support.dtypes import Array
from ..support.errors import FrontendError, expectation

_KERNELS = "BUILTIN_REF", "AUTO"
"""The reference kernels, whose integers ours equal; and all kernels, for operators without reference kernels."""


def layer_tensors(path: Path, key: str | None = None) -> dict[str, tuple[str, ...]]:
    """Layer, as the frontend names them -> the names of what it gives, in order; of the graph that runs, not of others.

    key: of the signature that is wanted.
    """
    from ..frontends.tflite.graph import open_model

    source = open_model(path, key).source
    outputs: dict[str, tuple[str, ...]] = {}
    for step in source.region.steps:
        if step.source is not None and all(name in source.builder.infos for name in step.outputs):
            outputs.setdefault(step.layer, step.outputs)
    return outputs


def litert_tensors(path: Path, inputs: Mapping[str, Array], key: str | None = None) -> dict[str, Array]:
    """Every tensor of the graph that runs, by name.

    inputs: as the frontend calls them; what the model keeps from call to call begins anew. key: of the signature that
    is wanted. Raises FrontendError where LiteRT is not installed, or does not take the model.
    """
    from ..frontends.tflite.graph import open_model

    source = open_model(path, key).source
    numbers = {name: info.index for name, info in source.builder.infos.items()}
    arrays = {name: inputs[name] for name in source.region.inputs if name in inputs}
    try:
        try:
            return _tensors(_interpreter(path, _KERNELS[0]), arrays, numbers, key)
        except (ValueError, RuntimeError):
            return _tensors(_interpreter(path, _KERNELS[1]), arrays, numbers, key)
    except (ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())
        raise FrontendError(expectation("reference", "a model that LiteRT runs", said)) from error


def _interpreter(path: Path, kernels: str) -> Any:
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        expected = "ai-edge-litert to be installed, or a file of tensors"
        raise FrontendError(expectation("reference", expected, "none")) from error
    return Interpreter(
        model_content=path.read_bytes(),
        num_threads=1,
        experimental_op_resolver_type=OpResolverType[kernels],
        experimental_preserve_all_tensors=True,
    )


def _tensors(
    runtime: Any, arrays: Mapping[str, Array], numbers: Mapping[str, int], key: str | None
) -> dict[str, Array]:
    graph = _invoke(runtime, arrays, numbers, key)
    tensors: dict[str, Array] = {}
    for name, index in numbers.items():
        # LiteRT refuses tensors without memory, such as the output of an operator that does not run.
        with suppress(ValueError):
            tensors[name] = np.asarray(runtime.get_tensor(index, graph))
    return tensors


def _invoke(runtime: Any, arrays: Mapping[str, Array], numbers: Mapping[str, int], key: str | None) -> int:
    """Run an interpreter; returns the subgraph that it ran."""
    if key is not None:
        runner = runtime.get_signature_runner(key)
        runner(**arrays)
        return runner._subgraph_index
    shapes = {detail["index"]: list(detail["shape"]) for detail in runtime.get_input_details()}
    for name, array in arrays.items():
        if shapes[numbers[name]] != list(array.shape):
            runtime.resize_tensor_input(numbers[name], list(array.shape))
    runtime.allocate_tensors()
    for name, array in arrays.items():
        runtime.set_tensor(numbers[name], array)
    runtime.invoke()
    return 0
