"""Processes that end with the one that started them."""

from __future__ import annotations

import os
import select
import sys

_SECONDS = 1.0
"""Seconds between checks that the parent process is still alive."""


def end_with(parent: int) -> None:
    """End with who started this process, whatever it is doing: standard input ends then, or another adopts it."""
    while os.getppid() == parent and not select.select([sys.stdin], [], [], _SECONDS)[0]:
        pass
    os._exit(1)
