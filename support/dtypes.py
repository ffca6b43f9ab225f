"""dtypes, by TVM's names: numpy's form of each, their sorts and ranges, and the one in which two operands meet."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any, NoReturn, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .errors import ScheduleError

Array = npt.NDArray[np.generic]

RANK = 64
"""The most dimensions that an array of numpy has."""

NAMES = (
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
"""The dtypes that a tensor may hold and that are computed with."""

SMALL = (
    "int4",
    "uint4",
    "int2",
    "uint2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn",
)
"""Dtypes that a tensor may hold, too, but nothing is computed with: a cast makes another dtype of it first.

An element is its bit pattern in the low bits of a byte, as in ml_dtypes, in memory, in numpy and in files of params.
"""

GREATEST = {
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float4_e2m1fn": 6.0,
}
"""The greatest number of small floats."""

BOOL = "bool"
INT = "int32"


def fail(text: str) -> NoReturn:
    raise ScheduleError(text)


def check_dtype(dtype: str, what: str) -> str:
    """`dtype`; raises ScheduleError when it is none."""
    if dtype not in NAMES:
        fail(f"{what}: expected a dtype among {', '.join(NAMES)}, got {dtype!r}")
    return dtype


def element_of(dtype: str) -> str:
    """The dtype of a lane of a vector; a scalar is its own."""
    return dtype.partition("x")[0]


@cache
def lanes_of(dtype: str) -> int:
    """The lanes of a dtype, 1 of a scalar."""
    return math.prod(map(int, dtype.split("x")[1:])) if "x" in dtype and dtype[-1].isdigit() else 1


def with_lanes(dtype: str, lanes: int) -> str:
    """The dtype of vectors: `with_lanes("int32", 4)` is `int32x4`."""
    return dtype if lanes == 1 else f"{dtype}x{lanes}"


def check_lanes(dtype: str, what: str) -> str:
    """A dtype of scalars or of vectors, `int32x4`; raises ScheduleError when it is none. `uint1` is bool."""
    match = re.fullmatch(r"(bfloat16|[a-z]+?\d*)(?:x([1-9]\d*))?", dtype)
    element, lanes = match.groups() if match else (dtype, None)
    return with_lanes(check_dtype(BOOL if element == "uint1" else element, what), int(lanes or 1))


def python_number(value: Any) -> Any:
    """A number of numpy as one of Python; anything else as it is."""
    return cast(Any, value.item()) if isinstance(value, np.generic) else value


def numpy_of(dtype: str) -> np.dtype[np.generic]:
    """The numpy dtype of a name."""
    return np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" or dtype in SMALL else dtype)


def storage(dtype: str) -> str:
    """The dtype that holds the elements of a dtype in memory: bytes, of small ones."""
    return "uint8" if dtype in SMALL else dtype


@cache
def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def is_unsigned(dtype: str) -> bool:
    """Return whether numbers of the dtype are integers that are never negative; bool is 0 or 1."""
    return dtype.startswith((BOOL, "uint"))


def bits(dtype: str) -> int:
    match = re.search(r"\d+", element_of(dtype))
    return int(match.group()) if match else 1


def limits(dtype: str) -> tuple[float, float]:
    """The least and the greatest value; of a float dtype, the infinities."""
    if is_float(dtype):
        return -math.inf, math.inf
    width = bits(dtype)
    return (0, (1 << width) - 1) if is_unsigned(dtype) else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


def natural_dtype(value: float) -> str:
    """The dtype of a Python number on its own."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return "float32"
    low, high = limits(INT)
    return INT if low <= value <= high else "int64"


def rounded(number: float, dtype: str) -> float:
    """A number as a float dtype has it, infinite beyond its range; for other dtypes the number as it is."""
    if not is_float(dtype):
        return number
    with np.errstate(over="ignore"):
        return float(np.float64(number).astype(numpy_of(dtype)))


def promote(op: str, a: str, b: str) -> str:
    """The dtype in which operands of two dtypes meet: a float wins over integers, then the wider, then the signed.

    Raises ScheduleError for two floats of one width and different formats.
    """
    if a == b:
        return a
    if (lanes := max(lanes_of(a), lanes_of(b))) != 1:
        if min(lanes_of(a), lanes_of(b)) not in (1, lanes):
            fail(f"te.{op}: expected operands of one number of lanes, got {a} and {b}")
        return with_lanes(promote(op, element_of(a), element_of(b)), lanes)
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if bits(a) != bits(b):
        wide, narrow = (a, b) if bits(a) > bits(b) else (b, a)
        return f"int{bits(wide)}" if is_unsigned(wide) and not is_unsigned(narrow) else wide
    if is_float(a):
        fail(f"te.{op}: expected operands of one float format, got {a} and {b}; use astype")
    return b if is_unsigned(a) else a
