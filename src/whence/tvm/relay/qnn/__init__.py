"""Operators on quantised tensors, as TVM has them at `tvm.relay.qnn`: `qnn.op.conv2d`, and the passes on them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whence.relay.namespaces import NAMESPACES

_MODULES = ("op", "transform")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    return getattr(NAMESPACES["qnn"], name)


def __dir__() -> list[str]:
    return sorted([*_MODULES, *dir(NAMESPACES["qnn"])])
