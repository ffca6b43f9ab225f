"""Memory that the system refuses: one error reports it, in bytes, whoever asked for it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from ctypes import c_int64

from ...support.errors import MemoryRefused
from .program import REFUSED, Code


class RefusedMemory:
    """The memory that kernels of linked code did not get.

    Kernels cannot say for which run they asked. So every run during which some kernel was refused memory has failed.
    """

    def __init__(self, code: Code):
        counters = code.addresses.get(REFUSED, 0)
        self._count = c_int64.from_address(counters) if counters else c_int64(0)
        self._bytes = c_int64.from_address(counters + 8) if counters else c_int64(0)

    @property
    def count(self) -> int:
        """The number of refusals so far."""
        return self._count.value

    def check(self, count: int) -> None:
        """Raise MemoryRefused when there were more than `count` refusals."""
        if self._count.value != count:
            raise refused(self._bytes.value)


def refused(nbytes: int, what: str = "a kernel") -> MemoryRefused:
    return MemoryRefused(f"memory: expected {nbytes} bytes for {what}, which this process does not get")


@contextmanager
def asked_for(nbytes: int, what: str) -> Generator[None]:
    """Context in which numpy allocates so many bytes; raises MemoryRefused when it does not get them."""
    try:
        yield
    except (MemoryError, ValueError) as error:
        raise refused(nbytes, what) from error
