"""Pools that measure: the processes of this machine, or those of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from .jobs import Job, Outcome
from .machines import Facts


class Machines(NamedTuple):
    """Machines of one kind."""

    facts: Facts
    """The facts of one of the machines; jobs for it are jobs for all."""
    workers: int
    """The number of jobs that they measure at once."""


class Pool(Protocol):
    """A place to measure jobs."""

    def machines(self) -> tuple[Machines, ...]:
        """Return the machines that measure now, one entry per kind."""
        ...

    def measure(self, jobs: Sequence[Job]) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
        """Yield the number of a job and an outcome for each of its candidates, as jobs are done."""
        ...

    def close(self) -> None:
        """End all processes that measure for this pool."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
