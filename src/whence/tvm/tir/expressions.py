"""Texts, by TVM's name; other expressions are te's, whose classes by TVM's names are in `kinds`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StringImm:
    """A text."""

    value: str
    dtype: str = "handle"

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, StringImm) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return self.value
