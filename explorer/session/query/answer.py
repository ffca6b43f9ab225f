"""Answers to queries: the rows of a table that fit, alone or in groups, each with its layers and places."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ...report import percent, seconds, table
from ..document import Session
from .language import Plan, Tree, outputs, parsed
from .rows import Rows, Value
from .schema import SUBJECTS, Column
from .tables import Tables

_COMPARES: Mapping[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Answer:
    """The answer to a query."""

    subject: str
    columns: tuple[Column, ...]
    rows: list[tuple[Value, ...]]
    """Values by column: texts, of which there may be none or several, or a number, None where it is missing."""
    layers: list[list[int]]
    """Per row: the layers that it stands for, as rows of `Session.layers`."""
    places: list[list[tuple[int, int]]]
    """Per row: stages and lines, from 0; line -1 is the stage as a whole."""
    count: int
    """The number of rows of the table that fit, before groups and `top`."""

    def __str__(self) -> str:
        """The answer as a table with a line about it."""
        header = [column.name for column in self.columns]
        texts = [[_shown(value, column) for value, column in zip(row, self.columns, strict=True)] for row in self.rows]
        rows = "1 row" if len(texts) == 1 else f"{len(texts)} rows"
        return "\n".join([*([table(texts, header)] if texts else []), f"{rows} of {self.count} {self.subject}"])


def answer(session: Session, query: str, tables: Tables | None = None) -> Answer:
    """Answer a query about a session.

    tables: those of the session, if there are any yet. Raises QueryError for a query that is wrong.
    """
    tables = tables or Tables(session)
    plan = parsed(query, tables.passes, session.comparison is not None)
    rows = tables.lines(plan.after) if plan.table == "lines" else tables[plan.table]
    where = plan.where
    if plan.after and plan.table == "ops":
        after: Tree = ("=", "pass", plan.after.lower())
        where = after if where is None else ("and", after, where)
    fits = _fits(rows, where)
    members = [row for row in range(len(rows.layers)) if fits(row)]
    groups = _groups(rows, members, plan.by) if plan.by else [((), [row]) for row in members]
    columns = outputs(plan)
    cells: list[_Row] = [(_cells(plan, columns, rows, key, own), own) for key, own in groups]
    _add_parts(columns, cells, plan, rows, members)
    cells = _ordered(plan, columns, cells)[: plan.top or None]
    named = {*plan.by, *plan.show, plan.measure, "rows"}
    keep = [
        k
        for k, column in enumerate(columns)
        if column.name in named or any(row[k] not in (None, ()) for row, _ in cells)
    ]
    return Answer(
        plan.table,
        tuple(columns[k] for k in keep),
        [tuple(row[k] for k in keep) for row, _ in cells],
        [sorted({layer for row in own for layer in rows.layers[row]}) for _, own in cells],
        [sorted({place for row in own if (place := rows.places[row])}) for _, own in cells],
        len(members),
    )


def _fits(rows: Rows, tree: Tree | None) -> Callable[[int], bool]:
    """Return the test of a row by a condition. A missing number or text fits no comparison."""
    if tree is None:
        return lambda row: True
    match tree[0]:
        case "and" | "or" as word:
            first, second = _fits(rows, tree[1]), _fits(rows, tree[2])
            return (
                (lambda row: first(row) and second(row)) if word == "and" else (lambda row: first(row) or second(row))
            )
        case "not":
            inner = _fits(rows, tree[1])
            return lambda row: not inner(row)
        case "has":
            values = rows.columns[tree[1]]
            return lambda row: values[row] not in (None, (), 0)
        case sign:
            return _comparison(rows.columns[tree[1]], sign, tree[2])


def _comparison(values: Sequence[Value], sign: str, wanted: float | str | list[str]) -> Callable[[int], bool]:
    def fits(row: int) -> bool:
        value = values[row]
        if isinstance(value, tuple):
            return any(
                _holds(text.lower(), wanted) if isinstance(wanted, list) else text.lower() == wanted for text in value
            )
        return value is not None and isinstance(wanted, float) and _COMPARES[sign](value, wanted)

    return fits


def _holds(text: str, parts: Sequence[str]) -> bool:
    """Return whether a text has the parts in order, one after the other."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _groups(rows: Rows, members: Sequence[int], by: Sequence[str]) -> list[tuple[tuple[Value, ...], list[int]]]:
    """Return the groups of rows with equal values; a row with several texts is in the group of each."""
    found: dict[tuple[Value, ...], list[int]] = {}
    for row in members:
        values = [rows.columns[name][row] for name in by]
        choices = [
            [(text,) for text in dict.fromkeys(value)] or [()] if isinstance(value, tuple) else [value]
            for value in values
        ]
        for key in product(*choices):
            found.setdefault(key, []).append(row)
    return list(found.items())


