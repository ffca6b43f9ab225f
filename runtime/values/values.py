"""The one door for values: arrays, tensors of other libraries, lists and numbers become arrays of a model's dtype.

An array is a value with a dtype: numpy's arrays, objects with `__dlpack__`, `__array_interface__` or `__array__`, and
buffers. Its elements are cast by numpy's rule `safe`: int32 to int64, float16 to float32, bool to any dtype, another
byte order to the machine's. int64 and float64, the dtypes that numpy gives to Python's numbers, are seldom chosen, so
their values decide: an integer becomes one of any width that holds it, and a float is rounded to any precision whose
range holds it. numpy reads numbers and lists, and their values decide, too; ints among them become floats for a float.

All else is refused: a float for an integer, a text or None for a number, a float32 for a float16, ragged lists.
"""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...support.dtypes import Array
from ...support.errors import FrontendError, expectation
from ...support.names import shortened
from .dlpack import from_dlpack

_DEFAULTS = (np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.uint64))
"""The dtypes that numpy gives to Python's numbers; uint64 is for integers from 2**63 on."""
_FAILURES = (ArithmeticError, BufferError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors of other libraries that cannot give the array of a value: it requires gradients, or is on another device."""
_LONGEST = 160
"""The number of letters of such an error that are shown."""

_Floats = npt.NDArray[np.float64]


class Unsuitable(Exception):
    """A value is no array of the expected dtype; the text says what it is."""


def array_of(value: object) -> Array:
    """Return the array of a value in its own dtype, without a copy; raises Unsuitable if the value is no array."""
    if isinstance(value, np.ndarray):
        return cast(Array, value)
    error: Exception | None = None
    try:
        array: Array = np.asarray(value)
        if not array.dtype.hasobject:
            return array
    except _FAILURES as failure:
        error = failure
    if hasattr(value, "__dlpack__"):
        try:
            return from_dlpack(value)
        except _FAILURES as failure:
            error = error or failure
    raise Unsuitable(_kind(value, error))


def converted(value: object, dtype: np.dtype[Any]) -> Array:
    """Return the array of a value in a dtype, copied only to cast it; raises Unsuitable where the rule forbids that."""
    if dtype.hasobject:
        return texts_of(value)
    array = array_of(value)
    if array.dtype == dtype:
        return array
    is_bare = is_python(value)
    if np.can_cast(array.dtype, dtype, "safe") or (is_bare and not array.size):
        return array.astype(dtype)
    if array.dtype.newbyteorder("=") in _DEFAULTS:
        if _is_integer(dtype) and array.dtype.kind in "iu":
            return _narrowed(array, dtype)
        if _is_float(dtype) and (array.dtype.kind == "f" or is_bare):
            return _rounded(array, dtype)
    if array.dtype.kind in "UST":
        raise Unsuitable(_kind(value, None))
    raise Unsuitable(described(array.shape, array.dtype))


def described(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    """Return a shape and a dtype as errors show them: `float32[2, 3]`."""
    return f"{dtype.name}[{', '.join(map(str, shape))}]"


def is_python(value: object) -> bool:
    """Return whether a value is a Python number or list, which has no dtype."""
    return isinstance(value, int | float | list | tuple) and not isinstance(value, np.generic)


def expected_array(what: str, value: object, dtype: np.dtype[Any] | None = None) -> Array:
    """Return the array of a value, in its own dtype or in `dtype`; raises FrontendError, about `what`, for all else."""
    try:
        return array_of(value) if dtype is None else converted(value, dtype)
    except Unsuitable as unsuitable:
        wanted = "an array" if dtype is None else f"an array of {dtype.name}"
        raise FrontendError(expectation(what, wanted, str(unsuitable))) from None


def natural(value: object) -> Array:
    """Return the array of a value, in its own dtype or of texts; raises Unsuitable if it is no array."""
    try:
        array = array_of(value)
    except Unsuitable as unsuitable:
        try:
            return texts_of(value)
        except Unsuitable:
            raise unsuitable from None
    return texts_of(array) if array.dtype.kind in "USOT" else array


def _kind(value: object, error: Exception | None) -> str:
    """Return the description of a value that is no array: its type, and the error of the library that it is from."""
    because = ""
    if error is not None and not is_python(value):
        because = f": {shortened(' '.join(str(error).split()), _LONGEST)}"
    return f"a {type(value).__name__} that is no such array{because}"


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.name.startswith(("int", "uint"))


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.name.startswith(("float", "bfloat"))


def _narrowed(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return integers in another width; raises Unsuitable for one that does not fit."""
    limits = ml_dtypes.iinfo(dtype)
    if array.size:
        for number in (int(array.min()), int(array.max())):
            if not int(limits.min) <= number <= int(limits.max):
                raise Unsuitable(f"{described(array.shape, array.dtype)} with {number}, beyond {dtype.name}")
    return array.astype(dtype)


def _rounded(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return floats in another precision; raises Unsuitable for one beyond its range."""
    numbers: _Floats = array.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = numbers.astype(dtype)
        back: _Floats = narrow.astype(np.float64)
        limits = cast(Any, ml_dtypes.finfo(dtype))
        step = float(limits.eps) * np.abs(numbers) + float(limits.smallest_subnormal)
        fits = (np.abs(back - numbers) <= step) | (back == numbers) | (np.isnan(back) & np.isnan(numbers))
    if not fits.all():
        number = float(numbers[~fits].flat[0])
        raise Unsuitable(f"{described(array.shape, array.dtype)} with {number:g}, beyond {dtype.name}")
    return cast(Array, narrow)


def texts_of(value: object) -> Array:
    """Return texts, and bytes in UTF-8, as an array of objects; raises Unsuitable for all else."""
    try:
        array = np.asarray(cast(Any, value))
    except _FAILURES as error:
        raise Unsuitable(_kind(value, error)) from error
    if array.dtype.kind not in "USOT":
        raise Unsuitable(described(array.shape, array.dtype))
    flat: list[Any] = array.reshape(-1).tolist()
    try:
        flat = [item.decode() if isinstance(item, bytes) else item for item in flat]
    except UnicodeDecodeError as error:
        raise Unsuitable("bytes that are no UTF-8") from error
    if not all(isinstance(item, str) for item in flat):
        raise Unsuitable("objects of which some are no texts")
    texts = np.empty(len(flat), np.object_)
    texts[:] = flat
    return texts.reshape(array.shape)
