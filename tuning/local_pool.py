"""Jobs measured by processes of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Self

from ..runtime.loading.measuring_slot import Slot
from ..support.errors import PipelineError, expectation
from ..support.supervising import supervised
from .jobs import Collection, Job, Outcome, Part, parts
from .machines import machine_here
from .pool import Machines

Result = tuple[Part, list[Outcome]] | BaseException
"""A part with what came of it, or what ended a thread."""


class LocalPool:
    """Up to `slots` jobs at a time, each in a process that stays for later ones.

    The processes have processors of their own where all threads of all slots have one. Results do not depend on the
    number of slots; times do, as slots share caches and memory. Raises PipelineError for fewer than one slot.
    """

    def __init__(self, slots: int = 1):
        if slots < 1:
            raise PipelineError(expectation("local pool", "at least 1 slot", str(slots)))
        self._slots = [Slot(number, slots) for number in range(slots)]
        self._lock = threading.Lock()

    def machines(self) -> tuple[Machines, ...]:
        """Return this machine."""
        return (Machines(machine_here(), len(self._slots)),)

    def measure(self, jobs: Sequence[Job]) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
        """Yield the number of a job and an outcome for each of its candidates, as jobs are done.

        Whoever stops asking ends the processes. Raises PipelineError for a job for a machine that nobody knows.
        """
        with self._lock:
            collection, waiting, results = Collection(jobs), SimpleQueue[Part](), SimpleQueue[Result]()
            work = parts(jobs, len(self._slots))
            yield from ((number, ()) for number, job in enumerate(jobs) if not job.candidates)
            for part in work:
                waiting.put(part)
            threads: list[threading.Thread] = []
            try:
                for slot in self._slots[: len(work)]:
                    threads.append(supervised(partial(_serve, slot, jobs, waiting, results), partial(_end, results)))
                for _ in work:
                    result = results.get()
                    if isinstance(result, BaseException):
                        raise result
                    if (done := collection.add(*result)) is not None:
                        yield done
            except BaseException:
                _drop(waiting)
                for slot in self._slots:
                    slot.stop()
                _join(threads)
                self.close()
                raise
            _join(threads)

    def close(self) -> None:
        """End the processes; a later job starts others."""
        for slot in self._slots:
            slot.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _serve(slot: Slot, jobs: Sequence[Job], waiting: SimpleQueue[Part], results: SimpleQueue[Result]) -> None:
    """Measure parts with a slot until none waits."""
    while True:
        try:
            part = waiting.get_nowait()
        except Empty:
            return
        results.put((part, slot.measured(jobs[part.job].packed(), part.first, part.end)))


def _end(results: SimpleQueue[Result], error: BaseException | None) -> None:
    if error is not None:
        results.put(error)


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.join()


def _drop(waiting: SimpleQueue[Part]) -> None:
    try:
        while True:
            waiting.get_nowait()
    except Empty:
        return
