"""The kind of runtime of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from whence.relay.backend.kinds import Kind


class Runtime(Kind):
    """`cpp`, whence's runtime, or `crt`, the C interface of exported files."""

    _KNOWN: ClassVar[Mapping[str, tuple[str, ...]]] = {"cpp": ("system-lib",), "crt": ("system-lib",)}

    @classmethod
    def list_registered_runtimes(cls) -> list[str]:
        """The names of the runtimes."""
        return cls.list_registered()
