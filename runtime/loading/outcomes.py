"""Jobs of measuring, and outcomes: plain data that travels as JSON."""

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

    Seconds of a kernel on one thread are those that a processor works for it; on several, those of the wall's clock.
    """
    batch_seconds: float = 2e-3
    """The least seconds of a batch of calls, of which the mean counts."""
    threads: int = 1
    rotate_bytes: int = 0
    """Weights are copied until all copies together have so many bytes, and calls go round them: weights come from
    memory then, as in a network. 0: one copy, which caches hold."""
    seconds: float = 10.0
    """The most that one candidate may take, all in all: then it is stopped. It counts for the default kernel, too."""
    memory_bytes: int = 8 << 30
    """The most bytes of address space of the measuring process."""


@dataclass(frozen=True)
class JobKernel:
    """A kernel of a job."""

    symbol: str
    workspace: int
    """Bytes of scratch that a call needs."""
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class JobHead:
    """The contents of a job, beside objects and inputs."""

    codes: tuple[JobKernel, ...]
    """The default kernel, then the candidates."""
    weights: tuple[int, ...]
    """The numbers of inputs that are weights."""
    outputs: tuple[ArrayKind, ...]
    protocol: Protocol
    machine: dict[str, Any]
    """Facts of machine_facts.py."""


@dataclass(frozen=True)
class Request:
    """The candidates of a job that a process is asked for, and how it may run."""

    first: int
    end: int
    """The candidates are those from `first` to before this one."""
    cpus: tuple[int, ...]
    """Processors; none where it may run on any."""
    memory_bytes: int


@dataclass(frozen=True)
class Started:
    """The answer of a process that has run the default kernel, or why it has not."""

    failed: str | None = None


@dataclass(frozen=True)
class Measured:
    """A candidate whose results are those of the default kernel, and its times."""

    ratios: tuple[float, ...]
    """Per alternation, seconds of the default over seconds of the candidate: above 1 the candidate is faster."""
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
        """The median's confidence interval of at least 95 % by the sign test: two of the ratios in their order.

        Fewer than 6 ratios exclude nothing: (0, infinity).
        """
        skipped = _skipped(len(self.ratios))
        if skipped < 0:
            return 0.0, ALL
        ordered = sorted(self.ratios)
        return ordered[skipped], ordered[-1 - skipped]


Kind = Literal["wrong", "crash", "hang", "error"]


@dataclass(frozen=True)
class Failed:
    """A candidate without times, and the reason.

    wrong: results differ from the default's, or memory that is none of its outputs. crash: it ended the process. hang:
    it took longer than the protocol allows. error: it was not measured, for a reason that may be none of its own.
    """

    kind: Kind
    why: str


Outcome = Measured | Failed


def outcomes_of(values: object) -> list[Outcome]:
    """Return the outcomes that JSON values describe. Raises FrontendError for anything else."""
    return JSON.decode(list[Outcome], values, "outcomes")


def _skipped(count: int) -> int:
    """Return how many of `count` numbers, at either end, lie outside the interval of the sign test; -1: all inside.

    The median lies below the k-th smallest of n with the probability that fewer than k of n fair coins show heads.
    """
    tail, below = 0.0, -1
    for heads in range(count // 2):
        tail += math.comb(count, heads) / 2**count
        if tail > (1 - CONFIDENCE) / 2:
            break
        below = heads
    return below
