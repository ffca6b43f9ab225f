"""Jobs measured by the workers of a cluster, each in a child process of a worker.

Workers come and go, and so may the scheduler: what was not answered is asked again. A job goes to workers of its kind
of machine only.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Self

from ..runtime.loading.machine_facts import kind_of, spelled
from ..runtime.loading.measuring_slot import START_SECONDS
from ..runtime.loading.outcomes import outcomes_of
from ..support.errors import PipelineError
from .connection import Connection, Disconnected, Worker
from .jobs import Collection, Failed, Job, Outcome, Part, parts
from .pool import Machines

_TRIES = 3
"""The number of attempts at a part that workers fail to measure."""
_SECONDS = 1.0
"""Seconds between looks at who works."""
_AHEAD = 2
"""Parts for each job that a worker measures at once: the next one is there when it ends."""
_LOST = "cancelled", "lost"
_PAUSE = 0.5
"""Seconds between attempts to reach a scheduler."""


class ClusterPool:
    """The workers of a scheduler of dask.distributed that have the resource `measure`.

    Each is started as `dask worker tcp://host:8786 --nthreads 1 --resources measure=1` where whence is installed.

    address, security, seconds: see `Connection`. patience: seconds without a worker for a job, or without the answer
    of one beyond the time that it may take, after which the job is given up.
    Raises PipelineError without dask.distributed, a scheduler that answers, or a worker.
    """

    def __init__(self, address: str, security: object = None, *, seconds: float = 10.0, patience: float = 120.0):
        self._connection = Connection(address, security, seconds)
        self._patience = patience
        try:
            if not self._workers():
                raise PipelineError(self._connection.missing)
        except BaseException:
            self.close()
            raise

    def machines(self) -> tuple[Machines, ...]:
        """Return the kinds of machines that measure now. Raises PipelineError when no scheduler answers."""
        kinds: dict[tuple[object, ...], Machines] = {}
        for worker in self._workers().values():
            first = kinds.get(kind_of(worker.facts), Machines(worker.facts, 0))
            kinds[kind_of(worker.facts)] = Machines(first.facts, first.workers + worker.jobs)
        return tuple(kinds.values())

    def measure(self, jobs: Sequence[Job]) -> Iterator[tuple[int, tuple[Outcome, ...]]]:
        """Yield the number of a job and an outcome for each of its candidates, as jobs are done.

        What no worker answers is `Failed("error", ..)` in the end. Raises PipelineError for a job for a machine that
        nobody knows.
        """
        yield from ((number, ()) for number, job in enumerate(jobs) if not job.candidates)
        campaign = _Campaign(self._connection, jobs, self._patience)
        collection = Collection(jobs)
        try:
            for part, outcomes in campaign.answers():
                if (done := collection.add(part, outcomes)) is not None:
                    yield done
        finally:
            campaign.cancel()

    def close(self) -> None:
        """Leave the cluster. Its workers stay."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _workers(self) -> dict[str, Worker]:
        try:
            return self._connection.workers()
        except Disconnected:
            try:
                self._connection.open()
                return self._connection.workers()
            except Disconnected as error:
                raise PipelineError(str(error)) from error


@dataclass
class _Running:
    """A part that some worker has been asked for."""

    part: Part
    addresses: frozenset[str]
    """The workers that may have it."""
    deadline: float
    """When it is overdue, on the monotonic clock."""


