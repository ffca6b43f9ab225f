"""Random queries about a session: right ones out of its own values, and others with wrong letters."""

from __future__ import annotations

import random
from collections.abc import Iterator

from whence.explorer.session.query.language import outputs, parsed
from whence.explorer.session.query.rows import Value
from whence.explorer.session.query.schema import CHANGES, SUBJECTS, Column
from whence.explorer.session.query.tables import Tables

_TABLES = [name for name in SUBJECTS if name != "compared"]
_DEPTH = 3


def random_queries(tables: Tables, count: int, seed: int = 0) -> Iterator[str]:
    """Yield queries; every fifth has a mistake."""
    dice = random.Random(seed)
    for number in range(count):
        query = _Query(tables, dice).text()
        yield _damaged(query, dice) if number % 5 == 4 else query


def _damaged(query: str, dice: random.Random) -> str:
    letters = list(query)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(letters))
        change = dice.randrange(4)
        if change == 0 and len(letters) > 1:
            del letters[at]
        elif change == 1:
            letters.insert(at, letters[at])
        elif change == 2:
            letters[at] = dice.choice("()=<>~!\"' ,x9%")
        else:
            other = dice.randrange(len(letters))
            letters[at], letters[other] = letters[other], letters[at]
    return "".join(letters)


class _Query:
    def __init__(self, tables: Tables, dice: random.Random) -> None:
        self.tables = tables
        self.dice = dice
        self.table = dice.choice(_TABLES)
        adding = [column.name for column in SUBJECTS[self.table].columns if column.adds]
        self.measure = dice.choice(adding) if adding and dice.random() < 0.4 else ""
        self.against = tables.session.comparison is not None and self.table == "layers" and dice.random() < 0.3
        if self.against:
            self.table, self.measure = "compared", dice.choice(["", "time", "instructions", "code"])

    def text(self) -> str:
        dice = self.dice
        subject = "layers" if self.against else self.table
        clauses: list[str] = []
        if self.table in ("ops", "lines"):
            if dice.random() < 0.6:
                clauses.append(f"after {dice.choice(self.tables.passes)}")
            if dice.random() < 0.4:
                clauses.append(dice.choice(CHANGES))
        if dice.random() < 0.7:
            clauses.append(f"where {self.condition(0)}")
        if dice.random() < 0.5:
            names = [column.name for column in self.columns() if self.measure not in column.name or not self.measure]
            clauses.append(f"by {', '.join(dice.sample(names, min(len(names), dice.randint(1, 2))))}")
        elif not self.measure and dice.random() < 0.3:
            names = [column.name for column in self.columns()]
            clauses.append(f"show {', '.join(dice.sample(names, dice.randint(1, len(names))))}")
        if self.against:
            clauses.append("against old")
        head = f"{self.measure} of {subject}" if self.measure and not self.against else self.measure or subject
        begin = " ".join([head, *clauses])
        session = self.tables.session
        if dice.random() < 0.4:
            names = [
                column.name for column in outputs(parsed(begin, self.tables.passes, session.comparison is not None))
            ]
            clauses.append(f"order {dice.choice(['', 'by '])}{dice.choice(names)}{dice.choice(['', ' up', ' down'])}")
        if dice.random() < 0.4:
            clauses.append(f"top {dice.randint(1, 12)}")
        dice.shuffle(clauses)
        return " ".join([head, *clauses])

    def columns(self) -> tuple[Column, ...]:
        return SUBJECTS[self.table].columns

    def condition(self, depth: int) -> str:
        draw = self.dice.random()
        if depth < _DEPTH and draw < 0.4:
            word = self.dice.choice(["and", "or"])
            return f"{self.condition(depth + 1)} {word} {self.condition(depth + 1)}"
        if depth < _DEPTH and draw < 0.55:
            return f"({self.condition(depth + 1)})"
        if depth < _DEPTH and draw < 0.65:
            return f"not {self.condition(depth + 1)}"
        column = self.dice.choice(self.columns())
        if draw > 0.95:
            return column.name
        value = self.value(column)
        if column.unit == "text":
            return f"{column.name}{self.dice.choice(['=', '!=', '~', ' = '])}{value}"
        return f"{column.name}{self.dice.choice(['=', '!=', '<', '<=', '>', ' >= '])}{value}"

    def value(self, column: Column) -> str:
        values: list[Value] = self.tables[self.table].columns[column.name]
        some = [value for value in self.dice.sample(values, min(len(values), 8)) if value not in (None, ())]
        value = some[0] if some else None
        if column.unit != "text":
            number = value if isinstance(value, int | float) else self.dice.random() * 100
            return self.dice.choice(
                [repr(number), f"{number * 1e3:.3g}m" + "s", f"{self.dice.randint(0, 99)}%", "2k", "1e-3"]
            )
        text = str(self.dice.choice(value)) if isinstance(value, tuple) else "x"
        text = text.replace('"', "*")
        if self.dice.random() < 0.5 and len(text) > 2:
            begin = self.dice.randrange(len(text) - 1)
            text = text[begin : begin + self.dice.randint(1, 6)]
            text = text[:2] + "*" + text[2:] if self.dice.random() < 0.3 else text
        return f'"{text if self.dice.random() < 0.7 else text.swapcase()}"'
