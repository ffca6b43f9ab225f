"""Names of a script: the words of T, what it defines, and plain constants from outside."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

import numpy as np

from whence.script.source import Mistake, Source
from whence.script.vectors import is_dtype
from whence.script.words import ELSEWHERE, OTHER_NAMES, WORDS
from whence.support.names import did_you_mean
from whence.te.language.blocks import BufferRegion
from whence.te.language.expr import Expr
from whence.te.language.statements import Buffer, ExternCall

POISON = object()
"""The value of a name whose definition is a mistake: what uses it is none of its own."""
NUMBERS = (int, float)
PLAIN = (int, float, str, type(None))


class Names:
    """The names of a script so far.

    captured: gives the value of a name outside of the script, or raises KeyError; only plain constants are taken.
    aliases: the names of the modules of words, with the letters for them.
    """

    def __init__(self, source: Source, captured: Callable[[str], Any], aliases: Mapping[str, str]):
        self.source = source
        self.names: dict[str, Any] = {}
        self.captured = captured
        self._aliases = dict(aliases)

    # Words

    def word(self, node: ast.AST) -> str:
        """Return `x.y` of `T.x.y`, "" for what is no word of T; a word that T does not have is a mistake."""
        parts: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or not parts or self.letter(inner.id) != "T":
            return ""
        parts.reverse()
        name = parts[0] = OTHER_NAMES.get(parts[0], parts[0])
        if name in ELSEWHERE:
            self.source.refuse(node, f"expected a kernel of a CPU, got T.{name}, which means threads or units of a GPU")
        if name not in WORDS and not is_dtype(name):
            self.source.refuse(node, f"expected a word of T, got T.{name}{did_you_mean(name, WORDS)}")
        if len(parts) > 1 and name != "axis":
            self.source.refuse(node, f"expected T.{name}, got T.{'.'.join(parts)}")
        return ".".join(parts)

    def letter(self, name: str) -> str:
        """Return the letter of the module of words that a name stands for, "" if it stands for none."""
        if name in self.names:
            return ""
        try:
            value = self.captured(name)
        except KeyError:
            return self._aliases.get(name, "")
        return getattr(value, "SCRIPT_LETTER", "") if isinstance(value, ModuleType) else ""

    def look_up(self, node: ast.Name) -> Any:
        """Return what a name stands for."""
        if node.id in self.names:
            value = self.names[node.id]
            if value is POISON:
                raise Mistake
            return value
        try:
            value = self.captured(node.id)
        except KeyError:
            self.source.refuse(
                node, f"expected a name that is defined, got {node.id}{did_you_mean(node.id, self._visible())}"
            )
        if (plain := _plain(value)) is POISON:
            self.source.refuse(node, f"expected a plain constant from outside, got {node.id}, a {type(value).__name__}")
        return plain

    def _visible(self) -> list[str]:
        return [name for name, value in self.names.items() if value is not POISON]

    @contextmanager
    def scope(self) -> Any:
        """A part of the script whose names end with it."""
        before = dict(self.names)
        try:
            yield
        finally:
            self.names = before


def listed(value: Any) -> list[Any] | None:
    """A value that is a list, else None."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def keyed(value: Any) -> dict[str, Any] | None:
    """A value that is a dictionary, else None."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _plain(value: Any) -> Any:
    """A value from outside if it is a plain constant, else POISON."""
    if isinstance(value, list | tuple):
        parts = [_plain(part) for part in cast("list[Any]", value)]
        return POISON if POISON in parts else parts
    if isinstance(value, PLAIN):
        return value
    number: Any = cast("Any", value).item() if isinstance(value, np.generic) else POISON
    return number if isinstance(number, NUMBERS) else POISON


def described(value: Any) -> str:
    match value:
        case Buffer():
            return f"the buffer {value.name}"
        case BufferRegion():
            return f"a region of {value.buffer.name}"
        case Expr() | str() | int() | float():
            return repr(value)
        case ExternCall():
            return f"the call of {value.callee}, which has no value"
        case _:
            return "no value" if value is None else type(value).__name__


def syntax(node: ast.AST) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    return f"Python's {words}"
