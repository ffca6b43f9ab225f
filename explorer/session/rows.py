"""The part of a builder that parts of the recorder need: rows of what may recur, each once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from xdsl.dialects.builtin import LocationAttr

from .document import Session


class Rows(Protocol):
    """A session while it is made, and the numbers of its layers and sets."""

    @property
    def session(self) -> Session: ...

    def layer(self, leaf: LocationAttr) -> int:
        """Return the row of the layer of a leaf."""
        ...

    def set_of(self, location: LocationAttr) -> int:
        """Return the set of the layers behind a location."""
        ...

    def set_of_rows(self, rows: Iterable[int]) -> int:
        """Return the set of rows of layers."""
        ...


def calls_of(session: Session, program: int) -> range:
    """The calls of a program, which stand together."""
    numbers = [number for number, call in enumerate(session.calls) if call.program == program]
    return range(numbers[0], numbers[-1] + 1) if numbers else range(0)
