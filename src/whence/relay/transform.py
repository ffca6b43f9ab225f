"""Passes by TVM's names, for `relay.IRModule` as for modules of ops: all of `whence.transform`."""

from __future__ import annotations

from typing import Any

from whence import transform


def __getattr__(name: str) -> Any:
    return getattr(transform, name)


def __dir__() -> list[str]:
    return dir(transform)
