"""Reference values to hold a compiled model against, computed by somebody else who runs the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from ..dialects.relay.interpret import RunKernel
from ..planning.artifact import Artifact
from ..support.dtypes import Array
from .layers import snapshot

if TYPE_CHECKING:
    from onnx import ModelProto


class References(NamedTuple):
    """The values that a model should compute."""

    tensors: Mapping[str, Array]
    """The outputs, and any other known tensors, by name."""
    layers: Mapping[str, tuple[str, ...]]
    """Layer -> the names of what it gives, in order; a layer that is not in it gives what is called as itself."""
    source: str
    """The runtime that computed it."""


NUMPY = "numpy, of the module as it was imported"


def of_runtime(model: Path, signature: str | None, inputs: Mapping[str, Array]) -> References | None:
    """Every tensor that onnxruntime computes of an .onnx file, or LiteRT of a .tflite file; None for other files.

    Raises FrontendError where that runtime is not installed, or does not take the model.
    """
    if model.suffix == ".onnx":
        from . import reference

        source = read_onnx(model)
        return References(reference.onnxruntime_tensors(source, inputs), reference.layer_tensors(source), "onnxruntime")
    if model.suffix == ".tflite":
        from . import litert

        tensors = litert.litert_tensors(model, inputs, signature)
        return References(tensors, litert.layer_tensors(model, signature), "LiteRT")
    return None


def of_module(artifact: Artifact, inputs: Mapping[str, Array], run_kernel: RunKernel | None = None) -> References:
    """The value of each layer of a program as it was imported, its operators done in numpy.

    run_kernel: runs a call of a kernel of tir.
    """
    from .reference import numpy_tensors

    arrays = [inputs[spec.name] for spec in artifact.program.inputs]
    return References(numpy_tensors(snapshot(artifact, "relay"), arrays, run_kernel), {}, NUMPY)


def read_onnx(path: Path) -> ModelProto:
    """Read an .onnx file, with the files of weights beside it."""
    import onnx

    return cast("Callable[[Path], ModelProto]", onnx.load)(path)
