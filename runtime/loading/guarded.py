"""Memory for untrusted kernels, between canary bytes and pages that crash any access."""

from __future__ import annotations

import mmap
from math import prod

import numpy as np

from ..values.tensors import ALIGNMENT, Kind, Tensor
from .link import protect

_PAGE = mmap.PAGESIZE
_HUGE_PAGE = 1 << 21
_CANARY = 0xC3
_NOTHING = 0
"""PROT_NONE: a page that may neither be read nor written."""
_STEP = 5 * ALIGNMENT
"""The bytes between the offsets of buffers in their pages; at equal offsets, all would compete for few cache lines."""
_PROTECTIONS = {True: mmap.PROT_READ | mmap.PROT_WRITE, False: mmap.PROT_READ}


class Guarded:
    """An array at a 64-byte boundary, with undefined contents.

    Before and after it lie canary bytes up to a page's end, then a page that crashes any access. Raises MemoryError
    if the system has no such memory.
    """

    def __init__(self, kind: Kind, number: int = 0):
        """kind: the shape and dtype. number: the number of the buffer in a call, which decides its offset."""
        shape, dtype = kind
        size = prod(shape) * dtype.itemsize
        huge = size >= _HUGE_PAGE
        page = _HUGE_PAGE if huge else _PAGE
        self._offset = number * _STEP % _PAGE
        self._inside = -(-(self._offset + size) // _PAGE) * _PAGE or _PAGE
        try:
            self._memory = mmap.mmap(-1, self._inside + 2 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError) as error:
            raise MemoryError(f"a buffer of {size} bytes") from error
        self._bytes: Tensor = np.frombuffer(self._memory, np.uint8)
        start = int(self._bytes.ctypes.data)
        # The fence before it ends where a page of the buffer's page size begins.
        self._at = _PAGE + -(start + _PAGE) % page
        if huge and hasattr(mmap, "MADV_HUGEPAGE"):
            self._memory.madvise(mmap.MADV_HUGEPAGE, self._at, self._inside)
        self._start = start + self._at
        begin = self._at + self._offset
        self._before = self._bytes[self._at : begin]
        self._behind = self._bytes[begin + size : self._at + self._inside]
        self.bytes: Tensor = self._bytes[begin : begin + size]
        """The array's bytes."""
        self.array: Tensor = np.ndarray(shape, dtype, self._memory, begin)
        self.address = start + begin
        self._before[...] = self._behind[...] = _CANARY
        for fence in (self._start - _PAGE, self._start + self._inside):
            protect(fence, _PAGE, _NOTHING)

    def intact(self) -> bool:
        """Return whether the bytes around it are unchanged."""
        return bool((self._before == _CANARY).all() and (self._behind == _CANARY).all())

    def writable(self, allowed: bool) -> None:
        """Let writes to it pass, or crash."""
        protect(self._start, self._inside, _PROTECTIONS[allowed])
