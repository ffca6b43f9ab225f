"""The doors by which scripts are read: a text, and a function or class of Python."""

from __future__ import annotations

from typing import Any

from whence.script.functions import MACRO, read
from whence.script.live import captured_by, constants, is_in_module, source_of
from whence.script.source import Source
from whence.support.doors import door


@door()
def from_source(source: Any, extra_vars: dict[str, Any] | None = None, *, file: str = "<text>") -> Any:
    """Return the function, or the module of a class, that a text is, or a function or class of Python.

    Nothing of it is run, but for arithmetic of literals. extra_vars: plain constants that it may use, beside those that
    a function sees. file: the name of the text's file, for places. Raises TextError with all mistakes and their places.
    """
    if isinstance(source, str):
        return read(Source(source, file), constants(extra_vars or {}))
    return read(source_of(source), captured_by(source, extra_vars or {}))


parse = from_source


@door()
def prim_func(function: Any = None, **options: Any) -> Any:
    """Return the kernel that a function of Python is, as decorator; one in a class of `ir_module` is read with that.

    options: TVM's `private`, `check_well_formed` and `s_tir`, which the text of the function holds.
    """
    del options
    if function is None:
        return prim_func
    return function if is_in_module(function) else read(source_of(function), captured_by(function, {}))


@door()
def macro(function: Any = None, **options: Any) -> Any:
    """Refuse a macro, as decorator: raises TextError at its place."""
    del options
    if function is None:
        return macro
    source = source_of(function)
    source.record(1, 1, MACRO)
    return source.check()


@door()
def ir_module(cls: Any = None, **options: Any) -> Any:
    """Return the module that a class of functions is, as decorator."""
    del options
    return ir_module if cls is None else read(source_of(cls), captured_by(cls, {}))
