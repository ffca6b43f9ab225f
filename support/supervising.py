"""Threads for whose work others wait: whatever happens to one, they are freed and get the reason."""

from __future__ import annotations

import threading
from collections.abc import Callable

Ended = Callable[[BaseException | None], object]
"""Frees what waits for a thread. Called in the thread, with what ended it: None for its work done."""


def supervised(work: Callable[[], object], ended: Ended, *, name: str | None = None) -> threading.Thread:
    """Return a daemon thread, started, that does some work and then calls `ended`, however the work ends.

    An error of the work goes to `ended`, and nowhere else. Raises RuntimeError where no thread can be started;
    `ended` is called with it before.
    """
    thread = threading.Thread(target=_run, args=(work, ended), name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        ended(error)
        raise
    return thread


def _run(work: Callable[[], object], ended: Ended) -> None:
    error: BaseException | None = None
    try:
        work()
    except BaseException as raised:
        error = raised
    ended(error)


def reason(error: BaseException) -> str:
    """Return an error as a sentence for who waited: its kind, and its text if it has one."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
