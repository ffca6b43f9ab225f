"""The registry of the package tvm-ffi, where that is installed: its functions here, and ours there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

from .ndarray import view

Function: TypeAlias = Callable[..., Any]
PACKAGE = "tvm_ffi"
_shared: set[str] = set()


def ffi_function(name: str) -> Function | None:
    """Return the function of a name in tvm-ffi's registry, on our values, or None.

    Arrays go there as they are, in the same memory; tensors that it returns are arrays. A process that has not imported
    the package has no functions there.
    """
    if PACKAGE not in sys.modules:
        return None
    function = _package().get_global_func(name, True)
    return None if function is None else lambda *args: _taken(function(*map(_plain, args)))


def share(name: str, function: Function, override: bool) -> None:
    """Register a function of ours with tvm-ffi, too. Raises ValueError when that has one of the name already."""
    if not _is_installed():
        return
    package = _package()
    if not override and package.get_global_func(name, True) is not None:
        raise ValueError(f"{name} is registered with {PACKAGE}")

    def theirs(*args: Any) -> Any:
        return _plain(function(*map(_taken, args)))

    package.register_global_func(name, theirs, override=True)
    _shared.add(name)


def withdraw(name: str) -> None:
    """Remove a function of ours from tvm-ffi's registry, if it is there."""
    if name in _shared:
        _shared.remove(name)
        _package().registry.remove_global_func(name)


def _is_installed() -> bool:
    return PACKAGE in sys.modules or find_spec(PACKAGE) is not None


def _package() -> Any:
    return import_module(PACKAGE)


def _plain(value: Any) -> Any:
    """Return an array as one of numpy's own, which tvm-ffi takes by DLPack; other values as they are."""
    return value.view(np.ndarray) if isinstance(value, np.ndarray) else value


def _taken(value: Any) -> Any:
    """Return a tensor of tvm-ffi as an array in the same memory; other values as they are."""
    return view(np.from_dlpack(value)) if isinstance(value, _package().Tensor) else value
