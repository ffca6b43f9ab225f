"""TVM's modules, and those of ours that have their names."""

from __future__ import annotations

_OURS, _THEIRS = "whence", "tvm"
ELSEWHERE = {
    "tvm.driver.tvmc.main": "whence.driver.tvmc",
    "tvm.ir.module": "whence.ir",
    "tvm.relay.backend.utils": "whence.relay.backend.name_transforms",
    "tvm.runtime.name_transforms": "whence.relay.backend.name_transforms",
    "tvm.ir.transform": "whence.transform",
    **{f"tvm.ir.{name}": "whence.ir" for name in ("container", "expr", "function", "type", "type_relation")},
    **{f"tvm.tir.{name}": "whence.tir" for name in ("buffer", "expr", "stmt")},
}
"""Modules of TVM's whose names another module of ours has."""


def home(name: str) -> str | None:
    """Return the name of our module for one of TVM's, whether it exists or not; None for a module of others."""
    return _OURS + name.removeprefix(_THEIRS) if name.split(".")[0] == _THEIRS else None
