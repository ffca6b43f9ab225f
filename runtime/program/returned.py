"""Memory of outputs whose readers have dropped them, for the outputs of later runs.

Fresh memory costs a fault per page when it is first written, and allocators give large blocks back as soon as they are
freed: the keys and values that a step of a decoder returns took as long to fault in as the step took to compute.
"""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import numpy as np

from ..values.tensors import Tensor, lasting_empty

_STEPS = 8
"""Capacities between a power of two and the next: what grows at every step fits the block of a step before."""
_WASTE = 2
"""A block is taken for no fewer bytes than one such part of it."""


class ReturnedMemory:
    """Blocks that outputs of earlier runs had. Safe to use from several threads at once.

    No more bytes wait here than the largest run returned: of what a reader has kept beyond that, the rest is freed.
    """

    def __init__(self) -> None:
        self._free: deque[Tensor] = deque()
        self._most = 0

    @property
    def waiting(self) -> int:
        """The bytes that the next run may have."""
        return sum(map(_size, tuple(self._free)))

    def expect(self, nbytes: int) -> None:
        """Have room for what a run returns, of so many bytes."""
        if nbytes > self._most:
            self._most = nbytes

    def take(self, nbytes: int) -> Tensor:
        """At least so many bytes at a 64-byte boundary, which come back when nobody holds them or a view of them."""
        block = self._fitting(nbytes)
        if block is None:
            block = lasting_empty((_capacity(nbytes),), np.uint8)
        return np.asarray(cast(Any, _Lease(self, block)))

    def give(self, block: Tensor) -> None:
        """Keep a block that nobody holds any more, if there is room for it."""
        # A deque changes atomically, and a sum of a moment ago is good enough: no lock.
        if self.waiting + block.nbytes <= _capacity(self._most) + block.nbytes // _STEPS:
            self._free.append(block)

    def _fitting(self, nbytes: int) -> Tensor | None:
        """Take the smallest block that is large enough, and not far too large."""
        for block in sorted(tuple(self._free), key=_size):
            if nbytes <= block.nbytes <= _WASTE * _capacity(nbytes):
                try:
                    self._free.remove(block)
                except ValueError:  # another thread took it
                    continue
                return block
        return None


class _Lease:
    """A block that an output has, and with which it goes back: the base of the output's array and its views."""

    __slots__ = ("__array_interface__", "_block", "_owner")

    def __init__(self, owner: ReturnedMemory, block: Tensor):
        self._owner, self._block = owner, block
        self.__array_interface__: dict[str, Any] = block.__array_interface__

    def __del__(self) -> None:
        self._owner.give(self._block)


def _size(block: Tensor) -> int:
    return block.nbytes


def _capacity(nbytes: int) -> int:
    """Return the size of a block for so many bytes: at most an eighth more."""
    step = max(1, 1 << (nbytes.bit_length() - 1)) // _STEPS or 1
    return -(-nbytes // step) * step
