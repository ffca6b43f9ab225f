"""The te language: tensor expressions and their schedules.

>>> from whence import te
>>> A = te.placeholder((64, 64), name="A")
>>> B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
>>> s = te.create_schedule(B)
>>> outer, inner = s[B].split(B.op.axis[1], factor=16)
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .autodiff.gradients import gradient as gradient
    from .language import hybrid as hybrid
    from .language.affine_forms import AXIS_SEPARATOR as AXIS_SEPARATOR
    from .language.buffers import decl_buffer as decl_buffer
    from .language.expr import Axis as Axis
    from .language.expr import Expr as Expr
    from .language.externs import ExternOp as ExternOp
    from .language.externs import call_extern as call_extern
    from .language.externs import call_packed as call_packed
    from .language.externs import extern as extern
    from .language.externs import register_func as register_func
    from .language.hybrid import HybridOp as HybridOp
    from .language.locations import located as located
    from .language.math import abs as abs
    from .language.math import add as add
    from .language.math import all as all
    from .language.math import any as any
    from .language.math import atan2 as atan2
    from .language.math import bitwise_and as bitwise_and
    from .language.math import bitwise_not as bitwise_not
    from .language.math import bitwise_or as bitwise_or
    from .language.math import bitwise_xor as bitwise_xor
    from .language.math import call_pure_extern as call_pure_extern
    from .language.math import cast as cast
    from .language.math import ceildiv as ceildiv
    from .language.math import const as const
    from .language.math import copysign as copysign
    from .language.math import div as div
    from .language.math import divide as divide
    from .language.math import dot2 as dot2
    from .language.math import dot4 as dot4
    from .language.math import exp10 as exp10
    from .language.math import floordiv as floordiv
    from .language.math import floormod as floormod
    from .language.math import fmod as fmod
    from .language.math import hypot as hypot
    from .language.math import if_then_else as if_then_else
    from .language.math import indexdiv as indexdiv
    from .language.math import indexmod as indexmod
    from .language.math import infinity as infinity
    from .language.math import isfinite as isfinite
    from .language.math import isinf as isinf
    from .language.math import isnan as isnan
    from .language.math import ldexp as ldexp
    from .language.math import logical_and as logical_and
    from .language.math import logical_not as logical_not
    from .language.math import logical_or as logical_or
    from .language.math import logical_xor as logical_xor
    from .language.math import max_value as max_value
    from .language.math import maximum as maximum
    from .language.math import min_value as min_value
    from .language.math import minimum as minimum
    from .language.math import multiply as multiply
    from .language.math import nextafter as nextafter
    from .language.math import power as power
    from .language.math import reinterpret as reinterpret
    from .language.math import select as select
    from .language.math import shift_left as shift_left
    from .language.math import shift_right as shift_right
    from .language.math import sigmoid as sigmoid
    from .language.math import size_var as size_var
    from .language.math import subtract as subtract
    from .language.math import truncdiv as truncdiv
    from .language.math import truncmod as truncmod
    from .language.math import var as var
    from .language.math import widen_pairs as widen_pairs
    from .language.prim_func_calls import extern_primfunc as extern_primfunc
    from .language.reducers import comm_reducer as comm_reducer
    from .language.reducers import max as max
    from .language.reducers import min as min
    from .language.reducers import prod as prod
    from .language.reducers import reduce_axis as reduce_axis
    from .language.reducers import sum as sum
    from .language.scans import ScanOp as ScanOp
    from .language.scans import scan as scan
    from .language.tensor import ComputeOp as ComputeOp
    from .language.tensor import PlaceholderOp as PlaceholderOp
    from .language.tensor import Tensor as Tensor
    from .language.tensor import TensorSlice as TensorSlice
    from .language.tensor import compute as compute
    from .language.tensor import full as full
    from .language.tensor import placeholder as placeholder
    from .language.tensor import tag_scope as tag_scope
    from .language.tensor_compute import TensorComputeOp as TensorComputeOp
    from .schedule.create import create_schedule as create_schedule
    from .schedule.intrin import decl_tensor_intrin as decl_tensor_intrin
    from .schedule.itervar import IterVar as IterVar
    from .schedule.itervar import thread_axis as thread_axis
    from .schedule.schedule import Schedule as Schedule
    from .schedule.stage import Stage as Stage

_HOMES = {
    ".autodiff.gradients": ("gradient",),
    ".language.affine_forms": ("AXIS_SEPARATOR",),
    ".language.buffers": ("decl_buffer",),
    ".language.expr": (
        "Axis",
        "Expr",
    ),
    ".language.externs": (
        "ExternOp",
        "call_extern",
        "call_packed",
        "extern",
        "register_func",
    ),
    ".language.locations": ("located",),
    ".language.math": (
        "abs",
        "add",
        "all",
        "any",
        "atan2",
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "bitwise_xor",
        "call_pure_extern",
        "cast",
        "ceildiv",
        "const",
        "copysign",
        "div",
        "divide",
        "dot2",
        "dot4",
        "exp10",
        "floordiv",
        "floormod",
        "fmod",
        "hypot",
        "if_then_else",
        "indexdiv",
        "indexmod",
        "infinity",
        "isfinite",
        "isinf",
        "isnan",
        "ldexp",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "max_value",
        "maximum",
        "min_value",
        "minimum",
        "multiply",
        "nextafter",
        "power",
        "reinterpret",
        "select",
        "shift_left",
        "shift_right",
        "sigmoid",
        "size_var",
        "subtract",
        "truncdiv",
        "truncmod",
        "var",
        "widen_pairs",
    ),
    ".language.prim_func_calls": ("extern_primfunc",),
    ".language.reducers": (
        "comm_reducer",
        "max",
        "min",
        "prod",
        "reduce_axis",
        "sum",
    ),
    ".language.scans": (
        "ScanOp",
        "scan",
    ),
    ".language.tensor": (
        "ComputeOp",
        "PlaceholderOp",
        "Tensor",
        "TensorSlice",
        "compute",
        "full",
        "placeholder",
        "tag_scope",
    ),
    ".schedule.create": ("create_schedule",),
    ".schedule.intrin": ("decl_tensor_intrin",),
    ".schedule.itervar": (
        "IterVar",
        "thread_axis",
    ),
    ".schedule.schedule": ("Schedule",),
    ".schedule.stage": ("Stage",),
    ".language.tensor_compute": ("TensorComputeOp",),
    ".language.hybrid": ("HybridOp",),
    # The front door has it, as lowering is above this folder.
    "whence.kernels": ("create_prim_func",),
}
_MODULES = {"autodiff": ".autodiff", "hybrid": ".language.hybrid", "language": ".language", "schedule": ".schedule"}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name.startswith("_"):
        raise AttributeError(name)
    # The next access finds it without coming here.
    found = globals()[name] = _find(name)
    return found


def __dir__() -> list[str]:
    names = (*_functions(), *(name for names in _HOMES.values() for name in names), "hybrid", "schedule")
    return sorted(set(names))


def _functions() -> Mapping[str, Any]:
    """The functions of one number, by name."""
    return import_module(".language.math", __package__).FUNCTIONS


def _find(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home, __package__), name)
    if name in _MODULES:
        return import_module(_MODULES[name], __package__)
    if name in (functions := _functions()):
        return functions[name]
    raise AttributeError(f"module 'whence.te' has no attribute '{name}'")
