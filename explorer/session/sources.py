"""The source of passes and their patterns: file and line of a class or a function."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from xdsl.pattern_rewriter import RewritePattern

from ...passes.registry import find_row

_HOUSE = Path(__file__).resolve().parents[2]


@cache
def _lines(path: str) -> dict[str, int]:
    """Name of a class or function of a file, or a word in quotes -> the first line that has it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if (match := re.match(r"\s*(?:class|def) (\w+)", line)) is not None:
            lines.setdefault(match[1], number)
        for quoted in re.findall(r'"\w+"', line):
            lines.setdefault(quoted, number)
    return lines


def _at(module: str, name: str) -> str:
    """`passes/relay/fuse_ops.py:41` for a name of a module; "" where it is not written there."""
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None or (line := _lines(path).get(name)) is None:
        return ""
    resolved = Path(path).resolve()
    shown = resolved.relative_to(_HOUSE) if resolved.is_relative_to(_HOUSE) else Path(resolved.name)
    return f"{shown.as_posix()}:{line}"


@cache
def pass_at(name: str) -> str:
    """file:line of a pass by its name; "" for one that is not of the table of passes."""
    if (row := find_row(name)) is None:
        return ""
    module, _, kind = row.home.partition(":")
    __import__(f"whence.{module}")
    return _at(f"whence.{module}", kind)


def _below(kind: type[RewritePattern]) -> Iterator[type[RewritePattern]]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)


@cache
def pattern_at(pass_name: str, pattern: str) -> str:
    """file:line of a pattern, or of a rule, that the ledger names; "" where it is not written as a class or function.

    The pass's own module comes first, by a definition, then by the name as a string: that of a rule that has no class;
    then modules that it imports from; then the patterns of a name anywhere, the nearest first.
    """
    if not pattern:
        return ""
    row = find_row(pass_name)
    home = f"whence.{row.home.partition(':')[0]}" if row is not None else ""
    for module in [home, *_imported(home)] if home else ():
        if at := _at(module, pattern) or _at(module, f'"{pattern}"'):
            return at
    modules = sorted({kind.__module__ for kind in _below(RewritePattern) if kind.__name__ == pattern})
    modules.sort(key=lambda module: -len(_common(module, home)))
    return next((at for module in modules if (at := _at(module, pattern))), "")


@cache
def _imported(home: str) -> list[str]:
    """The modules of passes that a module has names of, and those that these have names of."""
    seen = [home]
    for module in seen[:]:
        for name in _named_in(module):
            seen += [inner for inner in (name, *_named_in(name)) if inner not in seen]
    return seen[1:]


def _named_in(module: str) -> list[str]:
    values = vars(sys.modules[module]).values() if module in sys.modules else ()
    names = (str(getattr(value, "__module__", None) or getattr(value, "__name__", "")) for value in values)
    near = f"{module.rpartition('.')[0]}.", "whence.provenance."
    return [name for name in dict.fromkeys(names) if name.startswith(near)]


def _common(first: str, second: str) -> list[str]:
    """The parts that two dotted names begin with."""
    parts: list[str] = []
    for one_part, other in zip(first.split("."), second.split("."), strict=False):
        if one_part != other:
            break
        parts.append(one_part)
    return parts