class _Campaign:
    """The parts of some jobs on their way: those that wait, those that run, and how often each was asked for."""

    def __init__(self, connection: Connection, jobs: Sequence[Job], patience: float):
        self._connection, self._jobs, self._patience = connection, jobs, patience
        self._workers: dict[str, Worker] = {}
        self._looked = 0.0
        self._connected = True
        self._waiting: list[Part] | None = None
        self._running: dict[Any, _Running] = {}
        self._tries: Counter[Part] = Counter()
        self._ends: SimpleQueue[object] = SimpleQueue()
        self._served: dict[object, float] = {}
        """Per kind of machine, when there was a worker of it, on the monotonic clock."""
        self._start = time.monotonic()

    def answers(self) -> Iterator[tuple[Part, list[Outcome]]]:
        """Yield outcomes of parts until all have some."""
        while self._waiting is None or self._waiting or self._running:
            try:
                self._look()
                self._check()
                self._submit()
            except Disconnected:
                self._reconnect()
            yield from self._given_up()
            with suppress(Empty):
                self._ends.get(timeout=_SECONDS if self._running else _PAUSE)
            yield from self._finished()

    def cancel(self) -> None:
        """Have workers forget what they have not begun."""
        for future in self._running:
            with suppress(Exception):
                future.cancel()
        self._running.clear()

    def _look(self) -> None:
        """See who works now, at most every second; parts that only those have who are gone wait again."""
        if time.monotonic() < self._looked + _SECONDS:
            return
        self._workers = self._connection.workers()
        self._connected, self._looked = True, time.monotonic()
        for worker in self._workers.values():
            self._served[kind_of(worker.facts)] = self._looked
        if self._waiting is None:
            self._waiting = parts(self._jobs, sum(worker.jobs for worker in self._workers.values()))
        for future, running in list(self._running.items()):
            if not running.addresses & self._workers.keys():
                self._again(future)
            elif running.deadline < self._looked:
                self._tries[running.part] += 1
                self._again(future)

    def _check(self) -> None:
        """Raise Disconnected when the scheduler forgot a part: it is another one then, or was not to be reached."""
        if any(future.status in _LOST for future in self._running):
            raise Disconnected("parts are lost")

    def _submit(self) -> None:
        """Give workers the parts that wait, no more than they need."""
        room: Counter[object] = Counter()
        addresses: dict[object, set[str]] = {}
        for address, worker in self._workers.items():
            kind = kind_of(worker.facts)
            room[kind] += _AHEAD * worker.jobs
            addresses.setdefault(kind, set()).add(address)
        for running in self._running.values():
            room[self._kind(running.part)] -= 1
        for part in list(self._waiting or ()):
            kind = self._kind(part)
            if room[kind] > 0 and self._tries[part] < _TRIES:
                job = self._jobs[part.job]
                future = self._connection.submit(job.packed(), part, addresses[kind], self._ends.put)
                seconds = (part.end - part.first + 1) * (job.protocol.seconds + START_SECONDS)
                deadline = time.monotonic() + _AHEAD * seconds + self._patience
                self._running[future] = _Running(part, frozenset(addresses[kind]), deadline)
                self._remove(part)
                room[kind] -= 1

    def _finished(self) -> Iterator[tuple[Part, list[Outcome]]]:
        """Yield the outcomes of the futures that are done; those of lost ones wait again."""
        for future, running in list(self._running.items()):
            if not future.done() or future.status in _LOST:
                continue
            try:
                outcomes = outcomes_of(json.loads(self._connection.result(future)))
            except Exception as error:
                # A failure of a worker or its connection is not a failure of the candidates.
                self._tries[running.part] += 1
                if self._tries[running.part] < _TRIES:
                    self._again(future)
                    continue
                outcomes = self._failed(running.part, f"{type(error).__name__}: {error}")
            del self._running[future]
            yield running.part, outcomes

    def _given_up(self) -> Iterator[tuple[Part, list[Outcome]]]:
        """Yield the failures of parts for which nobody was there, or that were asked for too often."""
        now = time.monotonic()
        if self._waiting is None:
            if now < self._start + self._patience:
                return
            self._waiting = parts(self._jobs, 1)
        for part in list(self._waiting):
            facts = self._jobs[part.job].machine
            if self._tries[part] >= _TRIES:
                why = f"expected an answer, got none at {_TRIES} attempts"
            elif now > self._served.get(kind_of(facts), self._start) + self._patience:
                actual = "no scheduler" if not self._connected else "none"
                why = f"expected a worker on {spelled(facts)} within {self._patience:g} s, got {actual}"
            else:
                continue
            self._remove(part)
            yield part, self._failed(part, why)

    def _failed(self, part: Part, why: str) -> list[Outcome]:
        return [Failed("error", f"cluster {self._connection.address}: {why}")] * (part.end - part.first)

    def _again(self, future: Any) -> None:
        """Let a part wait again, before all others."""
        running = self._running.pop(future)
        with suppress(Exception):
            future.cancel()
        assert self._waiting is not None
        self._waiting.insert(0, running.part)

    def _reconnect(self) -> None:
        """Have all parts wait again and connect anew, if somebody answers."""
        self._connected, self._workers = False, {}
        for future in reversed(list(self._running)):
            self._again(future)
        try:
            self._connection.open()
            self._looked = 0.0
        except Disconnected:
            time.sleep(_PAUSE)

    def _remove(self, part: Part) -> None:
        assert self._waiting is not None
        self._waiting.remove(part)

    def _kind(self, part: Part) -> object:
        return kind_of(self._jobs[part.job].machine)
