"""What becomes of an access that would have left its buffer, in a model built with bound checkers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Lock
from typing import Protocol, runtime_checkable

from xdsl.dialects.builtin import LocationAttr

from ..provenance.diagnostics import message
from ..provenance.span import fuse
from ..support.errors import WhenceError
from .artifact import Artifact, Call

_Function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@runtime_checkable
class CheckedCode(Protocol):
    """A kernel whose accesses are tested."""

    @property
    def sites(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Per number that the kernel reports: the buffer, and the slots of the ops that access it."""
        ...


class BoundErrors:
    """Listens to kernels: the function they call, and the first thing it was told.

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

    def check(self, name: str, where: Callable[[int], tuple[str, LocationAttr]]) -> None:
        """Raise WhenceError when a kernel reported something since the last time; forget it.

        name: of the kernel; where: the buffer that an access is of, and its location, by the number of the access.
        """
        if self._first is None:
            return
        (site, dimension, index), self._first = self._first, None
        buffer, location = where(site)
        inside = f"dimension {dimension} of buffer '{buffer}'" if dimension >= 0 else f"buffer '{buffer}'"
        raise WhenceError(message(name, f"an index inside {inside}", str(index), location))


def checked_access(call: Call, code: object) -> Callable[[int], tuple[str, LocationAttr]]:
    """The buffer and the layers of an access of the kernel that `call` runs, by its number."""

    def where(site: int) -> tuple[str, LocationAttr]:
        buffer, slots = code.sites[site] if isinstance(code, CheckedCode) else ("?", ())
        return buffer, fuse([call.layers[slot] for slot in slots])

    return where


def has_checks(artifact: Artifact) -> bool:
    """Whether some kernel tests its accesses."""
    return any(isinstance(kernel, CheckedCode) and kernel.sites for kernel in artifact.kernels)
