"""Element types, and tensors of the archive as numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from ...support.dtypes import RANK, Array
from ...support.errors import FrontendError
from ..importing.constants import Constants
from ..importing.inputs import no_element_type
from ..importing.limits import excess, expectation
from .archive import Archive
from .schema import Reader, TensorEntry

DTYPES: Mapping[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.int8),
    3: np.dtype(np.int16),
    4: np.dtype(np.int32),
    5: np.dtype(np.int64),
    6: np.dtype(np.float16),
    7: np.dtype(np.float32),
    8: np.dtype(np.float64),
    12: np.dtype(np.bool_),
    13: np.dtype(ml_dtypes.bfloat16),
    28: np.dtype(np.uint16),
    29: np.dtype(ml_dtypes.float8_e4m3fn),
    30: np.dtype(ml_dtypes.float8_e5m2),
}
"""The schema's number of an element type -> the dtype."""
_OTHERS = {9: "complex32", 10: "complex64", 11: "complex128", 14: "quint8", 34: "uint32", 35: "uint64"}


def dtype_of(code: int, what: str) -> np.dtype[Any]:
    """The dtype of an element type; raises FrontendError, about `what`, for one that no relay tensor has."""
    if code in DTYPES:
        return DTYPES[code]
    raise no_element_type(what, DTYPES.values(), _OTHERS.get(code, f"number {code}"))


def precision(dtype: np.dtype[Any]) -> float:
    """The distance from 1 to the next number of a float type."""
    return float(ml_dtypes.finfo(dtype).eps)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def tensors_of(archive: Archive, reader: Reader) -> Constants:
    """Return the weights and constants of an archive by the module's names."""
    constants = Constants()
    for folder, config in (("weights", "model_weights_config"), ("constants", "model_constants_config")):
        path = f"data/{folder}/{config}.json"
        if path in archive:
            for name, entry in reader.tensors(archive.document(path), path).items():
                what = f"{archive.file}: tensor '{name}'"
                constants.sources[name] = partial(_decoded, archive, f"data/{folder}/{entry.path}", entry, what)
    return constants


def _decoded(archive: Archive, path: str, entry: TensorEntry, what: str) -> Array:
    if entry.pickled:
        raise FrontendError(f"{what}: expected raw numbers, got a pickled object, which may run any code")
    dtype = dtype_of(entry.meta.dtype, what)
    numbers = [*entry.meta.sizes, *entry.meta.strides, entry.meta.offset]
    if any(not isinstance(number, int) or number < 0 for number in numbers):
        raise FrontendError(f"{what}: expected sizes, strides and an offset of at least 0, got {numbers}")
    sizes, strides = ([int(n) for n in part] for part in (entry.meta.sizes, entry.meta.strides))
    if len(sizes) > RANK:
        raise FrontendError(f"{what}: expected at most {RANK} dimensions, got {len(sizes)}")
    if too_big := excess(sizes, dtype.itemsize):
        raise FrontendError(f"{what}: expected {expectation()}, got {too_big}")
    if not prod(sizes):
        return np.zeros(sizes, dtype)
    last = int(entry.meta.offset) + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    stored = archive.size(path)
    if (last + 1) * dtype.itemsize > stored:
        raise FrontendError(f"{what}: expected {(last + 1) * dtype.itemsize} bytes in '{path}', got {stored}")
    flat = np.frombuffer(archive.view(path), np.uint8)[: stored // dtype.itemsize * dtype.itemsize].view(dtype)
    window = flat[int(entry.meta.offset) :]
    steps = [stride * dtype.itemsize for stride in strides]
    strided = np.lib.stride_tricks.as_strided(window, sizes, steps, writeable=False)
    # Entries begin anywhere in the file: numbers across the words of the memory are copied.
    return np.require(strided, requirements=["C", "A"])
