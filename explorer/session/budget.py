"""The time that films of schedules may take: as each frame has all stages anew, so much for each primitive."""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """CPU seconds of this thread, from now on."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self.seconds, self._clock, self._begin = seconds, clock, clock()

    @property
    def spent(self) -> float:
        """The seconds since the beginning."""
        return self._clock() - self._begin

    def lasts(self, part: float = 1.0) -> bool:
        """Return whether less than a part of it is spent."""
        return self.spent < self.seconds * part


UNLIMITED = Budget(float("inf"))
