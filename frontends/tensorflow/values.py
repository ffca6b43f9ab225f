"""Element types and constants of TensorFlow -> numpy."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import ml_dtypes
import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.inputs import no_element_type
from ..importing.limits import excess, expectation

STRING, RESOURCE, VARIANT = 7, 20, 21
"""Element types that no relay tensor has; lists of tensors are variants."""
_REFERENCE = 100
"""The difference between the type of a reference to a variable and the type of its value."""
DTYPES: dict[int, np.dtype[Any]] = {
    number: np.dtype(dtype)
    for number, dtype in (
        *((1, np.float32), (2, np.float64), (3, np.int32), (4, np.uint8), (5, np.int16), (6, np.int8)),
        *((9, np.int64), (10, np.bool_), (14, ml_dtypes.bfloat16), (17, np.uint16), (19, np.float16)),
        *((22, np.uint32), (23, np.uint64)),
    )
}
"""Number of an element type -> what holds it."""
_NAMES = {
    7: "string",
    8: "complex64",
    11: "qint8",
    12: "quint8",
    13: "qint32",
    15: "qint16",
    16: "quint16",
    18: "complex128",
    20: "resource",
    21: "variant",
    24: "float8_e5m2",
    25: "float8_e4m3fn",
    29: "int4",
    30: "uint4",
}
_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "bfloat16": "half_val",
    "float16": "half_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}
"""The field of a constant that has the numbers of a dtype, where it is not `int_val`."""


def value_type(number: int) -> int:
    """Return an element type, that of the value for a reference."""
    return number - _REFERENCE if number > _REFERENCE else number


def type_name(number: int) -> str:
    """Return the name of an element type, for errors."""
    dtype = DTYPES.get(number)
    return _NAMES.get(number, f"number {number}") if dtype is None else dtype.name


def dtype_of(number: int, what: str) -> np.dtype[Any]:
    """Return the dtype of an element type. Raises FrontendError for those that no relay tensor has."""
    number = value_type(number)
    if number not in DTYPES:
        raise no_element_type(what, sorted(dtype.name for dtype in DTYPES.values()), type_name(number))
    return DTYPES[number]


def extents_of(shape: Any) -> tuple[int, ...] | None:
    """Return the extents of a TensorShapeProto, -1 for unknown ones; None where even their number is unknown."""
    return None if shape.unknown_rank else tuple(max(int(dim.size), -1) for dim in shape.dim)


def array_of(tensor: Any, what: str) -> Array:
    """Return the array of a TensorProto. Raises FrontendError for one that holds none."""
    dtype, shape = dtype_of(tensor.dtype, what), extents_of(tensor.tensor_shape)
    if shape is None or min(shape, default=0) < 0:
        raise FrontendError(f"{what}: expected a constant of known shape, got {list(shape or ())}")
    if too_big := excess(shape, dtype.itemsize):
        raise FrontendError(f"{what}: expected {expectation()}, got {too_big}")
    count = prod(shape)
    if tensor.tensor_content:
        if len(tensor.tensor_content) != count * dtype.itemsize:
            raise FrontendError(
                f"{what}: expected {count * dtype.itemsize} bytes, got {len(tensor.tensor_content)} bytes"
            )
        return np.frombuffer(tensor.tensor_content, dtype).reshape(shape)
    numbers: Sequence[Any] = getattr(tensor, _FIELDS.get(dtype.name, "int_val"))
    if len(numbers) > max(count, 1):
        raise FrontendError(f"{what}: expected at most {count} values, got {len(numbers)}")
    if dtype.name in ("float16", "bfloat16"):
        # The lists have the bits of halves.
        flat = cast(Array, np.asarray(numbers, np.int64).astype(np.uint16).view(dtype))
    else:
        flat = cast(Array, np.asarray(numbers).astype(dtype))
    if not len(flat) or not count:
        return np.zeros(shape, dtype)
    # Fewer values than elements repeat the last one.
    return np.concatenate([flat, np.full(count - len(flat), flat[-1], dtype)]).reshape(shape)
