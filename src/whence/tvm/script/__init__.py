"""TVMScript: kernels as the text that TVM's users write and read.

>>> import whence
>>> print(whence.script.text(whence.lower(schedule)["main"]))
>>> func = whence.script.from_source(text)
>>> from whence.script import tir as T
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whence.dialects.tir import PrimFuncOp
from whence.kernels.building import parsed_prim_func
from whence.script.reading import from_source as from_source
from whence.script.reading import ir_module as ir_module
from whence.script.reading import parse as parse
from whence.script.reading import prim_func as prim_func
from whence.support.doors import door
from whence.tir.function import PrimFunc

_MODULES = {"tir": "tir", "tirx": "tir", "ir": "ir", "relax": "relax"}


@door()
def text(func: PrimFunc | PrimFuncOp | str, version: str = "0.27", *, exact: bool = False) -> str:
    """Return a kernel, an op of tir or the text of one, as TVMScript.

    version: whose spelling, "0.27" or "0.14". exact: as for `PrimFunc.script`. Raises ScheduleError for what TVMScript
    cannot say, with its location.
    """
    if isinstance(func, str):
        func = parsed_prim_func(func)
    return (PrimFunc.of(func) if isinstance(func, PrimFuncOp) else func).script(version, exact=exact)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
