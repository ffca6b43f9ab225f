"""Which runtime a program is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from whence.relay.backend.kinds import Kind


class Runtime(Kind):
    """`cpp`, what whence has, or `crt`, which the C interface of exported files stands for."""

    _KNOWN: ClassVar[Mapping[str, tuple[str, ...]]] = {"cpp": ("system-lib",), "crt": ("system-lib",)}

    @classmethod
    def list_registered_runtimes(cls) -> list[str]:
        """The names of the runtimes."""
        return cls.list_registered()
