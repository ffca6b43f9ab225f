"""What becomes of an access that would have left its buffer, in a model built with bound checkers."""

from __future__ import annotations

import ctypes
from threading import Lock
from typing import Protocol, runtime_checkable

from ..provenance.diagnostics import WhenceError, message
from ..provenance.span import fuse
from .artifact import Artifact, Call

CALLBACK = "whence_bound_error"
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

    def check(self, call: Call, code: object) -> None:
        """Raise WhenceError when the kernel reported something during `call`, or before it; forget it."""
        if self._first is None:
            return
        (site, dimension, index), self._first = self._first, None
        buffer, slots = code.sites[site] if isinstance(code, CheckedCode) else ("?", ())
        where = f"dimension {dimension} of buffer '{buffer}'" if dimension >= 0 else f"buffer '{buffer}'"
        location = fuse([call.layers[slot] for slot in slots])
        raise WhenceError(message(call.name, f"an index inside {where}", str(index), location))


def has_checks(artifact: Artifact) -> bool:
    """Whether some kernel tests its accesses."""
    return any(isinstance(kernel, CheckedCode) and kernel.sites for kernel in artifact.kernels)
