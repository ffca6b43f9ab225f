"""Measuring jobs and their outcomes: plain data that travels as JSON."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any, Literal

from ...support.codec import JSON
from ..values.tensors import Kind as ArrayKind

ALL = math.inf
"""The upper end of an interval that excludes nothing."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Protocol:
    """The way in which candidates are measured beside the default kernel."""

    pairs: int = 3
    """The number of alternations of default and candidate.

    The seconds of a kernel are CPU time on one thread, wall-clock time on several.
    """
    batch_seconds: float = 2e-3
    """The minimal seconds of a batch of calls, of which the mean counts."""
    threads: int = 1
    rotate_bytes: int = 0
    """The bytes of all copies of the weights, through which calls rotate, so that weights come from memory as in a
    network. 0: one copy, which caches hold."""
    seconds: float = 10.0
    """The seconds after which a candidate, or the default kernel, is stopped."""
    memory_bytes: int = 8 << 30
    """The maximal bytes of address space of the measuring process."""


@dataclass(frozen=True)
class JobKernel:
    """A kernel of a job."""

    symbol: str
    workspace: int
    """The bytes of scratch that a call needs."""
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class JobHead:
    """The contents of a job except objects and inputs."""

    codes: tuple[JobKernel, ...]
    """The default kernel, then the candidates."""
    weights: tuple[int, ...]
    """The numbers of inputs that are weights."""
    outputs: tuple[ArrayKind, ...]
    protocol: Protocol
    machine: dict[str, Any]
    """The facts of machine_facts.py."""


@dataclass(frozen=True)
class Request:
    """A request to a process: candidates of a job, and the resources that it may use."""

    first: int
    end: int
    """The candidates are those from `first` to before this one."""
    cpus: tuple[int, ...]
    """The processors to run on; none for any."""
    memory_bytes: int


@dataclass(frozen=True)
class Started:
    """The answer of a process that has run the default kernel, or the reason why it has not."""

    failed: str | None = None


@dataclass(frozen=True)
class Measured:
    """A candidate whose results are those of the default kernel, and its times."""

    ratios: tuple[float, ...]
    """For each alternation, the default's seconds over the candidate's; above 1, the candidate is faster."""
    default_seconds: float
    """The median seconds of a call of the default kernel."""
    seconds: float
    """The median seconds of a call of the candidate."""
    disturbed: int = 0
    """The number of ratios that were taken while others used the processors."""

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """The median's confidence interval of at least 95 % by the sign test: two of the sorted ratios.

        Fewer than 6 ratios exclude nothing: (0, infinity).
        """
        last = _last_outside(len(self.ratios))
        if last < 0:
            return 0.0, ALL
        ordered = sorted(self.ratios)
        return ordered[last], ordered[-1 - last]


Kind = Literal["wrong", "crash", "hang", "error"]


@dataclass(frozen=True)
class Failed:
    """A candidate without times, and the reason.

    wrong: its results differ from the default's, or it wrote beside its outputs. crash: it ended the process. hang: it
    took longer than the protocol allows. error: it was not measured, perhaps through no fault of its own.
    """

    kind: Kind
    why: str


Outcome = Measured | Failed


def outcomes_of(values: object) -> list[Outcome]:
    """Return the outcomes that JSON values describe. Raises FrontendError for anything else."""
    return JSON.decode(list[Outcome], values, "outcomes")


def _last_outside(count: int) -> int:
    """Return the last index of `count` sorted numbers below the interval of the sign test; -1 if there is none.

    The median lies below the k-th smallest of n with the probability that fewer than k of n fair coins show heads.
    """
    tail, last = 0.0, -1
    for heads in range(count // 2):
        tail += math.comb(count, heads) / 2**count
        if tail > (1 - CONFIDENCE) / 2:
            break
        last = heads
    return last
