"""The te language: tensor expressions and their schedules.

>>> from whence import te
>>> A = te.placeholder((64, 64), name="A")
>>> B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
>>> s = te.create_schedule(B)
>>> outer, inner = s[B].split(B.op.axis[1], factor=16)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .expr import Axis as Axis
    from .expr import Expr as Expr
    from .language import create_schedule as create_schedule
    from .math import abs as abs
    from .math import all as all
    from .math import any as any
    from .math import cast as cast
    from .math import div as div
    from .math import floordiv as floordiv
    from .math import floormod as floormod
    from .math import if_then_else as if_then_else
    from .math import indexdiv as indexdiv
    from .math import indexmod as indexmod
    from .math import isfinite as isfinite
    from .math import isinf as isinf
    from .math import isnan as isnan
    from .math import logical_not as logical_not
    from .math import maximum as maximum
    from .math import minimum as minimum
    from .math import power as power
    from .math import select as select
    from .math import sigmoid as sigmoid
    from .math import truncdiv as truncdiv
    from .math import truncmod as truncmod
    from .schedule import IterVar as IterVar
    from .schedule import Schedule as Schedule
    from .schedule import Stage as Stage
    from .tensor import Tensor as Tensor
    from .tensor import compute as compute
    from .tensor import const as const
    from .tensor import max as max
    from .tensor import min as min
    from .tensor import placeholder as placeholder
    from .tensor import prod as prod
    from .tensor import reduce_axis as reduce_axis
    from .tensor import sum as sum
    from .tensor import tag_scope as tag_scope

_HOMES = {
    ".expr": ("Axis", "Expr"),
    ".language": ("create_schedule",),
    ".schedule": ("IterVar", "Schedule", "Stage"),
    ".tensor": ("Tensor", "compute", "const", "max", "min", "placeholder", "prod", "reduce_axis", "sum", "tag_scope"),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name.startswith("_"):
        raise AttributeError(name)
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home, __package__), name)
    language = import_module(".math", __package__)
    if name in language.FUNCTIONS:
        return language.FUNCTIONS[name]
    if hasattr(language, name):
        return getattr(language, name)
    raise AttributeError(f"module 'whence.te' has no attribute '{name}'")
