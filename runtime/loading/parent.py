"""Processes that end with their parent."""

from __future__ import annotations

import os
import select
import sys
import threading
from functools import partial

from ...support.supervising import supervised

_SECONDS = 1.0
"""Seconds between checks that the parent process is still alive."""


def end_with(parent: int) -> threading.Thread:
    """Start and return a thread that ends this process when its parent ends, whatever it is doing.

    Standard input ends then, or another process adopts this one. If the watch fails, it ends this process, too.
    """
    return supervised(partial(_watch, parent), lambda _: os._exit(1))


def _watch(parent: int) -> None:
    while os.getppid() == parent and not select.select([sys.stdin], [], [], _SECONDS)[0]:
        pass
