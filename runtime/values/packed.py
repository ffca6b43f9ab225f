"""Python functions that kernels call: each becomes a C function, whose address the kernel is linked with."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from ...support.errors import FrontendError, expectation
from .ndarray import view as as_ndarray
from .tensors import Kind, Tensor


class TensorArgument(NamedTuple):
    """An argument that is a tensor, passed by its address."""

    kind: Kind
    writable: bool


Argument: TypeAlias = TensorArgument | type[int] | type[float]


@dataclass(frozen=True)
class PackedCall:
    """A call of a Python function from a kernel."""

    symbol: str
    """The C function that the kernel calls."""
    callee: str
    function: Callable[..., object]
    arguments: tuple[Argument, ...]
    op: str
    """The op that calls, and its layers, which an error names."""
    layers: str


class PackedFunctions:
    """The C functions of the packed calls of one kernel; they live as long as this object.

    An exception of a Python function cannot pass through native code: it is stored, and `check` raises it.
    """

    def __init__(self, calls: Iterable[PackedCall]):
        self.symbols: dict[str, int] = {}
        """Symbol -> address, to link the kernel with."""
        self._alive: list[Any] = []
        self._errors: list[Exception] = []
        for call in calls:
            entry = self._entry(call)
            self._alive.append(entry)
            self.symbols[call.symbol] = cast(int, ctypes.cast(entry, ctypes.c_void_p).value)

    def _entry(self, call: PackedCall) -> Any:
        views = [View(*argument) if isinstance(argument, TensorArgument) else None for argument in call.arguments]

        def enter(*values: Any) -> None:
            if self._errors:
                return
            try:
                arguments = (value if view is None else view(value) for value, view in zip(values, views, strict=True))
                call.function(*arguments)
            except Exception as error:
                expected = f"packed function '{call.callee}' to succeed"
                actual = f"{type(error).__name__}: {error}"
                failure = FrontendError(expectation(call.op, expected, actual, call.layers))
                failure.__cause__ = error
                self._errors.append(failure)

        return ctypes.CFUNCTYPE(None, *map(_c_type, call.arguments))(enter)

    def check(self) -> None:
        """Raise the first exception of a function since the last check."""
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error


def _c_type(argument: Argument) -> type[Any]:
    if isinstance(argument, TensorArgument):
        return ctypes.c_void_p
    return ctypes.c_double if argument is float else ctypes.c_int64


class View:
    """A factory of arrays from the addresses of one tensor."""

    def __init__(self, kind: Kind, writable: bool):
        self.shape, self.dtype = kind
        self.writable = writable

    def __call__(self, pointer: int | None) -> Tensor:
        size = prod(self.shape)
        if not size or pointer is None:
            return as_ndarray(np.empty(self.shape, self.dtype))
        buffer = (ctypes.c_char * (size * self.dtype.itemsize)).from_address(pointer)
        array: Tensor = np.frombuffer(memoryview(buffer), self.dtype).reshape(self.shape)
        array.flags.writeable = self.writable
        return as_ndarray(array)
