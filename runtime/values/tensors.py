"""Arrays at the edge of native code: alignment, and the specifications of inputs and outputs."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Mapping, Sequence
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
"""An array whose dtype is known at run time only."""

Kind: TypeAlias = tuple[tuple[int, ...], np.dtype[np.generic]]
"""Shape and dtype of an array."""

_BYTE = np.dtype(np.uint8)
# Typed to accept our arrays: a cast is a call, and these functions are half of the cost of calling a small model.
_view: Callable[[Array], c_char] = cast(Any, c_char.from_buffer)
_array: Callable[[tuple[int, ...], npt.DTypeLike, Array, int], Tensor] = cast(Any, np.ndarray)
_NDARRAY: Any = np.ndarray

_NO_VIEW = (TypeError, ValueError, BufferError)
"""Errors for an array that is read-only, empty, not contiguous, or of a dtype that only numpy knows."""

ALIGNMENT = 64
"""The alignment in bytes that kernels may assume of every buffer that we allocate."""
LARGE = 1 << 15
"""The bytes from which an output may reuse the memory of earlier outputs; allocators keep smaller blocks."""
_HUGE_PAGE = 1 << 21
"""The bytes of a huge page on most machines."""
_MADV_HUGEPAGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
"""None if the system takes no advice on huge pages."""


@dataclass(frozen=True)
class TensorSpec:
    """Name, shape and dtype of an input or output of a program."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    layers: tuple[tuple[str, ...], ...] = field(default=(), kw_only=True, repr=False)
    """Per extent, the layers that accept no other extent, each with its file; empty if no extent has any."""

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{described(self.shape, self.dtype)} '{self.name}'"

    def accept(self, value: Any) -> Any:
        """Return a caller's value as the input that it stands for, here an array; see `values.py`.

        Raises Unsuitable, whose text says what was expected and what the value is.
        """
        try:
            array = converted(value, self.dtype)
        except Unsuitable as unsuitable:
            raise Unsuitable(f"expected {self}, got {unsuitable}") from None
        if not self.takes(array.shape):
            layers = _layers_against(self, array.shape)
            dtype = cast(Array, value if isinstance(value, np.ndarray) else array).dtype
            raise Unsuitable(f"expected {self}, got {described(array.shape, dtype)}{layers}")
        return array

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Return whether an array of a shape fits."""
        return shape == self.shape


def aligned_empty(shape: Sequence[int], dtype: npt.DTypeLike) -> Tensor:
    """Return a C-contiguous array with undefined contents at a 64-byte boundary."""
    return _placed(tuple(shape), dtype, prod(shape) * np.dtype(dtype).itemsize)[0]


def _placed(shape: tuple[int, ...], dtype: npt.DTypeLike, size: int) -> tuple[Tensor, int]:
    """Return a new array of `size` bytes at a 64-byte boundary, and its address."""
    raw = np.empty(size + ALIGNMENT, _BYTE)
    start = address(raw)
    offset = -start % ALIGNMENT
    return _array(shape, dtype, raw, offset), start + offset


def lasting_empty(shape: Sequence[int], dtype: npt.DTypeLike) -> Tensor:
    """Return an array as `aligned_empty` does, but in huge pages as far as it fills them and the system has them.

    A decoder's step reads each weight once: with small pages it waits for page tables as long as for the weights.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < _HUGE_PAGE or _MADV_HUGEPAGE is None:
        return aligned_empty(shape, dtype)
    try:
        memory = mmap.mmap(-1, size + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        raw = np.frombuffer(memory, _BYTE)
        offset = -address(raw) % _HUGE_PAGE
        memory.madvise(_MADV_HUGEPAGE, offset, size // _HUGE_PAGE * _HUGE_PAGE)
    except (OSError, OverflowError):  # a system without huge pages, or without so much memory
        return aligned_empty(shape, dtype)
    return _array(tuple(shape), dtype, raw, offset)


def aligned(array: Array) -> Array:
    """Return `array` itself if it is C-contiguous at a 64-byte boundary, else a copy that is."""
    return array if _is_aligned(array) else _copied(array, aligned_empty)


def lasting(array: Array) -> Array:
    """Return an array as `aligned` does; a copy lies in the memory of `lasting_empty`."""
    return array if _is_aligned(array) else _copied(array, lasting_empty)


def _is_aligned(array: Array) -> bool:
    return array.flags.c_contiguous and not address(array) % ALIGNMENT


def _copied(array: Array, empty: Callable[[Sequence[int], npt.DTypeLike], Tensor]) -> Array:
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def address(array: Array) -> int:
    try:
        # This takes a quarter of the time of `ctypes.data`, and limits how fast small models can be called.
        return addressof(_view(array))
    except _NO_VIEW:
        return int(array.ctypes.data)


def readable(array: Array) -> Array:
    """Return `array` itself if it is C-contiguous and aligned to 4 bytes and to its element, else an aligned copy."""
    if array.flags.c_contiguous and not address(array) % _boundary(array.dtype):
        return array
    return aligned(array)


def _boundary(dtype: np.dtype[Any]) -> int:
    """Return the number of bytes that divides the address of every input of this dtype."""
    return max(4, min(dtype.itemsize, ALIGNMENT))


class Arguments:
    """The arrays of calls of native code; all work that depends only on shapes and dtypes is done here, once.

    inputs, outputs: the shape and dtype of each.
    """

    def __init__(self, inputs: Iterable[Kind], outputs: Iterable[Kind]):
        self._inputs = tuple((shape, dtype, _boundary(dtype)) for shape, dtype in inputs)
        self._outputs = tuple((shape, dtype, prod(shape) * dtype.itemsize) for shape, dtype in outputs)

    def ready(self, arrays: Sequence[Any]) -> list[int] | None:
        """Return the addresses of the inputs, or None if kernels cannot read some array in place.

        An array can be read in place if it has the right shape and dtype and is as `readable` leaves it. None is no
        error: the caller then checks the arrays and makes them readable.
        """
        addresses: list[int] = []
        for array, (shape, dtype, boundary) in zip(arrays, self._inputs, strict=True):
            if not isinstance(array, _NDARRAY) or array.shape != shape or array.dtype != dtype:
                return None
            try:
                # An array that is not contiguous has no such view.
                at = addressof(_view(array))
            except _NO_VIEW:
                if not array.flags.c_contiguous:
                    return None
                at = int(array.ctypes.data)
            if at % boundary:
                return None
            addresses.append(at)
        return addresses

    def outputs(
        self, take: Callable[[int], tuple[Tensor, int]] | None = None, given: Mapping[int, Tensor] | None = None
    ) -> tuple[list[Tensor], list[int]]:
        """Return new arrays for the outputs, 64-byte aligned and with undefined contents, and their addresses.

        take: allocates so many aligned bytes for a large output, and returns their address, too. given: arrays for
        outputs by their numbers.
        """
        arrays: list[Tensor] = []
        addresses: list[int] = []
        for number, (shape, dtype, size) in enumerate(self._outputs):
            if given is not None and number in given:
                array, at = given[number], address(given[number])
            elif take is not None and size >= LARGE:
                raw, at = take(size)
                array = _array(shape, dtype, raw, 0)
            else:
                array, at = _placed(shape, dtype, size)
            arrays.append(array)
            addresses.append(at)
        return arrays, addresses


def _layers_against(spec: TensorSpec, shape: tuple[int, ...]) -> str:
    """Return a suffix that names the layers that reject these extents; "" if there are none."""
    if not len(shape) == len(spec.shape) == len(spec.layers):
        return ""
    columns = zip(spec.layers, shape, spec.shape, strict=True)
    return named(dict.fromkeys(layer for layers, n, expected in columns if n != expected for layer in layers))


def named(layers: Iterable[str]) -> str:
    """Return a suffix of an error's text that names layers; "" if there are none."""
    return f" ({enumerated(tuple(layers))})" if layers else ""
