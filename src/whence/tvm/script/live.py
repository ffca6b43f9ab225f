"""Functions and classes of a running program: their texts, and the constants that they see."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from whence.script.source import Source
from whence.support import doors
from whence.support.errors import FrontendError

_DOORS = (__name__.rpartition(".")[0], doors.__name__)


def source_of(value: Any) -> Source:
    """Return the text of a function or class with its place; raises FrontendError where Python has none."""
    try:
        lines, first = inspect.getsourcelines(value)
        file = Path(inspect.getsourcefile(value) or "<text>").name
    except (OSError, TypeError) as error:
        name = getattr(value, "__name__", type(value).__name__)
        raise FrontendError(
            f"script: expected a function in a file, got {name}, whose text Python does not have"
        ) from error
    indent = len(lines[0]) - len(lines[0].lstrip())
    text = "".join(line[indent:] if line[:indent].isspace() or not indent else line for line in lines)
    return Source(text, file, max(0, first - 1), indent)


def constants(values: Mapping[str, Any]) -> Callable[[str], Any]:
    """Return the look-up of names in a table."""
    return lambda name: values[name]


def captured_by(value: Any, extra: Mapping[str, Any]) -> Callable[[str], Any]:
    """Return the look-up of names as a function or class sees them where it is defined.

    A function sees those in its own module and the functions around it, and what is there where it is decorated, as
    its annotations do.
    """
    scopes: list[Mapping[str, Any]] = [extra]
    if inspect.isfunction(value):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        scopes.append({name: cell.cell_contents for name, cell in cells if _is_full(cell)})
    frame = _caller()
    scopes += [frame.f_locals, frame.f_globals] if frame is not None else []
    scopes.append(vars(sys.modules.get(getattr(value, "__module__", "") or "", ModuleType("none"))))

    def look_up(name: str) -> Any:
        for scope in scopes:
            if name in scope:
                return scope[name]
        raise KeyError(name)

    return look_up


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _caller() -> FrameType | None:
    """The frame of the user that called the front door."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_DOORS):
        frame = frame.f_back
    return frame


def is_in_module(function: Any) -> bool:
    """Return whether a function is in the body of a class that `ir_module` decorates."""
    parent = getattr(function, "__qualname__", "").rpartition(".")[0]
    if not parent or parent.endswith("<locals>") or not inspect.isfunction(function):
        return False
    line = function.__code__.co_firstlineno
    for node in ast.walk(_tree(function.__code__.co_filename)):
        if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
            if any("ir_module" in ast.unparse(decorator) for decorator in node.decorator_list):
                return True
    return False


@lru_cache(16)
def _tree(file: str) -> ast.AST:
    try:
        return ast.parse(Path(file).read_text())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])
