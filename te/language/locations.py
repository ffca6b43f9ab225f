"""Locations of new operations: the line of the user's Python, or that of `located`."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import PurePath

from xdsl.dialects.builtin import LocationAttr

from ...provenance.span import layer_location

_LANGUAGE = __name__.rpartition(".")[0]
_current: ContextVar[LocationAttr | None] = ContextVar("te_location", default=None)
_passed_over = {"contextlib"}


@contextmanager
def located(location: LocationAttr) -> Generator[None]:
    """Operations made inside are at `location`, not at the line of Python that makes them.

    >>> with te.located(layer_location("conv1", "model.onnx", 3)):
    ...     B = te.compute((4,), lambda i: A[i] + 1.0)
    """
    token = _current.set(location)
    try:
        yield
    finally:
        _current.reset(token)


def is_located() -> bool:
    """Return whether `located` says where operations are made."""
    return _current.get() is not None


@lru_cache(1024)
def _file_name(path: str) -> str:
    return PurePath(path).name


def here(name: str, module: str = __name__) -> LocationAttr:
    """The location of an operation called `name` that is made now.

    That of the innermost `located`; outside of any, `loc("C"("user.py":line:0))` of the first frame outside of the
    language and of `module`, which makes operations for others.
    """
    location = _current.get()
    if location is not None:
        return location
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _makes_operations(str(frame.f_globals.get("__name__", "")), module):
        frame = frame.f_back
    if frame is None:
        return layer_location(name, "te", 0)
    return layer_location(name, _file_name(frame.f_code.co_filename), frame.f_lineno)


def passed_over(module: str) -> None:
    """Let `here` pass over the frames of a module, which makes operations for others."""
    _passed_over.add(module)


def _makes_operations(name: str, module: str) -> bool:
    return name == module or name in _passed_over or name.rpartition(".")[0] == _LANGUAGE
