"""Arrays at the edge of native code: alignment, and the specifications of inputs and outputs."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ...support.dtypes import Array
from ...support.errors import enumerated
from .values import Unsuitable, converted, described

Tensor = npt.NDArray[Any]
"""An array that we made; its dtype is known when it runs."""

Kind: TypeAlias = tuple[tuple[int, ...], np.dtype[np.generic]]
"""Shape and dtype of an array."""

_BYTE = np.dtype(np.uint8)
# Typed as what they also take: a cast is a call, and these are half of what a call of a small model costs.
_view: Callable[[Array], c_char] = cast(Any, c_char.from_buffer)
_array: Callable[[tuple[int, ...], npt.DTypeLike, Array, int], Tensor] = cast(Any, np.ndarray)
_NDARRAY: Any = np.ndarray

_NO_VIEW = (TypeError, ValueError, BufferError)
"""Of an array that is read-only, empty, not contiguous, or of a dtype that is numpy's alone."""

ALIGNMENT = 64
"""Bytes; what kernels may assume of every buffer that we allocate."""
LARGE = 1 << 15
"""Bytes of an output for which memory of earlier ones may be worth a look; allocators keep smaller blocks."""
_HUGE_PAGE = 1 << 21
"""Bytes, of the huge pages of most machines."""
_MADV_HUGEPAGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
"""None where the system has no advice on them."""


@dataclass(frozen=True)
class TensorSpec:
    """Name, shape and dtype of an input or output of a program."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    layers: tuple[tuple[str, ...], ...] = field(default=(), kw_only=True, repr=False)
    """Per extent the layers that take no other, each with its file; nothing at all where there are none."""

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{described(self.shape, self.dtype)} '{self.name}'"

    def accept(self, value: Any) -> Any:
        """The value of an input that a caller's value stands for, here an array; see `values.py`.

        Raises Unsuitable, with the text of what was expected and what came.
        """
        try:
            array = converted(value, self.dtype)
        except Unsuitable as unsuitable:
            raise Unsuitable(f"expected {self}, got {unsuitable}") from None
        if not self.takes(array.shape):
            behind = _layers_against(self, array.shape)
            dtype = cast(Array, value if isinstance(value, np.ndarray) else array).dtype
            raise Unsuitable(f"expected {self}, got {described(array.shape, dtype)}{behind}")
        return array

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Return whether an array of a shape fits."""
        return shape == self.shape


def aligned_empty(shape: Sequence[int], dtype: npt.DTypeLike) -> Tensor:
    """A C-contiguous array with undefined contents at a 64-byte boundary."""
    return _placed(tuple(shape), dtype, prod(shape) * np.dtype(dtype).itemsize)[0]


def _placed(shape: tuple[int, ...], dtype: npt.DTypeLike, size: int) -> tuple[Tensor, int]:
    """A new array of `size` bytes at a 64-byte boundary, and its address."""
    raw = np.empty(size + ALIGNMENT, _BYTE)
    start = address(raw)
    offset = -start % ALIGNMENT
    return _array(shape, dtype, raw, offset), start + offset


def lasting_empty(shape: Sequence[int], dtype: npt.DTypeLike) -> Tensor:
    """As `aligned_empty`, of memory that is to be kept: where the system has huge pages, all that fill one are such.

    What reads weights once, as a decoder's step does, waits for the tables of small pages as long as for the weights.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < _HUGE_PAGE or _MADV_HUGEPAGE is None:
        return aligned_empty(shape, dtype)
    try:
        memory = mmap.mmap(-1, size + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        raw = np.frombuffer(memory, _BYTE)
        offset = -address(raw) % _HUGE_PAGE
        memory.madvise(_MADV_HUGEPAGE, offset, size // _HUGE_PAGE * _HUGE_PAGE)
    except (OSError, OverflowError):  # a system without them, or so much memory that there is none
        return aligned_empty(shape, dtype)
    return _array(tuple(shape), dtype, raw, offset)


def aligned(array: Array) -> Array:
    """`array` itself if it is C-contiguous at a 64-byte boundary, else such a copy (broadcast views become whole)."""
    return array if _is_aligned(array) else _copied(array, aligned_empty)


def lasting(array: Array) -> Array:
    """As `aligned`, for an array that is kept."""
    return array if _is_aligned(array) else _copied(array, lasting_empty)


def _is_aligned(array: Array) -> bool:
    return array.flags.c_contiguous and not address(array) % ALIGNMENT


def _copied(array: Array, empty: Callable[[Sequence[int], npt.DTypeLike], Tensor]) -> Array:
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def address(array: Array) -> int:
    try:
        # A quarter of the time that `ctypes.data` takes; small models are called as fast as this is.
        return addressof(_view(array))
    except _NO_VIEW:
        return int(array.ctypes.data)


def readable(array: Array) -> Array:
    """`array` itself if a kernel can read it as an input: C-contiguous, aligned to 4 bytes and to its element."""
    if array.flags.c_contiguous and not address(array) % _boundary(array.dtype):
        return array
    return aligned(array)


def _boundary(dtype: np.dtype[Any]) -> int:
    """Return the number of bytes that divides the address of every input of this dtype."""
    return max(4, min(dtype.itemsize, ALIGNMENT))


class Arguments:
    """The arrays of calls of native code: their kinds are known once, so that a call does only what it must.

    inputs, outputs: the shape and dtype of each.
    """

    def __init__(self, inputs: Iterable[Kind], outputs: Iterable[Kind]):
        self._inputs = tuple((shape, dtype, _boundary(dtype)) for shape, dtype in inputs)
        self._outputs = tuple((shape, dtype, prod(shape) * dtype.itemsize) for shape, dtype in outputs)

    def ready(self, arrays: Sequence[Any]) -> list[int] | None:
        """The addresses of as many arrays as there are inputs, or None unless each can be read as it is.

        That is, has the right shape and dtype and is as `readable` leaves it. None is no error: the arrays are then to
        be checked, and made readable.
        """
        addresses: list[int] = []
        for array, (shape, dtype, boundary) in zip(arrays, self._inputs, strict=True):
            if not isinstance(array, _NDARRAY) or array.shape != shape or array.dtype != dtype:
                return None
            try:
                # Of what is not contiguous there is no view.
                at = addressof(_view(array))
            except _NO_VIEW:
                if not array.flags.c_contiguous:
                    return None
                at = int(array.ctypes.data)
            if at % boundary:
                return None
            addresses.append(at)
        return addresses

    def outputs(self, take: Callable[[int], Tensor] | None = None) -> tuple[list[Tensor], list[int]]:
        """New arrays for the outputs, 64-byte aligned and with undefined contents, and their addresses.

        take: gives large outputs so many aligned bytes.
        """
        arrays: list[Tensor] = []
        addresses: list[int] = []
        for shape, dtype, size in self._outputs:
            if take is not None and size >= LARGE:
                raw = take(size)
                array, at = _array(shape, dtype, raw, 0), address(raw)
            else:
                array, at = _placed(shape, dtype, size)
            arrays.append(array)
            addresses.append(at)
        return arrays, addresses


def _layers_against(spec: TensorSpec, shape: tuple[int, ...]) -> str:
    """The layers that take no such extents, if there are any."""
    if not len(shape) == len(spec.shape) == len(spec.layers):
        return ""
    columns = zip(spec.layers, shape, spec.shape, strict=True)
    return named(dict.fromkeys(layer for layers, n, wanted in columns if n != wanted for layer in layers))


def named(layers: Iterable[str]) -> str:
    """Layers behind an error's text, nothing where there are none."""
    return f" ({enumerated(tuple(layers))})" if layers else ""
