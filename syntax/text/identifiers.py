"""Names that the text can have: a variable's begins with a letter, and no two are the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[A-Za-z0-9_]+)*")
_GLOBAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*|/[A-Za-z0-9_]+)*")


def variable_name(hint: str) -> str:
    """A name as TVM makes it, `v1` of `1`, and `_` for what no name has."""
    name = hint if hint[:1].isascii() and hint[:1].isalpha() else f"v{hint}"
    return name if _VARIABLE.fullmatch(name) else re.sub(r"[^A-Za-z0-9_/]|/+$|/(?=/)", "_", name)


def global_name(name: str) -> str:
    return name if _GLOBAL.fullmatch(name) else re.sub(r"[^A-Za-z0-9_/]|/+$|/(?=/)|^(?=[^A-Za-z_])", "_", name)


@dataclass
class UniqueNames:
    """Names that were given, and how often each was asked for again."""

    _again: dict[str, int] = field(default_factory=dict[str, int])

    def unique(self, name: str) -> str:
        """`name`, or with a number behind it."""
        unique = name
        while unique in self._again:
            self._again[name] += 1
            unique = f"{name}{self._again[name]}"
        self._again[unique] = 0
        return unique
