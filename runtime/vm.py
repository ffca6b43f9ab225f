"""What TVM has at `runtime.vm`, and is found where the compiler is installed."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module("whence.relay.vm"), name)
