"""Processes that end with the one that started them."""

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
    """Return a thread, started, that ends this process with who started it, whatever it is doing.

    Standard input ends then, or another process adopts this one. A watch that fails ends it, too.
    """
    return supervised(partial(_watch, parent), lambda _: os._exit(1))


def _watch(parent: int) -> None:
    while os.getppid() == parent and not select.select([sys.stdin], [], [], _SECONDS)[0]:
        pass
