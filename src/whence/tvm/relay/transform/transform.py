"""`relay.transform.transform`, where TVM defines what `relay.transform` has."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module("whence.relay.transform"), name)
