"""Reference values of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whence.explorer.references import References, read_onnx
from whence.reading.arrays import named, read_arrays

if TYPE_CHECKING:
    from whence.runtime.values.tensors import TensorSpec


def of_file(path: Path, model: Path, signature: str | None, specs: Sequence[TensorSpec]) -> References:
    """Return the tensors of an .npz, .npy, .pb or .params file.

    signature: the key of a TFLite model's signature. specs: the outputs of the model, for files without names.
    """
    layers: Mapping[str, tuple[str, ...]] = {}
    if model.suffix == ".onnx":
        from whence.explorer import reference

        layers = reference.layer_tensors(read_onnx(model))
    elif model.suffix == ".tflite":
        from whence.explorer import litert

        layers = litert.layer_tensors(model, signature)
    return References(named(read_arrays(path), specs), layers, str(path))