def _cells(
    plan: Plan, columns: Sequence[Column], rows: Rows, key: tuple[Value, ...], own: Sequence[int]
) -> list[Value]:
    """Return the values of a row of the answer; its part comes later."""
    cells: dict[str, Value] = {}
    for k, column in enumerate(columns):
        name = column.name
        if k < len(key):
            cells[name] = key[k]
        elif name == "rows" and plan.by:
            cells[name] = len(own)
        elif name in rows.columns:
            cells[name] = _sum(rows, name, own) if plan.by else rows.columns[name][own[0]]
        else:
            cells[name] = None
    if plan.against and plan.measure:
        here, there = cells[plan.measure], cells[f"old_{plan.measure}"]
        if isinstance(here, int | float) and isinstance(there, int | float):
            cells["difference"] = here - there
            cells["ratio"] = here / there if there else None
    return list(cells.values())


def _sum(rows: Rows, name: str, own: Sequence[int]) -> float | None:
    """Return the sum of the numbers that there are."""
    total: float | None = None
    for row in own:
        value = rows.columns[name][row]
        if isinstance(value, int | float):
            total = float(value) + (total or 0.0)
    return total


_Row = tuple[list[Value], Sequence[int]]


def _add_parts(
    columns: Sequence[Column], cells: Sequence[_Row], plan: Plan, rows: Rows, members: Sequence[int]
) -> None:
    """Fill in the part of the measure that a row has of all rows that fit."""
    names = [column.name for column in columns]
    if "part" not in names:
        return
    total = _sum(rows, plan.measure, members)
    for row, _ in cells:
        value = row[names.index(plan.measure)]
        row[names.index("part")] = value / total if total and isinstance(value, int | float) else None


def _ordered(plan: Plan, columns: Sequence[Column], cells: list[_Row]) -> list[_Row]:
    """Return the rows in order: of numbers the largest first, of texts by letters; what is missing is last."""
    subject = SUBJECTS[plan.table]
    by_itself = (
        "difference"
        if plan.against and plan.measure
        else plan.measure or ("rows" if plan.by else subject.rank if plan.top else "")
    )
    name = plan.order or by_itself
    names = [column.name for column in columns]
    if name not in names:
        return cells
    at = names.index(name)
    absolute = not plan.order and name == "difference"
    present = [row for row in cells if row[0][at] not in (None, ())]
    missing = [row for row in cells if row[0][at] in (None, ())]

    def key(row: _Row) -> tuple[float, bytes]:
        value = row[0][at]
        if isinstance(value, tuple):
            # In the order of UTF-16, as the page has it.
            return 0, ", ".join(value).encode("utf-16-be", "surrogatepass")
        return abs(value or 0) if absolute else value or 0, b""

    present.sort(key=key, reverse=(plan.direction or ("up" if columns[at].unit == "text" else "down")) == "down")
    return [*present, *missing]


def _shown(value: Value, column: Column) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    if value is None:
        return ""
    match column.unit:
        case "s":
            return f"-{seconds(-value)}" if value < 0 else seconds(value)
        case "share":
            return percent(value)
        case "bytes" | "count" if value == int(value):
            return str(int(value))
        case _:
            return f"{value:.4g}"
