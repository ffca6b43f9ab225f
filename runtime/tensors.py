"""Arrays at the edge of native code: alignment, specifications, and the check of what a caller passes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..dialects.relay.constants import Array
from ..provenance.diagnostics import FrontendError

Tensor = npt.NDArray[Any]
"""An array that we made; its dtype is known when it runs."""

ALIGNMENT = 64
"""Bytes; what kernels may assume of every buffer that we allocate."""


@dataclass(frozen=True)
class TensorSpec:
    """Name, shape and dtype of an input or output of a program."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{_described(self.shape, self.dtype)} '{self.name}'"


def _described(shape: Sequence[int], dtype: np.dtype[Any]) -> str:
    return f"{dtype.name}[{', '.join(map(str, shape))}]"


def aligned_empty(shape: Sequence[int], dtype: npt.DTypeLike) -> Tensor:
    """A C-contiguous array with undefined contents at a 64-byte boundary."""
    dtype = cast("np.dtype[Any]", np.dtype(dtype))
    size = prod(shape) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -address(raw) % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(tuple(shape))


def aligned(array: Array) -> Array:
    """`array` itself if it is C-contiguous at a 64-byte boundary, else such a copy (broadcast views become whole)."""
    if array.flags.c_contiguous and not address(array) % ALIGNMENT:
        return array
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def address(array: Array) -> int:
    try:
        # A quarter of the time that `ctypes.data` takes; small models are called as fast as this is.
        return addressof(c_char.from_buffer(cast(Any, array)))
    except (
        TypeError,
        ValueError,
        BufferError,
    ):  # read-only, empty, not contiguous, or of a dtype that is numpy's alone
        return int(array.ctypes.data)


def readable(array: Array) -> Array:
    """`array` itself if a kernel can read it as an input: C-contiguous, aligned to 4 bytes and to its element."""
    if array.flags.c_contiguous and not address(array) % max(4, min(array.itemsize, ALIGNMENT)):
        return array
    return aligned(array)


def check_inputs(specs: Sequence[TensorSpec], given: Mapping[str, object]) -> list[Array]:
    """The arrays of `given` in the order of `specs`. What is no array is converted to the expected dtype.

    Raises FrontendError, one for all problems: missing and unknown names, shapes, dtypes.
    """
    problems = [f"missing {spec}" for spec in specs if spec.name not in given]
    known = {spec.name for spec in specs}
    problems += [f"unknown input '{name}'" for name in given if name not in known]
    arrays: list[Array] = []
    for spec in specs:
        if spec.name not in given:
            continue
        array = _as_array(given[spec.name], spec)
        if isinstance(array, str):
            problems.append(f"expected {spec}, got {array}")
        elif array.shape != spec.shape or array.dtype != spec.dtype:
            problems.append(f"expected {spec}, got {_described(array.shape, array.dtype)}")
        else:
            arrays.append(array)
    if problems:
        raise FrontendError("inputs: " + "; ".join(problems))
    return arrays


def _as_array(value: object, spec: TensorSpec) -> Array | str:
    """The array of a value, or what the value is where it cannot become one."""
    if isinstance(value, np.ndarray):
        return cast(Array, value)
    try:
        return np.asarray(value, dtype=spec.dtype)
    except (TypeError, ValueError, OverflowError):
        return f"a {type(value).__name__} that is no such array"
