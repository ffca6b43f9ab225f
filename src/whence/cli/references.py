"""Reference values to hold a compiled model against: of a file, or of somebody else who runs the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from whence.reading.arrays import named, read_arrays

if TYPE_CHECKING:
    from onnx import ModelProto

    from whence.runtime.tensors import TensorSpec
    from whence.support.dtypes import Array


class References(NamedTuple):
    """The values that a model should compute."""

    tensors: Mapping[str, Array]
    """The outputs, and any other known tensors, by name."""
    layers: Mapping[str, tuple[str, ...]]
    """Layer -> the names of what it gives, in order; a layer that is not in it gives what is called as itself."""
    source: str
    """Who computed it."""


NUMPY = "numpy, of the module as it was imported"


def of_file(given: Path, model: Path, signature: str | None, specs: Sequence[TensorSpec]) -> References:
    """The tensors of an .npz, .npy, .pb or .params file.

    signature: the key of that of a TFLite model. specs: the outputs of the model, for files that do not name theirs.
    """
    layers: Mapping[str, tuple[str, ...]] = {}
    if model.suffix == ".onnx":
        from whence.explorer import reference

        layers = reference.layer_tensors(_onnx(model))
    elif model.suffix == ".tflite":
        from whence.explorer import litert

        layers = litert.layer_tensors(model, signature)
    return References(named(read_arrays(given), specs), layers, str(given))


def of_runtime(model: Path, signature: str | None, inputs: Mapping[str, Array]) -> References | None:
    """Every tensor that onnxruntime computes of an .onnx file, or LiteRT of a .tflite file; None for other files.

    Raises FrontendError where that runtime is not installed, or does not take the model.
    """
    if model.suffix == ".onnx":
        from whence.explorer import reference

        source = _onnx(model)
        return References(reference.onnxruntime_tensors(source, inputs), reference.layer_tensors(source), "onnxruntime")
    if model.suffix == ".tflite":
        from whence.explorer import litert

        tensors = litert.litert_tensors(model, inputs, signature)
        return References(tensors, litert.layer_tensors(model, signature), "LiteRT")
    return None


def _onnx(path: Path) -> ModelProto:
    import onnx

    return cast("Callable[[Path], ModelProto]", onnx.load)(path)
