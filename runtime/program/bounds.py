"""Errors of accesses that would have left their buffers, in a model built with bound checkers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from threading import Lock

from ...support.errors import WhenceError, enumerated, expectation
from .program import Call, KernelEntry

CALLBACK = "whence_bound_error"
"""`void (i64 site, i64 dimension, i64 index)`: what kernels call instead of an access that would leave its buffer."""

_Function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class BoundErrors:
    """The function that kernels call when an access would leave its buffer, and the first report that it got.

    Kernels cannot say for which run they work; whoever runs them holds `lock`.
    """

    address: int
    lock: Lock

    def __init__(self) -> None:
        self._first: tuple[int, int, int] | None = None
        self._function = _Function(self._report)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        self.lock = Lock()

    def _report(self, site: int, dimension: int, index: int) -> None:
        if self._first is None:
            self._first = (site, dimension, index)

    def check(self, name: str, where: Callable[[int], tuple[str, Sequence[str]]]) -> None:
        """Raise WhenceError, once, when a kernel reported something since the last check.

        name: the kernel; where: gives the buffer and the layers of an access by its number.
        """
        if self._first is None:
            return
        (site, dimension, index), self._first = self._first, None
        buffer, layers = where(site)
        inside = f"dimension {dimension} of buffer '{buffer}'" if dimension >= 0 else f"buffer '{buffer}'"
        raise WhenceError(expectation(name, f"an index inside {inside}", str(index), enumerated(layers)))


def checked_access(call: Call, kernel: KernelEntry) -> Callable[[int], tuple[str, Sequence[str]]]:
    """Return a function from the number of an access of the kernel that `call` runs to its buffer and layers."""

    def where(number: int) -> tuple[str, Sequence[str]]:
        site = kernel.sites[number]
        return site.buffer, tuple(dict.fromkeys(layer for slot in site.slots for layer in call.places[slot]))

    return where
