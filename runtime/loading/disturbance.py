"""Signs that other processes used the processors during a measurement."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

try:
    import resource
except ImportError:  # no such system
    resource = None

SHARE = 0.2
"""The share of a processor that other processes may use beside a measurement."""
_SWITCHES_PER_SECOND = 10
"""The number of involuntary switches that happen even on an idle system."""
_STAT = Path("/proc/stat")
_IDLE = 3, 4
"""The columns of idle time, including waits for disks."""
_COLUMNS = 8
"""The number of columns from user to steal; these include the later ones."""


class Reading(NamedTuple):
    """Counters of the system and of this process."""

    switches: int
    """The number of times that this process had to leave a processor that it could have used."""
    busy: float
    """The seconds for which the processors were busy, for any process."""
    own: float
    """The seconds of processors that this process used."""
    time: float


class Disturbance:
    """The use of some processors by other processes; none on a system that does not report it."""

    def __init__(self, cpus: frozenset[int], stat: Path = _STAT):
        """stat: the file in which the system counts the ticks of its processors."""
        self._cpus, self._stat = cpus, stat
        self._tick = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01

    @staticmethod
    def here() -> Disturbance:
        """Return the use of the processors that this process may use."""
        has_mask = hasattr(os, "sched_getaffinity")
        return Disturbance(frozenset(os.sched_getaffinity(0) if has_mask else range(os.cpu_count() or 1)))

    def read(self) -> Reading:
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw if resource is not None else 0
        return Reading(switches, self._busy(), time.process_time(), time.perf_counter())

    def between(self, before: Reading, after: Reading) -> bool:
        """Return whether other processes used more than `SHARE` of a processor, or took one from this process."""
        seconds = after.time - before.time
        if after.switches - before.switches > int(seconds * _SWITCHES_PER_SECOND):
            return True
        return self._others(before, after) > SHARE * seconds

    def taken(self, before: Reading, after: Reading) -> float:
        """Return the part of the processors' time that other processes used; -1 where the system does not say."""
        seconds = (after.time - before.time) * len(self._cpus)
        if not after.busy or seconds <= 0:
            return -1.0
        return min(max(self._others(before, after) / seconds, 0.0), 1.0)

    def _others(self, before: Reading, after: Reading) -> float:
        """The least seconds of processors that other processes used."""
        # The system counts whole ticks, so each processor may have been busy for one tick less.
        return after.busy - before.busy - self._tick * len(self._cpus) - (after.own - before.own)

    def _busy(self) -> float:
        try:
            lines = self._stat.read_text().splitlines()
        except OSError:  # no such system
            return 0.0
        ticks = 0
        for line in lines:
            name, *words = line.split()
            if name.startswith("cpu") and name[3:].isdecimal() and int(name[3:]) in self._cpus:
                ticks += sum(int(word) for column, word in enumerate(words[:_COLUMNS]) if column not in _IDLE)
        return ticks * self._tick
