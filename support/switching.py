"""The interval at which Python's threads take turns."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

_SECONDS = 5e-5


class _Turns:
    """The sections that are open, and the interval from before the first of them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.open = 0
        self.before = 0.0


_turns = _Turns()


@contextmanager
def quick_turns() -> Generator[None]:
    """Have a thread that comes back from native code wait 50 us for Python rather than 5 ms.

    LLVM is called a dozen times for a kernel: with turns of 5 ms its thread waits longer than it works, while another
    thread lowers the next kernel. Sections may overlap: the last one to end brings back the interval of before.
    """
    with _turns.lock:
        if not _turns.open:
            _turns.before = sys.getswitchinterval()
            sys.setswitchinterval(min(_SECONDS, _turns.before))
        _turns.open += 1
    try:
        yield
    finally:
        with _turns.lock:
            _turns.open -= 1
            if not _turns.open:
                sys.setswitchinterval(_turns.before)
