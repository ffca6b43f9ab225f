"""Calls of TVM's intrinsics by name: those that are functions of te."""

from __future__ import annotations

from typing import Any

from whence.support.dtypes import fail
from whence.support.names import did_you_mean
from whence.te.language import math
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

    Raises ScheduleError for another function, and where the result is of another dtype.
    """
    del span
    full = str(getattr(func_name, "name", func_name))
    name = full.removeprefix("tir.")
    name = _NAMES.get(name, name)
    if name == "reinterpret":
        return math.reinterpret(dtype, *args)
    if name not in math.FUNCTIONS and name not in _OTHERS:
        known = [f"tir.{one}" for one in (*math.FUNCTIONS, *_OTHERS, *_NAMES)]
        fail(f"tir.call_intrin: expected an intrinsic, got {full}{did_you_mean(full, known)}")
    function = math.FUNCTIONS.get(name) or getattr(math, name)
    result: Expr = function(*args)
    if result.dtype != dtype:
        fail(f"tir.call_intrin: expected {full} as {result.dtype}, which its operands have, got {dtype}")
    return result
