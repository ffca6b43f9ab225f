"""Names that the text allows: those of variables begin with a letter, and all are unique."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[A-Za-z0-9_]+)*")
_GLOBAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*|/[A-Za-z0-9_]+)*")


def variable_name(hint: str) -> str:
    """Return a legal name, as TVM does: `v1` for `1`, and `_` for characters that no name may have."""
    name = hint if hint[:1].isascii() and hint[:1].isalpha() else f"v{hint}"
    return name if _VARIABLE.fullmatch(name) else re.sub(r"[^A-Za-z0-9_/]|/+$|/(?=/)", "_", name)


def global_name(name: str) -> str:
    return name if _GLOBAL.fullmatch(name) else re.sub(r"[^A-Za-z0-9_/]|/+$|/(?=/)|^(?=[^A-Za-z_])", "_", name)


@dataclass
class UniqueNames:
    """The names in use, each with the number of further requests for it."""

    _again: dict[str, int] = field(default_factory=dict[str, int])

    def unique(self, name: str) -> str:
        """Return `name`, with a number after it if it is in use."""
        unique = name
        while unique in self._again:
            self._again[name] += 1
            unique = f"{name}{self._again[name]}"
        self._again[unique] = 0
        return unique
