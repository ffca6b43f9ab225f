"""Patterns of data flow, as `whence.dataflow_pattern`."""

from __future__ import annotations

from typing import Any

from whence import dataflow_pattern


def __getattr__(name: str) -> Any:
    return getattr(dataflow_pattern, name)


def __dir__() -> list[str]:
    return dir(dataflow_pattern)
