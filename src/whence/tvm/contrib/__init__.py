"""Executors and drawings, named as TVM does: `contrib.graph_executor`, `debugger.debug_executor`, `contrib.tedd`."""

from importlib import import_module
from typing import Any

_MODULES = ("cblas", "cc", "debugger", "graph_executor", "msc", "nvcc", "relay_viz", "target", "tedd", "utils")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'whence.contrib' has no attribute '{name}'")
