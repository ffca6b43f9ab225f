"""Marks that passes read: `compiler_begin`, `compiler_end`, `stop_fusion`."""

from __future__ import annotations

from typing import Any

from whence.relay.namespaces import NAMESPACES


def __getattr__(name: str) -> Any:
    return getattr(NAMESPACES["annotation"], name)
