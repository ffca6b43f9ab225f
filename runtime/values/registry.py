"""Functions registered by name, by TVM's rules: `register_func`, `get_global_func`, and calls of them."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np

from ...support.errors import FrontendError, expectation
from .device import Device
from .ffi_registry import ffi_function, share, withdraw
from .ndarray import NDArray
from .products import PRODUCTS

Function: TypeAlias = Callable[..., Any]


class PackedFunc:
    """A function that takes positional arguments of the kinds that TVM's calls take.

    Bools and integers arrive as ints, other numbers as floats, arrays as `NDArray`. Raises TypeError for an argument
    by name and, in TVM's words, for one of another kind: convert a plain numpy array by `tvm.nd.array(..)` first.
    """

    def __init__(self, name: str, function: Function):
        self.name = name
        self.function = function
        self.is_global = True

    def __call__(self, *args: Any) -> Any:
        return self.function(*map(_argument, args))

    def __repr__(self) -> str:
        return f"PackedFunc({self.name})"


_OBJECTS: tuple[type[Any], ...] = (NDArray, Device, str, bytes, bytearray, list, tuple, dict)


def _argument(value: Any) -> Any:
    """Return an argument as the function sees it."""
    if value is None or isinstance(value, _OBJECTS) or callable(value):
        return value
    if isinstance(value, numbers.Integral | np.bool_):
        return int(cast(int, value))
    if isinstance(value, numbers.Number):
        return float(cast(float, value))
    kind = cast("type[Any]", type(value))
    if kind.__module__.split(".")[0] in ("builtins", "numpy"):
        raise TypeError(f"Don't know how to handle type {kind}")
    return value


_functions: dict[str, Function] = dict(PRODUCTS)


def register_func(func_name: Any, f: Function | None = None, override: bool = False) -> Any:
    """Register a Python function under a name; without `f` this is a decorator, which may omit the name, too.

    Where the package tvm-ffi is installed, the function is registered with that as well. Raises ValueError for a name
    that is no text, FrontendError when the name is in use.
    """
    if callable(func_name):
        f, func_name = func_name, getattr(func_name, "__name__", "")
    if not isinstance(func_name, str):
        raise ValueError("expect string function name")

    def register(function: Function) -> Function:
        if func_name in _functions and not override:
            raise FrontendError(f"register_func: Global PackedFunc {func_name} is already registered")
        try:
            share(func_name, function, override)
        except ValueError as error:
            raise FrontendError(expectation("register_func", "a name that is free", str(error))) from error
        _functions[func_name] = function
        return function

    return register if f is None else register(f)


def global_function(name: str) -> Function | None:
    """Return the function of a name as it was registered, or None."""
    function = _functions.get(name) or ffi_function(name)
    return function.function if isinstance(function, PackedFunc) else function


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """Return the function of a name, registered here or with tvm-ffi; None if it is missing and may be.

    Raises ValueError if it may not.
    """
    function = _functions.get(name) or ffi_function(name)
    if function is None:
        if allow_missing:
            return None
        raise ValueError(f"Cannot find global function {name}")
    return function if isinstance(function, PackedFunc) else PackedFunc(name, function)


def list_global_func_names() -> list[str]:
    """Return the names of the registered functions."""
    return list(_functions)


def remove_global_func(name: str) -> None:
    """Remove a function from the registry; raises FrontendError for an unknown name."""
    if _functions.pop(name, None) is None:
        raise FrontendError(expectation("remove_global_func", "the name of a global function", repr(name)))
    withdraw(name)
