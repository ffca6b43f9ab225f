"""TVM's modules, and those of ours that have their names."""

from __future__ import annotations

_OURS, _THEIRS = "whence", "tvm"
ELSEWHERE = {
    "tvm.driver.tvmc.main": "tvm.driver.tvmc",
    "tvm.ir.module": "tvm.ir",
    "tvm.relay.backend.utils": "tvm.relay.backend.name_transforms",
    "tvm.runtime.name_transforms": "tvm.relay.backend.name_transforms",
    "tvm.ir.transform": "tvm.transform",
    **{f"tvm.ir.{name}": "tvm.ir" for name in ("container", "expr", "function", "type", "type_relation")},
    **{f"tvm.tir.{name}": "tvm.tir" for name in ("buffer", "expr", "stmt")},
    **{f"tvm.tir.schedule.{name}": "tvm.tir.schedule" for name in ("schedule", "trace")},
    "tvm.tir.schedule.testing": "tvm.ir.schedule_testing",
}
"""Modules of TVM's whose names ours of another one has."""
_MOVED = {
    "tvm.script.parser": "tvm.script",
    "tvm.script.tirx": "tvm.script.tir",
    "tvm.tirx": "tvm.tir",
}
"""Modules that are elsewhere here, or that newer releases of TVM call otherwise, with all that is in them."""


def home(name: str) -> str | None:
    """Return the name of our module for one of TVM's, whether it exists or not; None for a module of others."""
    for theirs, here in _MOVED.items():
        if name == theirs or name.startswith(f"{theirs}."):
            name = here + name.removeprefix(theirs)
    name = ELSEWHERE.get(name, name)
    return _OURS + name.removeprefix(_THEIRS) if name.split(".")[0] == _THEIRS else None
