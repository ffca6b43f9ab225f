"""Arrays from files, and the inputs that a model gets when none are given."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from whence.runtime.values.params import load_params
from whence.runtime.values.tensors import TensorSpec
from whence.support.dtypes import Array
from whence.support.errors import FrontendError


def default_inputs(specs: Sequence[TensorSpec]) -> dict[str, Array]:
    """0, 1/n, 2/n, ... for every input, as in the onnx package's own tests of the light models."""
    _check_closed(specs)
    return {spec.name: _ramp(spec) for spec in specs}


def _check_closed(specs: Sequence[TensorSpec]) -> None:
    """Complain about shapes that the model leaves open: no input can be made up for them."""
    if opened := [spec for spec in specs if any(extent < 0 for extent in spec.shape)]:
        example = ",".join(str(max(extent, 1)) for extent in opened[0].shape)
        raise FrontendError(
            f"expected inputs, or static shapes, got dynamic dimensions in {', '.join(map(str, opened))}; "
            f'give their shapes, such as "{opened[0].name}:[{example}]" (input_shapes, --input-shapes)'
        )


def _ramp(spec: TensorSpec) -> Array:
    count = int(np.prod(spec.shape))
    return _of(spec, np.arange(count).reshape(spec.shape) / max(count, 1))


def _of(spec: TensorSpec, numbers: npt.NDArray[np.float64]) -> Array:
    """Numbers in the dtype of an input; for texts as they are spelled."""
    return (numbers.astype(np.str_) if spec.dtype.hasobject else numbers).astype(spec.dtype)


def random_inputs(specs: Sequence[TensorSpec], seed: int) -> dict[str, Array]:
    """Normally distributed numbers for every input; integers are 0 or 1."""
    _check_closed(specs)
    rng = np.random.default_rng(seed)
    return {
        spec.name: rng.integers(0, 2, spec.shape).astype(spec.dtype)
        if spec.dtype.kind in "iub"
        else _of(spec, np.asarray(rng.standard_normal(spec.shape)))
        for spec in specs
    }


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of an .npz or .params file by name, or that of an .npy or .pb (an ONNX tensor) file under "" or
    its name.

    Raises FrontendError for another file.
    """
    try:
        if path.suffix == ".pb":
            return _read_tensor(path)
        if path.suffix == ".params":
            return dict(load_params(path))
        with open(path, "rb") as file:
            # Pickled objects are refused: files may come from anywhere.
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": cast(Array, loaded)}
            return {name: cast(Array, loaded[name]) for name in loaded.files}
    except OSError as error:
        raise FrontendError(f"{path}: expected a readable file, got: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise FrontendError(f"{path}: expected plain arrays in .npz, .npy, .params or .pb, got none") from error


def _read_tensor(path: Path) -> dict[str, Array]:
    from google.protobuf.message import DecodeError
    from onnx import TensorProto, numpy_helper

    try:
        proto = TensorProto.FromString(path.read_bytes())
        return {proto.name: cast(Array, numpy_helper.to_array(proto))}
    except (DecodeError, TypeError) as error:
        raise FrontendError(f"{path}: expected an ONNX tensor, got: {error}") from error


def named(arrays: Mapping[str, Array], specs: Sequence[TensorSpec]) -> dict[str, Array]:
    """Arrays under the names of `specs`. One array for one specification may have any name, and arrays that numpy
    numbered (`arr_0`, ..) are taken in order; others stay as they are.
    """
    numbered = [f"arr_{index}" for index in range(len(specs))]
    if len(arrays) == len(specs) and (len(specs) == 1 or list(arrays) == numbered):
        return {spec.name: array for spec, array in zip(specs, arrays.values(), strict=True)}
    return dict(arrays)
