"""TensorProto -> numpy array. Data in files of their own stay there, memory-mapped.

Data inside the model file are not mapped: they start at any byte, and kernels read aligned elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto
from onnx.external_data_helper import ExternalDataInfo

from ...dialects.element_types import DTYPES
from ...support.dtypes import RANK, SMALL, Array, bits
from ...support.errors import FrontendError
from ..importing.inputs import no_element_type
from ..importing.limits import excess, expectation

_LONGEST = 100
"""Characters of a name that an error shows."""


def dtype_of(code: int, what: str) -> np.dtype[np.generic]:
    """The numpy dtype of an ONNX element type.

    Raises FrontendError, about `what`, for types that no relay tensor has (string, complex, 6-bit floats).
    """
    name = TensorProto.DataType.Name(code) if code in TensorProto.DataType.values() else str(code)
    if code not in (TensorProto.UNDEFINED, TensorProto.STRING) and name.isupper():
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code))
        if dtype.name in DTYPES:
            return dtype
    raise no_element_type(what, DTYPES, name)


def _external_file(info: ExternalDataInfo, folder: Path | None, what: str) -> Path:
    """The file of a tensor's data, which must lie in the folder of the model."""
    if folder is None:
        raise FrontendError(
            f"{what}: expected data in the model, which has no path, got external data in '{info.location}'"
        )
    root = folder.resolve()
    try:
        target = (root / info.location).resolve()
        there = target.is_file()
    except (OSError, RuntimeError, TypeError, ValueError) as error:  # too long, links in a circle, no text, a NUL in it
        reason = error.strerror if isinstance(error, OSError) else error
        raise FrontendError(f"{what}: expected the name of a file, got {_cut(info.location)}: {reason}") from error
    if not target.is_relative_to(root) or target == root:
        raise FrontendError(f"{what}: expected external data inside the model's folder {root}, got '{info.location}'")
    if not there:
        raise FrontendError(f"{what}: expected external data in {target}, got no such file")
    return target


def _cut(name: object) -> str:
    """A name as Python writes it, shortened."""
    text = repr(name)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}.. ({len(text)} characters)"


def _external(
    tensor: TensorProto, dtype: np.dtype[np.generic], shape: Sequence[int], folder: Path | None, what: str
) -> Array:
    try:
        info = ExternalDataInfo(tensor)
    except ValueError as error:
        raise FrontendError(f"{what}: expected a well-formed reference to external data, got: {error}") from error
    file = _external_file(info, folder, what)
    packed = np.dtype(np.uint8) if dtype.name in SMALL and bits(dtype.name) < 8 else dtype
    count = prod(shape) if packed is dtype else _packed_bytes(shape, dtype)
    offset, needed, found = info.offset or 0, count * packed.itemsize, file.stat().st_size
    if offset + needed > found or (info.length is not None and info.length != needed):
        length = "" if info.length is None else f" of length {info.length}"
        raise FrontendError(
            f"{what}: expected {needed} bytes of external data, got offset {offset}{length} in {file} of {found} bytes"
        )
    if not needed:
        return np.zeros(shape, dtype)
    try:
        mapped = np.asarray(np.memmap(file, packed, "r", offset, tuple(shape) if packed is dtype else (count,)))
    except OSError as error:
        raise FrontendError(f"{what}: expected readable external data in {file}, got: {error.strerror}") from error
    if packed is not dtype:
        return _unpacked(mapped, shape, dtype)
    return mapped if mapped.flags.aligned else mapped.copy()


def _packed_bytes(shape: Sequence[int], dtype: np.dtype[np.generic]) -> int:
    """The bytes of a tensor's data, in which elements of less than a byte lie side by side."""
    width = bits(dtype.name) if dtype.name in SMALL else dtype.itemsize * 8
    return -(-prod(shape) * width // 8)


def _unpacked(data: Array, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
    """Elements of less than a byte, the first in a byte's last bits, in a byte each."""
    width = bits(dtype.name)
    parts = [data.view(np.uint8) >> shift & ((1 << width) - 1) for shift in range(0, 8, width)]
    return np.stack(parts, -1).reshape(-1)[: prod(shape)].astype(np.uint8).view(dtype).reshape(shape)


def to_array(tensor: TensorProto, folder: Path | None, what: str) -> Array:
    """The (read-only) values of a tensor.

    folder: where external data may lie; None for a model that is in memory only.
    what: names the tensor in errors.

    Raises FrontendError for an unsupported element type, data that do not fill the shape, a size beyond the memory,
    and external data outside of `folder`.
    """
    dtype, shape = dtype_of(tensor.data_type, what), tuple(tensor.dims)
    if any(extent < 0 for extent in shape):
        raise FrontendError(f"{what}: expected extents of at least 0, got {list(shape)}")
    if len(shape) > RANK:
        raise FrontendError(f"{what}: expected at most {RANK} dimensions, got {len(shape)}")
    if too_big := excess(shape, dtype.itemsize):
        raise FrontendError(f"{what}: expected {expectation()}, got {too_big}")
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external(tensor, dtype, shape, folder, what)
    if tensor.HasField("raw_data"):
        raw, needed = tensor.raw_data, _packed_bytes(shape, dtype)
        if len(raw) != needed:
            raise FrontendError(f"{what}: expected {needed} bytes of data for {list(shape)}, got {len(raw)}")
        if needed < prod(shape) * dtype.itemsize:
            return _unpacked(np.frombuffer(raw, np.uint8), shape, dtype)
        return np.frombuffer(raw, dtype).reshape(shape)
    try:
        return onnx.numpy_helper.to_array(tensor).reshape(shape)
    except ValueError as error:
        raise FrontendError(f"{what}: expected {prod(shape)} elements for {list(shape)}, got: {error}") from error


def dense(tensor: onnx.SparseTensorProto, folder: Path | None, what: str) -> Array:
    """A sparse tensor with its zeros."""
    values, at = to_array(tensor.values, folder, what), to_array(tensor.indices, folder, what)
    whole = np.zeros(tuple(tensor.dims), values.dtype)
    if at.ndim == 2:
        whole[tuple(np.asarray(at, np.int64).T)] = values
    else:
        whole.reshape(-1)[np.asarray(at, np.int64)] = values
    return whole
