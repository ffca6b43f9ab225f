"""TVM's names at `relay.backend`: kinds of executors and runtimes, values of the interpreter, the virtual machine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whence.relay.backend.executor import Executor as Executor
from whence.relay.backend.runtime import Runtime as Runtime

_ELSEWHERE = {"te_compiler": "whence.relay.backend.te_compiler", "vm": "whence.relay.vm"}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return import_module(_ELSEWHERE[name])
    raise AttributeError(f"module 'whence.relay.backend' has no attribute '{name}'")
