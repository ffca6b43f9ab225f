"""Locations as MLIR writes them and xDSL 0.74 does not read them.

- `#loc1 = loc("conv"(#loc2))` may come after its use, as all but a few do in what MLIR prints.
- `"net.py":3:4 to :9` and `"net.py":3:4 to 5:6` are ranges: the place where one begins is kept.
"""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRTokenKind

_DEFINITION = re.compile(r"^(#[A-Za-z_][\w$.]*) = loc\(", re.MULTILINE)
_DEEPEST = 100
"""The number of aliases that may stand for parts of each other."""


class LocationParser(Parser):
    """xDSL's parser, for locations of all forms."""

    def __init__(self, ctx: Context, text: str, name: str):
        self._bodies: dict[str, int] = {}
        """Alias of a location -> where the location stands."""
        self._known: dict[str, LocationAttr] = {}
        self._open: list[str] = []
        """The aliases whose locations are being read."""
        super().__init__(ctx, text, name)
        for match in _DEFINITION.finditer(text):
            self._bodies.setdefault(match[1], match.end())

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind == MLIRTokenKind.HASH_IDENT and token.text in self._bodies:
            self._consume_token()
            return self._alias(token.text)
        location = super()._parse_location()  # pyright: ignore[reportPrivateUsage]
        if isinstance(location, FileLineColLoc) and self.parse_optional_keyword("to") is not None:
            self.parse_optional_integer(allow_boolean=False, allow_negative=False)
            self.parse_punctuation(":")
            self.parse_integer(allow_boolean=False, allow_negative=False)
        return location

    def _alias(self, alias: str) -> LocationAttr:
        """The location that an alias stands for, wherever that is defined."""
        if (location := self._known.get(alias)) is not None:
            return location
        if alias in self._open or len(self._open) >= _DEEPEST:
            self.raise_error(f"expected locations that end, got {alias} in itself or in more than {_DEEPEST} others")
        self._open.append(alias)
        back = self._current_token.span.start
        self._resume_from(self._bodies[alias])
        location = self._known[alias] = self._parse_location()
        self.parse_punctuation(")")
        self._resume_from(back)
        self._open.pop()
        return location
