"""Rows of tables: columns of values, and for each row the layers and the place that it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ..document import Session
from .schema import SUBJECTS

Value: TypeAlias = "tuple[str, ...] | float | None"
"""Texts, of which there may be none or several; or a number, None where it is missing."""
Place: TypeAlias = "tuple[int, int] | None"
"""A stage and a line of it, from 0; line -1 is the stage as a whole."""


class Rows:
    """The rows of a table."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.columns: dict[str, list[Value]] = {each.name: [] for each in SUBJECTS[subject].columns}
        self.layers: list[tuple[int, ...]] = []
        self.places: list[Place] = []

    def add(self, layers: Iterable[int], place: Place = None, **values: str | Value) -> None:
        """Add a row. values: by column; a text stands for one, "" for none; what is left out is none or missing."""
        self.layers.append(tuple(layers))
        self.places.append(place)
        for each in SUBJECTS[self.subject].columns:
            value = values.get(each.name, () if each.unit == "text" else None)
            self.columns[each.name].append(((value,) if value else ()) if isinstance(value, str) else value)


def owners(session: Session, rows: Iterable[int]) -> list[int]:
    """Return the layers of rows, each once and in order: of a tensor its own, if it has one."""
    owner = session.layers.owner
    return sorted({owner[row] if owner[row] >= 0 else row for row in rows})


def number(value: float) -> float | None:
    """Return a number of a document; None for a negative one, which is missing."""
    return value if value >= 0 else None
