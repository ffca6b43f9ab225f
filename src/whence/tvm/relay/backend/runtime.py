"""The kind of runtime of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from whence.relay.backend.kinds import Kind


class Runtime(Kind):
    """`cpp`, whence's runtime, or `crt`, the C interface of exported files."""

    _KNOWN: ClassVar[Mapping[str, Mapping[str, type]]] = {"cpp": {"system-lib": bool}, "crt": {"system-lib": bool}}

    @classmethod
    def list_registered_runtimes(cls) -> list[str]:
        """The names of the runtimes."""
        return cls.list_registered()
