"""The te language: tensor expressions and their schedules.

>>> from whence import te
>>> A = te.placeholder((64, 64), name="A")
>>> B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
>>> s = te.create_schedule(B)
>>> outer, inner = s[B].split(B.op.axis[1], factor=16)
"""

from typing import Any

from ..support.rooms import homes_in, name_in


def __getattr__(name: str) -> Any:
    from .language.math import FUNCTIONS

    if name == "__all__":
        return __dir__()
    if name not in FUNCTIONS:
        return name_in(__name__, name)
    function = globals()[name] = FUNCTIONS[name]
    return function


def __dir__() -> list[str]:
    from .language.math import FUNCTIONS

    return sorted({*FUNCTIONS, *homes_in(__name__)})
