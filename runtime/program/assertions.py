"""Errors of assertions of kernels that do not hold."""

from __future__ import annotations

import ctypes

from ...support.errors import WhenceError

_Function = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


class FailedAssertions:
    """The function that kernels call when an assertion fails, and the first report that it got."""

    address: int

    def __init__(self) -> None:
        self._first: str | None = None
        self._function = _Function(self._report)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def _report(self, text: bytes) -> None:
        if self._first is None:
            self._first = text.decode()

    def check(self, name: str) -> None:
        """Raise WhenceError, once, when an assertion failed since the last check."""
        if self._first is not None:
            text, self._first = self._first, None
            raise WhenceError(f"{name}: {text}")
