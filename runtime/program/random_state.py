"""The state of a program's random numbers: a seed, and a counter that every run increments.

A program with random operators has `STATE` among its parameters: four words, a key and the counter. The key is the
counter, encrypted with the seed by Threefry-2x32 of 20 rounds (Salmon et al., Parallel random numbers: as easy as
1, 2, 3; SC 2011), the generator of `dialects/relay/random.py`.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Any

import numpy as np

from ...support.dtypes import Array
from ...support.errors import PipelineError, expectation

STATE = "random.state"
"""The name of the parameter."""
WORDS = 4
"""The number of its words: two of a key, two of the counter."""
ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
"""The bits by which successive rounds rotate the second word, cyclically."""
PARITY = 0x1BD11BDA
ROUNDS = 20
LARGEST = (1 << 64) - 1
"""The largest seed."""


def check_seed(seed: object) -> int | None:
    """Return a seed, which may be None; raises PipelineError for anything but an integer of 64 bits."""
    if seed is None or (isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= LARGEST):
        return seed
    raise PipelineError(expectation("seed", "an integer from 0 to 2**64 - 1", repr(seed)))


def is_state(key: str) -> bool:
    """Return whether a constant's key in the pool is that of a state; modules that share a pool have one state each."""
    return key == STATE or key.removeprefix(f"{STATE}_").isdigit()


def encrypted(key: tuple[int, int], x: Any, y: Any) -> tuple[Any, Any]:
    """Return two arrays of uint32 words, encrypted with the two words of a key."""
    words = [np.uint32(word) for word in (*key, PARITY ^ key[0] ^ key[1])]
    x, y = x + words[0], y + words[1]
    for index in range(ROUNDS):
        rotation = np.uint32(ROTATIONS[index % len(ROTATIONS)])
        x = x + y
        y = ((y << rotation) | (y >> (np.uint32(32) - rotation))) ^ x
        if index % 4 == 3:
            block = index // 4 + 1
            x, y = x + words[block % 3], y + words[(block + 1) % 3] + np.uint32(block)
    return x, y


def initial(seed: int | None) -> Array:
    """Return the parameter as the compiler leaves it: the halves of the seed, and 1 if there is a seed."""
    low, high = halves(seed or 0)
    return np.array([low, high, seed is not None, 0], np.uint32)


def halves(number: int) -> tuple[int, int]:
    """Return the low and the high 32 bits of a 64-bit number."""
    return number & 0xFFFFFFFF, (number >> 32) & 0xFFFFFFFF


class RandomState:
    """A seed and a counter. Safe to use from several threads at once.

    seed: a number of 64 bits; the operating system gives one by default.
    """

    def __init__(self, seed: int | None = None):
        self.seed: int = int.from_bytes(os.urandom(8), "little") if seed is None else seed
        self._lock = Lock()
        self._next = 0

    @staticmethod
    def of(parameter: Array) -> RandomState:
        """Return the state that begins as the compiler left the parameter."""
        low, high, seeded, _ = (int(word) for word in parameter)
        return RandomState(low | high << 32 if seeded else None)

    def reset(self) -> None:
        """Set the counter back."""
        with self._lock:
            self._next = 0

    def advance(self) -> Array:
        """Return the words for a run, and increment the counter."""
        with self._lock:
            number = self._next
            self._next += 1
        return self._words(number)

    def current(self) -> Array:
        """Return the words that the next run gets; the counter stays."""
        return self._words(self._next)

    def _words(self, number: int) -> Array:
        low, high = halves(number)
        with np.errstate(over="ignore"):
            x, y = encrypted(halves(self.seed), np.array([low], np.uint32), np.array([high], np.uint32))
        return np.array([x[0], y[0], low, high], np.uint32)
