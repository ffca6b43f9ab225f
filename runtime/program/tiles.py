"""The permission to use tiles, which Linux gives to a process that asks for it; without it, their first use ends it."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

ARCH_PRCTL, REQUEST, TILE_DATA = 158, 0x1023, 18
"""The system call of x86-64, its request for a part of the state of threads (ARCH_REQ_XCOMP_PERM), and that part."""


@cache
def tiles_allowed() -> bool:
    """Ask for the permission, once, and return whether the process and those that it forks have it.

    Linux refuses it where the processor has no tiles, before version 5.16, and where the alternate signal stack of a
    thread is too small for their state.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    numbers = map(ctypes.c_long, (ARCH_PRCTL, REQUEST, TILE_DATA))
    return ctypes.CDLL(None).syscall(*numbers) == 0
