"""Arrays that end where a page does, or begin there, beside pages that nobody may touch: a wrong access is a crash."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from whence.planning import assemble
from whence.runtime.values import tensors

Array = NDArray[Any]
Side = Literal["end", "begin"]

_PAGE = mmap.PAGESIZE
_GARBAGE = 0xA5
_NOTHING = 0  # PROT_NONE
_LIBC: Any = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Pages:
    """Memory between two pages that nobody may touch. Arrays in it are aligned as an input has to be, no more."""

    def __init__(self, side: Side):
        self.side: Side = side
        self._slack: list[NDArray[np.uint8]] = []

    def empty(self, shape: Sequence[int], dtype: npt.DTypeLike) -> Array:
        """An array of garbage that touches the fence at its side; at the end that is but for its alignment."""
        kind = np.dtype(dtype)
        size = prod(shape) * kind.itemsize
        pages = -(-size // _PAGE) * _PAGE
        memory = mmap.mmap(-1, pages + 2 * _PAGE)
        whole = np.frombuffer(memory, np.uint8)
        start = int(whole.ctypes.data)
        whole[_PAGE : _PAGE + pages] = _GARBAGE
        for fence in (start, start + _PAGE + pages):
            if _LIBC.mprotect(fence, _PAGE, _NOTHING):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        boundary = max(4, kind.itemsize)
        at = _PAGE if self.side == "begin" else _PAGE + (pages - size) // boundary * boundary
        self._slack += [whole[_PAGE:at], whole[at + size : _PAGE + pages]]
        return np.ndarray(tuple(shape), kind, memory, at)

    def copy(self, array: Array) -> Array:
        """An array of the same elements."""
        made = self.empty(array.shape, array.dtype)
        made[...] = array
        return made

    def check(self) -> None:
        """Fail when something was written between an array and a fence, and forget these places."""
        written = [part for part in self._slack if (part != _GARBAGE).any()]
        self._slack = []
        assert not written, f"written beside a buffer, at its {'begin' if self.side == 'end' else 'end'}"

    def copies(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Arrays of the same elements, by the same names."""
        return {name: self.copy(array) for name, array in inputs.items()}

    @contextmanager
    def everywhere(self) -> Generator[None]:
        """While it lasts every buffer that a compiled program gets is such an array: outputs, weights, the arena."""
        placed, lasting = tensors._placed, assemble.lasting  # pyright: ignore[reportPrivateUsage]

        def fenced(shape: tuple[int, ...], dtype: npt.DTypeLike, size: int) -> tuple[Array, int]:
            made = self.empty(shape, dtype)
            assert made.nbytes == size
            return made, int(made.ctypes.data)

        tensors._placed, assemble.lasting = fenced, self.copy  # pyright: ignore[reportPrivateUsage]
        try:
            yield
        finally:
            tensors._placed, assemble.lasting = placed, lasting  # pyright: ignore[reportPrivateUsage]
