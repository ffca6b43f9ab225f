"""Numbers as text: `42`, `42i64`, `3f16`, `1e-05f`, `-inff`. The suffix is the dtype of the scalar."""

from __future__ import annotations

import re

import numpy as np

from ...support.dtypes import Array

_NUMBER = re.compile(r"([0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|inf|nan)(?:([fiu])([0-9]*))?")
_SUFFIXES = {
    "int16": "i16",
    "int32": "",
    "int64": "i64",
    "float16": "f16",
    "float32": "f",
    "float64": "f64",
}
"""The suffixes of the dtypes whose scalars are in the text; a bool is `True` or `False`."""
_PRECISIONS = {"float16": range(6, 7), "float32": range(6, 10), "float64": range(6, 18)}
"""The numbers of digits to try for a float of a dtype, fewest first: TVM writes 6."""


class BadNumberError(ValueError):
    """An error for a number that its dtype cannot hold, or for an unknown suffix."""


def number(text: str, negative: bool) -> tuple[Array, int | float]:
    """Return the scalar of a number, whose text has no sign, and the number itself.

    An int without suffix is an int32, or an int64 if that is too small. Raises BadNumberError.
    """
    match_ = _NUMBER.fullmatch(text)
    assert match_ is not None
    digits, fraction, exponent, kind, width = match_.groups()
    if kind == "f" or fraction or exponent:
        if kind not in ("f", None):
            raise BadNumberError(f"`{text}` is a floating point number with a suffix of integers")
        return _float(digits, width or "32", negative)
    return _int(digits, kind, width, negative)


def _int(digits: str, kind: str | None, width: str | None, negative: bool) -> tuple[Array, int | float]:
    value = -int(digits) if negative else int(digits)
    if kind == "u" or (width and width not in ("16", "32", "64")):
        raise BadNumberError(f"expected a suffix among i, i16, i32 and i64, got `{kind}{width}`")
    bits = int(width or 32)
    if kind is None and not -(1 << 31) <= value < 1 << 31:
        bits = 64
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise BadNumberError(f"integer number `{value}` unrepresentable in width {bits}")
    return np.array(value, f"int{bits}"), value


def _float(digits: str, width: str, negative: bool) -> tuple[Array, int | float]:
    if width not in ("16", "32", "64"):
        raise BadNumberError(f"expected a suffix among f, f16, f32 and f64, got `f{width}`")
    value = -float(digits) if negative else float(digits)
    dtype = np.dtype(f"float{width}")
    if abs(value) > float(np.finfo(dtype).max) and digits != "inf":
        raise BadNumberError(f"floating point number `{digits}` unrepresentable in width {width}")
    return np.array(value, dtype), value


def scalar_text(array: Array) -> str | None:
    """Return the text of a scalar; None for an array that goes into the metadata section."""
    dtype = array.dtype.name
    if array.ndim:
        return None
    if dtype == "bool":
        return "True" if array else "False"
    if (suffix := _SUFFIXES.get(dtype)) is None:
        return None
    return (float_digits(float(array), dtype) if dtype in _PRECISIONS else str(int(array))) + suffix


def float_digits(value: float, dtype: str = "float64") -> str:
    """Return the fewest digits, at least 6, from which a float of the dtype is read back unchanged."""
    exact = np.dtype(dtype).type
    for precision in _PRECISIONS[dtype]:
        text = f"{value:.{precision}g}"
        if exact(text) == exact(value) or value != value:
            return text
    return f"{value:.17g}"
