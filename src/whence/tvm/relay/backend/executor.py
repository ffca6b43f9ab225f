"""The kind of executor of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from whence.relay.backend.kinds import Kind


class Executor(Kind):
    """`graph` or `aot`. Their options have no effect: the export decides whether parameters are linked."""

    _KNOWN: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "aot": (
            "link-params",
            "unpacked-api",
            "interface-api",
            "workspace-byte-alignment",
            "constant-byte-alignment",
            "enable-usmp",
        ),
        "graph": ("link-params",),
    }

    @classmethod
    def list_registered_executors(cls) -> list[str]:
        """The names of the executors."""
        return cls.list_registered()
