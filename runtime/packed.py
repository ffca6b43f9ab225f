"""Python functions that kernels call: each becomes a C function, whose address the kernel is linked with."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from ..dialects.element_types import numpy_dtype
from ..dialects.te import ExternOp
from ..dialects.te.stages import tensor_number
from ..provenance.diagnostics import message
from ..support.errors import FrontendError
from ..te.language.externs import PackedFunction, packed_function
from .tensors import Tensor


class PackedFunctions:
    """The C functions of the packed calls of one kernel; they live as long as this object.

    An exception of a Python function cannot pass through native code: it is kept, and raised by `check`.
    """

    def __init__(self, calls: Iterable[ExternOp]):
        self.symbols: dict[str, int] = {}
        """Symbol -> address, to link the kernel with."""
        self._alive: list[Any] = []
        self._errors: list[Exception] = []
        for call in calls:
            entry = self._entry(call, packed_function(call.callee.data))
            self._alive.append(entry)
            self.symbols[call.symbol] = cast(int, ctypes.cast(entry, ctypes.c_void_p).value)

    def _entry(self, call: ExternOp, function: PackedFunction) -> Any:
        tensors: list[SSAValue] = [*call.inputs, *call.outputs]
        views: list[_View | None] = []
        for argument in call.arguments:
            number = tensor_number(argument)
            views.append(_View(number, tensors, len(call.inputs)) if number is not None else None)
        types = [_c_type(argument) for argument in call.arguments]

        def enter(*given: Any) -> None:
            if self._errors:
                return
            try:
                function(*(value if view is None else view(value) for value, view in zip(given, views, strict=True)))
            except Exception as error:
                expected = f"packed function '{call.callee.data}' to succeed"
                text = message(call.name, expected, f"{type(error).__name__}: {error}", call.location)
                failure = FrontendError(text)
                failure.__cause__ = error
                self._errors.append(failure)

        return ctypes.CFUNCTYPE(None, *types)(enter)

    def check(self) -> None:
        """Raise what a function raised since the last check."""
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error


def _c_type(argument: Attribute) -> type[Any]:
    if isinstance(argument, IntAttr):
        return ctypes.c_void_p
    return ctypes.c_double if isinstance(argument, FloatAttr) else ctypes.c_int64


class _View:
    """Makes arrays of the addresses of one tensor."""

    def __init__(self, argument: int, tensors: list[SSAValue], inputs: int):
        type_ = cast(TensorType[Attribute], tensors[argument].type)
        self.shape = type_.get_shape()
        self.dtype = numpy_dtype(type_.element_type)
        self.writable = argument >= inputs

    def __call__(self, pointer: int | None) -> Tensor:
        size = prod(self.shape)
        if not size or pointer is None:
            return np.empty(self.shape, self.dtype)
        buffer = (ctypes.c_char * (size * self.dtype.itemsize)).from_address(pointer)
        array: Tensor = np.frombuffer(memoryview(buffer), self.dtype).reshape(self.shape)
        array.flags.writeable = self.writable
        return array
