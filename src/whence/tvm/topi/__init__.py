"""The operators as functions of te tensors, by TVM's names: `topi.nn.conv2d`, `topi.sum`, `topi.transpose`.

>>> from whence import te, topi
>>> A = te.placeholder((4, 8), name="A")
>>> B = topi.nn.softmax(topi.matmul(A, topi.transpose(A)))
>>> s = te.create_schedule(B)

Each operator of relay with a tensor expression has a function of its name. Its stages are the compiler's stages for the
operator, located at the call. An operator with several results returns a list of tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from whence.relay.builders import builder
from whence.relay.composed import COMPOSED
from whence.relay.tensor_calls import lowered
from whence.syntax.relay.operators import operator_names
from whence.te.language.locations import here
from whence.topi.by_layout import BY_LAYOUT
from whence.topi.schedules import Schedules

_RENAMED = {
    "matmul": "nn.matmul",
    "nn.flatten": "nn.batch_flatten",
    "flip": "reverse",
    "identity": "copy",
    "broadcast_add": "add",
    "broadcast_sub": "subtract",
    "broadcast_mul": "multiply",
    "broadcast_div": "divide",
}
"""Operators that have another name in TVM's topi than in its relay."""


class _Family:
    """The functions whose names begin with `prefix`."""

    def __init__(self, prefix: str):
        self._prefix = prefix

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _function(f"{self._prefix}{name}")

    def __dir__(self) -> list[str]:
        return sorted(name.removeprefix(self._prefix) for name in _names() if name.startswith(self._prefix))


_FAMILIES = {name: _Family(f"{name}.") for name in ("nn", "image", "vision")}
_SCHEDULES = {name: Schedules(f"whence.topi.{name}") for name in ("generic", "x86")}


def __getattr__(name: str) -> Any:
    if name in ("testing", "utils"):
        return import_module(f"whence.topi.{name}")
    return _FAMILIES.get(name) or _SCHEDULES.get(name) or _function(name)


def __dir__() -> list[str]:
    return sorted({*_FAMILIES, *_SCHEDULES, *(name for name in _names() if "." not in name)})


def _names() -> set[str]:
    return {*operator_names(), *COMPOSED, *BY_LAYOUT, *_RENAMED}


def _function(name: str) -> Callable[..., Any]:
    if name not in _names():
        raise AttributeError(f"module 'whence.topi' has no attribute '{name}'")
    called = _RENAMED.get(name, name)
    build = BY_LAYOUT.get(called) or COMPOSED.get(called) or builder(called)

    def apply(*args: Any, **kwargs: Any) -> Any:
        return lowered(here(name.rpartition(".")[2], __name__), build, args, kwargs)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = build.__doc__
    return apply
