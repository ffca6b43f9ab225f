"""An estimate of the time that a schedule takes, from what it issues and what it moves.

A schedule function says how many products, loads, passes of loops and bytes there are, as functions of its knobs; the
machine says how long each takes. Numbers and numpy arrays are taken alike, so that a formula is evaluated for all
points of a space at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from ...support.machine import Machine

_OVERLAP = 0.2
"""The part of what does not bound a loop that is not hidden behind what does."""


def where(condition: Any, true: Any, false: Any) -> Any:
    """Return the elements of `true` where a condition holds, else those of `false`."""
    return cast(Any, np).where(condition, true, false)


@dataclass(frozen=True)
class Rates:
    """A core's speed: what a probe measures, or what a machine is thought to do where there is none."""

    products: float = 4e9
    """Vector products with their sums that begin in a second."""
    loads: float = 4e9
    """Vectors loaded from the first cache, numbers broadcast, or vectors stored, in a second."""
    latency: float = 8.0
    """Products under way that keep the core busy: the cycles of one times how many begin in a cycle."""
    step: float = 5e-10
    """Seconds of a loop's own instructions for a pass."""
    l2: float = 60e9
    """Bytes a second from the second cache."""
    l3: float = 25e9
    memory: float = 12e9
    """Bytes a second from memory to one core, and to all: where that is the bound, threads do not help."""
    shared_memory: float = 20e9
    fork: float = 2e-6
    """Seconds until all threads are at work on a loop, and back."""
    tiles: Mapping[str, float] = field(default_factory=dict[str, float])
    """Operations in a second by products of tiles of a kind, `bf16` or `u8s8`; none: they were not measured."""
    threads: int = 1

    @staticmethod
    def of(machine: Machine, threads: int = 1) -> Rates:
        """The rates of a machine that was not measured, at three billion cycles a second."""
        return Rates(threads=threads) if machine.vector_bits >= 128 else Rates(products=1e9, threads=threads)


class Moved(NamedTuple):
    """Bytes that come from farther away than the first cache."""

    l2: Any = 0.0
    l3: Any = 0.0
    memory: Any = 0.0

    def also(self, other: Moved) -> Moved:
        """Return both together."""
        return Moved(*(mine + its for mine, its in zip(self, other, strict=True)))


NOTHING = Moved()


def moved(size: Any, times: Any, among: Any, machine: Machine) -> Moved:
    """The bytes that reading `size` bytes so many times moves.

    among: the bytes that are read between two of these times, they themselves included; what fits in a cache is found
    there.
    """
    again = size * times
    near, middle, far = (np.asarray(among) <= cache for cache in (machine.l1, machine.l2, machine.l3))
    return Moved(np.where(~near & middle, again, 0.0), np.where(~middle & far, again, 0.0), np.where(~far, again, 0.0))


@dataclass(frozen=True)
class Cost:
    """The work of one call of a kernel in all threads: numbers, or arrays of one for each point of a space."""

    products: Any = 0.0
    """Vector products with their sums, and other arithmetic on vectors; lanes that hold nothing count."""
    sums: Any = np.inf
    """Products that do not wait for each other, where each is added to a sum."""
    loads: Any = 0.0
    """Vectors loaded from the first cache, numbers broadcast, and vectors stored."""
    steps: Any = 0.0
    """Passes of loops that are not written out, innermost ones first of all."""
    moved: Moved = NOTHING
    """Bytes that are read again and are in no nearer cache, and weights, which come from memory once."""
    passes: Any = 0
    """Passes of the loop that threads share; 0: none does."""

    def seconds(self, rates: Rates) -> Any:
        """Return the estimated seconds of a call."""
        stalls = np.maximum(1.0, rates.latency / np.maximum(self.sums, 1.0))
        work = [
            np.asarray(self.products * stalls / rates.products),
            np.asarray(self.loads / rates.loads),
            np.asarray(self.moved.l2 / rates.l2),
            np.asarray(self.moved.l3 / rates.l3),
            np.asarray(self.moved.memory / rates.memory),
        ]
        longest: Any = work[0]
        for part in work[1:]:
            longest = np.maximum(longest, part)
        alone = longest + _OVERLAP * (sum(work) - longest) + self.steps * rates.step
        shared = np.asarray(self.passes) > 0
        passes = np.maximum(self.passes, 1)
        share = np.ceil(passes / rates.threads) / passes if rates.threads > 1 else 1.0
        together = np.maximum(alone * share, self.moved.memory / rates.shared_memory) + rates.fork
        return where(shared & (rates.threads > 1), together, alone)
