"""When Python looks for cyclic garbage."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def fewer_collections() -> Generator[None]:
    """Cyclic garbage collection made rare: it takes half the time of building IR, and finds nothing there.

    Nor does it while modules are loaded.
    """
    before = gc.get_threshold()
    gc.set_threshold(200_000, before[1], before[2])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def keep_all() -> None:
    """Count all that there is as long-lived, without looking for garbage in it.

    Nothing happens where somebody has frozen objects, as those would be thawed.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
