"""The te language: tensor expressions and their schedules.

>>> from whence import te
>>> A = te.placeholder((64, 64), name="A")
>>> B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
>>> s = te.create_schedule(B)
>>> outer, inner = s[B].split(B.op.axis[1], factor=16)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import hybrid as hybrid
    from .affine_forms import AXIS_SEPARATOR as AXIS_SEPARATOR
    from .expr import Axis as Axis
    from .expr import Expr as Expr
    from .externs import call_extern as call_extern
    from .externs import call_packed as call_packed
    from .externs import extern as extern
    from .externs import register_func as register_func
    from .gradients import gradient as gradient
    from .intrin import decl_tensor_intrin as decl_tensor_intrin
    from .intrin_parameters import decl_buffer as decl_buffer
    from .itervar import IterVar as IterVar
    from .itervar import thread_axis as thread_axis
    from .language import create_schedule as create_schedule
    from .locations import located as located
    from .math import abs as abs
    from .math import all as all
    from .math import any as any
    from .math import atan2 as atan2
    from .math import bitwise_and as bitwise_and
    from .math import bitwise_not as bitwise_not
    from .math import bitwise_or as bitwise_or
    from .math import bitwise_xor as bitwise_xor
    from .math import call_pure_extern as call_pure_extern
    from .math import cast as cast
    from .math import ceildiv as ceildiv
    from .math import const as const
    from .math import copysign as copysign
    from .math import div as div
    from .math import exp10 as exp10
    from .math import floordiv as floordiv
    from .math import floormod as floormod
    from .math import fmod as fmod
    from .math import hypot as hypot
    from .math import if_then_else as if_then_else
    from .math import indexdiv as indexdiv
    from .math import indexmod as indexmod
    from .math import infinity as infinity
    from .math import isfinite as isfinite
    from .math import isinf as isinf
    from .math import isnan as isnan
    from .math import logical_not as logical_not
    from .math import max_value as max_value
    from .math import maximum as maximum
    from .math import min_value as min_value
    from .math import minimum as minimum
    from .math import power as power
    from .math import select as select
    from .math import shift_left as shift_left
    from .math import shift_right as shift_right
    from .math import sigmoid as sigmoid
    from .math import size_var as size_var
    from .math import truncdiv as truncdiv
    from .math import truncmod as truncmod
    from .math import var as var
    from .prim_func_calls import extern_primfunc as extern_primfunc
    from .reducers import comm_reducer as comm_reducer
    from .reducers import max as max
    from .reducers import min as min
    from .reducers import prod as prod
    from .reducers import reduce_axis as reduce_axis
    from .reducers import sum as sum
    from .scans import scan as scan
    from .schedule import Schedule as Schedule
    from .stage import Stage as Stage
    from .tensor import Tensor as Tensor
    from .tensor import compute as compute
    from .tensor import full as full
    from .tensor import placeholder as placeholder
    from .tensor import tag_scope as tag_scope

_HOMES = {
    ".expr": ("Axis", "Expr"),
    ".prim_func_calls": ("extern_primfunc",),
    ".externs": ("call_extern", "call_packed", "extern", "register_func"),
    ".language": ("create_schedule",),
    ".affine_forms": ("AXIS_SEPARATOR",),
    ".gradients": ("gradient",),
    ".intrin": ("decl_tensor_intrin",),
    ".intrin_parameters": ("decl_buffer",),
    ".itervar": ("IterVar", "thread_axis"),
    ".locations": ("located",),
    ".scans": ("scan",),
    ".schedule": ("Schedule",),
    ".stage": ("Stage",),
    ".reducers": ("comm_reducer", "max", "min", "prod", "reduce_axis", "sum"),
    ".tensor": ("Tensor", "compute", "full", "placeholder", "tag_scope"),
}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    # The next access finds it without coming here.
    found = globals()[name] = _find(name)
    return found


def _find(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home, __package__), name)
    if name == "hybrid":
        return import_module(".hybrid", __package__)
    language = import_module(".math", __package__)
    if name in language.FUNCTIONS:
        return language.FUNCTIONS[name]
    if hasattr(language, name):
        return getattr(language, name)
    raise AttributeError(f"module 'whence.te' has no attribute '{name}'")
