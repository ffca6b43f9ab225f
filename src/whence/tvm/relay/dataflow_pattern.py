"""Patterns of data flow, as `whence.dataflow_pattern`."""

from __future__ import annotations

from typing import Any

from whence import dataflow_pattern


def __getattr__(name: str) -> Any:
    return __dir__() if name == "__all__" else getattr(dataflow_pattern, name)


def __dir__() -> list[str]:
    return [name for name in dir(dataflow_pattern) if not name.startswith("_")]
