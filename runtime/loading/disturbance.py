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

    def read(self) -> Reading:
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw if resource is not None else 0
        return Reading(switches, self._busy(), time.process_time(), time.perf_counter())

    def between(self, before: Reading, after: Reading) -> bool:
        """Return whether other processes used more than `SHARE` of a processor, or took one from this process."""
        seconds = after.time - before.time
        if after.switches - before.switches > int(seconds * _SWITCHES_PER_SECOND):
            return True
        # The system counts whole ticks, so each processor may have been busy for one tick less.
        least = after.busy - before.busy - self._tick * len(self._cpus) - (after.own - before.own)
        return least > SHARE * seconds

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
