"""Memory of outputs that nobody holds any more, for the outputs of later runs.

Fresh memory costs a fault per page when it is first written, and allocators return large blocks to the system as soon
as they are freed: the keys and values of a decoder's step took as long to fault in as the step took to compute.
"""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import numpy as np

from ..values.tensors import Tensor, lasting_empty

_STEPS = 8
"""The capacities between a power of two and the next: an output that grows a little each step fits an earlier block."""
_WASTE = 2
"""The number of times that a block may be larger than the request that it serves."""


class ReturnedMemory:
    """Blocks of the outputs of earlier runs. Safe to use from several threads at once.

    At most as many bytes wait here as the largest run returned; blocks beyond that are freed.
    """

    def __init__(self) -> None:
        self._free: deque[Tensor] = deque()
        self._most = 0

    @property
    def waiting(self) -> int:
        """The bytes that are free for the next run."""
        return sum(map(_size, tuple(self._free)))

    def expect(self, nbytes: int) -> None:
        """Make room for the outputs of a run, which have so many bytes."""
        if nbytes > self._most:
            self._most = nbytes

    def take(self, nbytes: int) -> Tensor:
        """Return so many bytes or more at a 64-byte boundary; they come back when no array holds them any more."""
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
        """Remove the smallest free block that is large enough, and not far too large, and return it."""
        for block in sorted(tuple(self._free), key=_size):
            if nbytes <= block.nbytes <= _WASTE * _capacity(nbytes):
                try:
                    self._free.remove(block)
                except ValueError:  # another thread took it
                    continue
                return block
        return None


class _Lease:
    """A block in use by an output, as the base of the output's array and its views; it goes back when they are gone."""

    __slots__ = ("__array_interface__", "_block", "_owner")

    def __init__(self, owner: ReturnedMemory, block: Tensor):
        self._owner, self._block = owner, block
        self.__array_interface__: dict[str, Any] = block.__array_interface__

    def __del__(self) -> None:
        self._owner.give(self._block)


def _size(block: Tensor) -> int:
    return block.nbytes


def _capacity(nbytes: int) -> int:
    """Return the size of a block for so many bytes, at most an eighth larger."""
    step = max(1, 1 << (nbytes.bit_length() - 1)) // _STEPS or 1
    return -(-nbytes // step) * step
