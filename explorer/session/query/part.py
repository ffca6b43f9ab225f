"""The tables of a session as the page loads them: all but lines, which it makes of stages as it has them."""

from __future__ import annotations

import json
from typing import Any

from ..document import Session
from .schema import CHANGES, MEASURES, SUBJECTS, UNITS
from .tables import Tables


def tables_part(session: Session) -> str:
    """Return as JSON the language's words, the tables, and what lines are made of.

    Each distinct value of a text column is there once. `last`, `after`: stages, the last ones and those after a pass.
    `changed`: stage -> lists of an op and what the step before did with it. `samples`: stage -> line, samples, seconds.
    """
    tables = Tables(session)
    data: dict[str, Any] = {
        "units": UNITS,
        "changes": CHANGES,
        "measures": MEASURES,
        "passes": tables.passes,
        "compared": session.comparison is not None,
        "last": tables.stages.last,
        "after": {name: tables.stages.after(name) for name in tables.passes},
        "changed": {
            k: [[op, *words] for op, words in tables.stages.changes(k).items()]
            for k, stage in enumerate(session.stages)
            if stage.diff is not None
        },
        "samples": {k: [[line, *found] for line, found in lines.items()] for k, lines in tables.stages.samples.items()},
        "tables": {name: _table(tables, name) for name in SUBJECTS},
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _table(tables: Tables, name: str) -> dict[str, Any]:
    subject = SUBJECTS[name]
    table: dict[str, Any] = {
        "about": subject.about,
        "names": subject.names,
        "rank": subject.rank,
        "columns": [
            {"name": column.name, "unit": column.unit, "about": column.about, "adds": column.adds}
            for column in subject.columns
        ],
    }
    if name == "lines":
        return table
    rows = tables[name]
    for column in table["columns"]:
        values = rows.columns[column["name"]]
        if column["unit"] == "text":
            column["texts"], column["values"] = _numbered(values)
        else:
            column["values"] = values
    table["layers"] = rows.layers
    table["places"] = rows.places
    return table


def _numbered(values: list[Any]) -> tuple[list[Any], list[int]]:
    """Return the distinct values, and for each value its number among them."""
    numbers: dict[Any, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return list(numbers), codes
