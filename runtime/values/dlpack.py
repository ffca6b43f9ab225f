"""Tensors of other libraries as numpy arrays, through DLPack, version 0: https://dmlc.github.io/dlpack.

numpy's own reader lacks bfloat16 and the small floats that torch models use.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any, cast

import ml_dtypes
import numpy as np

from ...support.dtypes import Array, numpy_of

INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6
SMALL = {
    (INT, 4): "int4",
    (UINT, 4): "uint4",
    (INT, 2): "int2",
    (UINT, 2): "uint2",
    (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz",
    (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz",
    (14, 8): "float8_e8m0fnu",
    (17, 4): "float4_e2m1fn",
}
"""Names of the small dtypes by type code and bits. Each element takes a byte."""
_NAMES = {INT: "int", UINT: "uint", FLOAT: "float"}
_CPU = 1


def dtype_of(code: int, bits: int, lanes: int) -> np.dtype[np.generic] | None:
    """Return the dtype of a type code; None for one that no model uses."""
    if lanes != 1:
        return None
    if (code, bits) == (BOOL, 8):
        return cast("np.dtype[np.generic]", np.dtype(np.bool_))
    if (code, bits) == (BFLOAT, 16):
        return np.dtype(ml_dtypes.bfloat16)
    if (small := SMALL.get((code, bits))) is not None:
        return numpy_of(small)
    if code in _NAMES and bits in (8, 16, 32, 64) and not (code == FLOAT and bits == 8):
        return np.dtype(f"{_NAMES[code]}{bits}")
    return None


class _Tensor(ctypes.Structure):
    """`DLTensor`, the first member of a `DLManagedTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Lent:
    """Memory that numpy reads as bytes. Its owner gets it back when the capsule kept here is freed."""

    def __init__(self, capsule: object, interface: dict[str, Any]):
        self.capsule = capsule
        self.__array_interface__ = interface


_pointer: Any = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def from_dlpack(value: Any) -> Array:
    """Return an array that shares the memory of an object with `__dlpack__`.

    Raises TypeError for memory of another device and for an unknown dtype, and whatever `__dlpack__` raises.
    """
    if value.__dlpack_device__()[0] != _CPU:
        raise TypeError("expected a tensor in the CPU's memory")
    capsule = value.__dlpack__()
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    dtype = dtype_of(tensor.code, tensor.bits, tensor.lanes)
    if dtype is None:
        raise TypeError(f"expected a known dtype, got DLPack's code {tensor.code} with {tensor.bits} bits")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.rank))
    if not prod(shape):
        return np.empty(shape, dtype)
    strides = tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.rank)) if tensor.strides else None
    interface = {
        "version": 3,
        "shape": shape,
        "strides": strides,
        "typestr": f"|V{dtype.itemsize}",
        "data": (tensor.data + tensor.byte_offset, True),
    }
    return np.asarray(_Lent(capsule, interface)).view(dtype)
