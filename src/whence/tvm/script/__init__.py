"""TVMScript: kernels as the text that TVM's users write and read.

>>> import whence
>>> print(whence.script.text(whence.lower(schedule)["main"]))
"""

from __future__ import annotations

from whence.dialects.tir import PrimFuncOp
from whence.kernels.building import parsed_prim_func
from whence.support.doors import door
from whence.tir.function import PrimFunc


@door()
def text(func: PrimFunc | PrimFuncOp | str, version: str = "0.27") -> str:
    """Return a kernel, an op of tir or the text of one, as TVMScript.

    version: whose spelling, "0.27" or "0.14". Raises ScheduleError for what TVMScript cannot say, with its location.
    """
    if isinstance(func, str):
        func = parsed_prim_func(func)
    return (PrimFunc.of(func) if isinstance(func, PrimFuncOp) else func).script(version)
