"""Memory of outputs that nobody holds any more, for the outputs of later runs.

Fresh memory costs a fault per page when it is first written, and allocators return large blocks to the system as soon
as they are freed: the keys and values of a decoder's step took as long to fault in as the step took to compute.
"""

from __future__ import annotations

from collections import deque
from ctypes import addressof, c_char
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from ..values.tensors import Tensor, lasting_empty

_STEPS = 8
"""The capacities between a power of two and the next: an output that grows a little each step fits an earlier block."""
_WASTE = 2
"""The number of times that a block may be larger than the request that it serves."""


class _Block:
    """Memory that runs write their outputs to, one after the other; a block is equal to itself only."""

    __slots__ = ("address", "memory", "nbytes")

    def __init__(self, nbytes: int):
        self.nbytes = nbytes
        array: Any = lasting_empty((nbytes,), _BYTE)
        self.memory: Any = (c_char * nbytes).from_buffer(array)
        self.address = addressof(self.memory)


class ReturnedMemory:
    """Blocks of the outputs of earlier runs. Safe to use from several threads at once.

    At most as many bytes wait here as the largest run returned; blocks beyond that are freed.
    """

    def __init__(self) -> None:
        self._free: deque[_Block] = deque()
        self._most = 0

    @property
    def waiting(self) -> int:
        """The bytes that are free for the next run."""
        return sum(map(_SIZE, tuple(self._free)))

    def expect(self, nbytes: int) -> None:
        """Make room for the outputs of a run, which have so many bytes."""
        if nbytes > self._most:
            self._most = nbytes

    def take(self, nbytes: int) -> tuple[Tensor, int]:
        """Return so many bytes or more at a 64-byte boundary, and their address.

        They come back when no array holds them any more.
        """
        block = self._fitting(nbytes)
        if block is None:
            block = _Block(_capacity(nbytes))
        lease = _Lease(block.nbytes, _BYTE, block.memory)
        lease.owner, lease.block = self, block
        return lease, block.address

    def give(self, block: _Block) -> None:
        """Keep a block that nobody holds any more, if there is room for it."""
        # A deque changes atomically, and a sum of a moment ago is good enough: no lock.
        if not self._free or self.waiting + block.nbytes <= _capacity(self._most) + block.nbytes // _STEPS:
            self._free.append(block)

    def _fitting(self, nbytes: int) -> _Block | None:
        """Remove the smallest free block that is large enough, and not far too large, and return it."""
        free, most = self._free, _WASTE * _capacity(nbytes)
        if len(free) == 1:
            # One output is the usual case, and after a large kernel each step of Python waits for memory.
            try:
                block = free.pop()
            except IndexError:  # another thread took it
                return None
            if nbytes <= block.nbytes <= most:
                return block
            free.append(block)
            return None
        for block in sorted(tuple(self._free), key=_SIZE):
            if nbytes <= block.nbytes <= most:
                try:
                    self._free.remove(block)
                except ValueError:  # another thread took it
                    continue
                return block
        return None


class _Lease(npt.NDArray[np.uint8]):
    """A block in use by an output, as the base of the output's array and its views; it goes back when they are gone.

    Its own base is no array: numpy keeps the last array of a chain of views, which would otherwise be the block.
    """

    owner: ReturnedMemory | None = None
    block: _Block

    def __del__(self) -> None:
        # A part of a lease, which is of the same class, owns nothing.
        if self.owner is not None:
            self.owner.give(self.block)


_BYTE = np.dtype(np.uint8)
_SIZE = attrgetter("nbytes")


def _capacity(nbytes: int) -> int:
    """Return the size of a block for so many bytes, at most an eighth larger."""
    step = max(1, 1 << (nbytes.bit_length() - 1)) // _STEPS or 1
    return -(-nbytes // step) * step
