"""Regular expressions in RE2's syntax, which onnxruntime has; RE2 matches them in time that is linear in the text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any


class Pattern:
    """An expression, ready to match."""

    def __init__(self, text: str):
        # Few models match texts, so only they need the library.
        import re2  # pyright: ignore[reportMissingTypeStubs]

        engine: Any = re2
        options = engine.Options()
        options.longest_match, options.log_errors = True, False
        try:
            self._machine = engine.compile(text, options)
        except engine.error as error:
            (reason,) = error.args
            raise ValueError(f"expected a regular expression of RE2, got {text[:100]!r}: {reason.decode()}") from None

    @staticmethod
    @lru_cache(64)
    def of(text: str) -> Pattern:
        """Return the pattern of an expression; raises ValueError for one that RE2 refuses, or that is too large."""
        return Pattern(text)

    def matches(self, text: str) -> bool:
        """Return whether the expression matches all of a text."""
        return self._machine.fullmatch(text) is not None

    def found_in(self, text: str) -> list[str]:
        """Return the longest matches that are not empty, from left to right."""
        return [text[start:end] for start, end in self._spans(text)]

    def split(self, text: str) -> list[str]:
        """Return the parts of a text between its longest matches."""
        parts: list[str] = []
        begin = 0
        for start, end in self._spans(text):
            parts.append(text[begin:start])
            begin = end
        return [*parts, text[begin:]]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        spans = (match.span() for match in self._machine.finditer(text))
        return ((start, end) for start, end in spans if start < end)
