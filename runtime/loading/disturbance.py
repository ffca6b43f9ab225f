"""Signs that others used the processors while something was timed."""

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
"""Processors that others may use beside a measurement."""
_SWITCHES_PER_SECOND = 10
"""Involuntary switches that even an idle system makes."""
_STAT = Path("/proc/stat")
_IDLE = 3, 4
"""The columns of time that nobody used, waiting for disks included."""
_COLUMNS = 8
"""Columns from user to steal; later ones are contained in these."""


class Reading(NamedTuple):
    """Counters of the system and of this process."""

    switches: int
    """The times at which this process had to leave a processor that it could have used."""
    busy: float
    """Seconds of the processors, taken by whomever."""
    own: float
    """Seconds of processors that this process took."""
    time: float


class Disturbance:
    """The use that others make of some processors; on a system that does not say it, none."""

    def __init__(self, cpus: frozenset[int], stat: Path = _STAT):
        """stat: the file in which the system counts the ticks of its processors."""
        self._cpus, self._stat = cpus, stat
        self._tick = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01

    def read(self) -> Reading:
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw if resource is not None else 0
        return Reading(switches, self._busy(), time.process_time(), time.perf_counter())

    def between(self, before: Reading, after: Reading) -> bool:
        """Return whether others used more than `SHARE` of a processor, or took one from this process."""
        seconds = after.time - before.time
        if after.switches - before.switches > int(seconds * _SWITCHES_PER_SECOND):
            return True
        # The system counts whole ticks, so of each processor one more or less than it was.
        surely = after.busy - before.busy - self._tick * len(self._cpus) - (after.own - before.own)
        return surely > SHARE * seconds

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
