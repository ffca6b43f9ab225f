"""Drivers by TVM's names: `from whence.driver import tvmc`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("build_module", "tvmc"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
