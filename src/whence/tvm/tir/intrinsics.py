"""Calls of TVM's intrinsics by name: those that are functions of te."""

from __future__ import annotations

from typing import Any

from whence.support.dtypes import fail
from whence.te.language import intrinsics, math
from whence.te.language.expr import Expr

_NAMES = {"pow": "power", "fabs": "abs"}
"""TVM's names that differ from those of the functions."""
_OTHERS = (
    *("abs", "power", "fmod", "ldexp", "nextafter", "atan2", "copysign", "hypot", "exp10", "sigmoid", "fma"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"),
    *("isnan", "isinf", "isfinite", "likely", "if_then_else"),
)
"""The functions that are intrinsics, beside those of one number."""


def call_intrin(dtype: str, func_name: Any, *args: Any, span: object = None) -> Expr:
    """Return the call of an intrinsic, `tir.exp`, given by its name or its operator.

    Another function is one that a rule lowers. Raises ScheduleError where the result is of another dtype.
    """
    del span
    full = str(getattr(func_name, "name", func_name))
    name = full.removeprefix("tir.")
    name = _NAMES.get(name, name)
    if name == "reinterpret":
        return math.reinterpret(dtype, *args)
    if name not in math.FUNCTIONS and name not in _OTHERS:
        # A rule of the user's lowers it, or says that there is none.
        return intrinsics.call_intrin(dtype, full, *args)
    function = math.FUNCTIONS.get(name) or getattr(math, name)
    result: Expr = function(*args)
    if result.dtype != dtype:
        fail(f"tir.call_intrin: expected {full} as {result.dtype}, which its operands have, got {dtype}")
    return result
