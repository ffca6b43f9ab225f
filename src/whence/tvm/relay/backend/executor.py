"""The kind of executor of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from whence.relay.backend.kinds import Kind


class Executor(Kind):
    """`graph` or `aot`. Their options have no effect: the export decides whether parameters are linked."""

    _KNOWN: ClassVar[Mapping[str, Mapping[str, type]]] = {
        "aot": {
            "link-params": bool,
            "unpacked-api": bool,
            "interface-api": str,
            "workspace-byte-alignment": int,
            "constant-byte-alignment": int,
            "enable-usmp": bool,
        },
        "graph": {"link-params": bool},
    }

    @classmethod
    def list_registered_executors(cls) -> list[str]:
        """The names of the executors."""
        return cls.list_registered()
