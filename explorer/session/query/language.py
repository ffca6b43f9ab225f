"""The language of queries: a text becomes a plan, or one error that points at what is wrong.

query     = subject {clause}
subject   = TABLE | MEASURE ["of" TABLE]
clause    = "where" any | "by" COLUMN {"," COLUMN} | "order" COLUMN ["up" | "down"] | "top" N
          | "show" COLUMN {"," COLUMN} | "after" PASS | "against" "old" | new | gone | changed | moved | lost
any       = all {"or" all};  all = one {"and" one};  one = "not" one | "(" any ")" | COLUMN [OP value]
OP        = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~"
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn, TypeAlias

from ....support.errors import TextError
from ....support.names import did_you_mean, shown
from .schema import CHANGES, MEASURES, SUBJECTS, UNITS, Column

LONGEST = 1000
"""Letters of a query, at most."""
DEEPEST = 40
"""Parentheses and `not` inside each other, at most."""
_TOKEN = re.compile(r"""("[^"]*"|'[^']*')|(<=|>=|!=|[=<>~(),])|([^ \t\r\n()=!<>~,"']+)""")
_SPACE = re.compile(r"[ \t\r\n]*")
_SPACES = re.compile(r"[\t\r\n]")
_NUMBER = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)([A-Za-z%]*)")
_CLAUSES = ("where", "by", "order", "top", "show", "after", "against")
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "~")

Tree: TypeAlias = tuple[Any, ...]
"""("and" or "or", tree, tree), ("not", tree), ("has", column), or (an operator, column, value)."""


class QueryError(TextError):
    """A query is wrong; the text shows it with carets below the place."""

    def __init__(self, text: str, at: int, length: int, expected: str, about: str = "") -> None:
        self.at = at
        found = f"'{text[at : at + length]}'" if length else "the end"
        head = f"query: expected {expected}, got {found}"
        lines = (head, f"  {_SPACES.sub(' ', text)}", f"  {' ' * at}{'^' * max(1, length)}", about)
        super().__init__("\n".join(filter(None, map(shown, lines))))


@dataclass
class Plan:
    """A query, understood."""

    table: str
    measure: str = ""
    """The column that is added up; "" for rows as they are."""
    against: bool = False
    after: str = ""
    """The name of a pass; "" for the last stages."""
    where: Tree | None = None
    by: list[str] = field(default_factory=list[str])
    show: list[str] = field(default_factory=list[str])
    order: str = ""
    """The column of the answer by which its rows are ordered; "" for the order that the subject has."""
    direction: str = ""
    """up, down, or "": numbers down, texts up."""
    top: int = 0
    """The number of rows; 0 for all."""


@dataclass(frozen=True)
class _Token:
    kind: str
    """text, mark, word or end."""
    text: str
    at: int
    length: int


def parsed(text: str, passes: Iterable[str] = (), compared: bool = False) -> Plan:
    """Return the plan of a query.

    passes: the names that `after` knows. compared: whether the document has another session to hold this one against.
    Raises QueryError.
    """
    return _Parser(text, list(dict.fromkeys(passes)), compared).query()


class _Parser:
    def __init__(self, text: str, passes: list[str], compared: bool) -> None:
        self.text = text
        self.passes = passes
        self.compared = compared
        if len(text) > LONGEST:
            raise QueryError(text[:20], 0, 20, f"at most {LONGEST} letters")
        self.tokens = list(self._tokens())
        self.next = 0
        self.depth = 0

    def _tokens(self) -> Iterable[_Token]:
        at, end = 0, len(self.text)
        while (space := _SPACE.match(self.text, at)) and (at := space.end()) < end:
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise QueryError(self.text, at, 1, "a word, an operator or a text in quotes that end")
            kind = ("text", "mark", "word")[(match.lastindex or 1) - 1]
            yield _Token(kind, match[0][1:-1] if kind == "text" else match[0], at, len(match[0]))
            at = match.end()
        yield _Token("end", "", end, 0)

    def fail(self, token: _Token, expected: str, names: Iterable[str] = (), about: str = "") -> NoReturn:
        near = did_you_mean(token.text, names).strip(" ()") if token.text else ""
        raise QueryError(self.text, token.at, token.length, expected, " ".join(filter(None, (near, about))))

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def take(self) -> _Token:
        token = self.tokens[self.next]
        self.next += token.kind != "end"
        return token

    def taken(self, *words: str) -> str:
        """Take a word or mark if it is one of these; return it, else ""."""
        if self.token.kind in ("word", "mark") and (text := self.token.text.lower()) in words:
            self.next += 1
            return text
        return ""

    def query(self) -> Plan:
        subject = self.take()
        name = subject.text.lower()
        tables = [table for table in SUBJECTS if table != "compared"]
        if self.taken("of"):
            table = self.take()
            plan = Plan(table.text.lower(), name)
            if plan.table not in tables:
                self.fail(table, "a table", tables, f"tables: {', '.join(tables)}")
        elif subject.kind == "word" and name in tables:
            plan = Plan(name)
        else:
            plan = Plan("layers", name)
            if name not in MEASURES:
                self.fail(subject, "a subject", [*tables, *MEASURES], f"subjects: {', '.join([*tables, *MEASURES])}")
        if plan.measure and plan.measure not in _adding(plan.table):
            self.fail(subject, f"a number that {plan.table} add up", [], f"these are {', '.join(_adding(plan.table))}")
        self.clauses(plan)
        return plan

    def clauses(self, plan: Plan) -> None:
        # What a clause means depends on `against`, wherever that stands.
        for before, token in pairwise(self.tokens):
            if token.kind == "word" and token.text.lower() == "against" and before.text not in _OPERATORS:
                self.against(plan, token)
                break
        seen = set[str]()
        order: _Token | None = None
        while self.token.kind != "end":
            token = self.take()
            word = token.text.lower() if token.kind == "word" else ""
            # No word is a mark, so none is taken for this clause.
            clause = "=" if word in CHANGES else word
            if clause in seen:
                self.fail(token, f"{word} once")
            seen.add(clause)
            match clause:
                case "where":
                    plan.where = _both(plan.where, self.either(plan))
                case "by" | "show":
                    (plan.by if word == "by" else plan.show).extend(self.columns(plan, token))
                case "order":
                    self.taken("by")
                    order = self.take()
                    plan.order = order.text.lower()
                    plan.direction = self.taken("up", "down")
                case "top":
                    number = self.take()
                    if not re.fullmatch("[1-9][0-9]{0,8}", number.text):
                        self.fail(number, "a number of rows")
                    plan.top = int(number.text)
                case "after":
                    self.after(plan, token)
                case "=":
                    if plan.table not in ("ops", "lines"):
                        self.fail(token, f"ops or lines before {word}")
                    plan.where = _both(plan.where, ("=", "change", word))
                case "against":
                    old = self.take()
                    if old.text.lower() not in ("old", "other"):
                        self.fail(old, "old")
                case _:
                    clauses = [*_CLAUSES, *CHANGES]
                    self.fail(token, "a clause", clauses, f"clauses: {', '.join(clauses)}")
        if plan.measure and (keys := {plan.measure, f"old_{plan.measure}"}.intersection(plan.by)):
            key = next(name for name in plan.by if name in keys)
            raise QueryError(self.text, 0, len(self.text), f"another column than {key} after by")
        if plan.show and (plan.by or plan.measure):
            raise QueryError(self.text, 0, len(self.text), "show without by and without a measure")
        if order is not None:
            names = [column.name for column in outputs(plan)]
            if plan.order not in names:
                self.fail(order, "a column of the answer", names, f"columns: {', '.join(names)}")

    def against(self, plan: Plan, token: _Token) -> None:
        if not self.compared:
            self.fail(token, "no against, as this document has no other session beside it (--compare OTHER)")
        if plan.table != "layers" or (plan.measure and plan.measure not in _adding("compared")):
            self.fail(token, "layers, time, instructions or code before against")
        plan.table, plan.against = "compared", True

    def after(self, plan: Plan, token: _Token) -> None:
        name = self.take()
        if plan.table not in ("ops", "lines"):
            self.fail(token, "ops or lines before after")
        known = {each.partition("-")[2].lower(): each for each in self.passes}
        known.update({each.lower(): each for each in self.passes})
        plan.after = known.get(name.text.lower(), "") if name.text else ""
        if not plan.after:
            self.fail(name, "a pass that ran", self.passes)

    def columns(self, plan: Plan, clause: _Token) -> list[str]:
        names = [self.column(plan, self.take()).name]
        while self.taken(","):
            token = self.take()
            name = self.column(plan, token).name
            if name in names:
                self.fail(token, f"{name} once")
            names.append(name)
        return names

    def column(self, plan: Plan, token: _Token) -> Column:
        for column in SUBJECTS[plan.table].columns:
            if token.kind == "word" and column.name == token.text.lower():
                return column
        names = [column.name for column in SUBJECTS[plan.table].columns]
        self.fail(token, f"a column of {plan.table}", names, f"columns of {plan.table}: {', '.join(names)}")

    def either(self, plan: Plan) -> Tree:
        tree = self.both(plan)
        while self.taken("or"):
            tree = ("or", tree, self.both(plan))
        return tree

    def both(self, plan: Plan) -> Tree:
        tree = self.one(plan)
        while self.taken("and"):
            tree = ("and", tree, self.one(plan))
        return tree

    def one(self, plan: Plan) -> Tree:
        token = self.take()
        nested = token.kind in ("word", "mark") and token.text.lower() in ("not", "(")
        if not nested:
            return self.comparison(plan, self.column(plan, token))
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(token, f"at most {DEEPEST} parentheses in each other")
        if token.text == "(":
            tree = self.either(plan)
            if not self.taken(")"):
                self.fail(self.token, "a )")
        else:
            tree = ("not", self.one(plan))
        self.depth -= 1
        return tree

    def comparison(self, plan: Plan, column: Column) -> Tree:
        sign = self.token
        operator = self.taken(*_OPERATORS)
        if not operator:
            return ("has", column.name)
        is_text = column.unit == "text"
        if is_text and operator not in ("=", "!=", "~"):
            self.fail(sign, f"=, != or ~ after {column.name}, which is text")
        if not is_text and operator == "~":
            self.fail(sign, f"=, !=, <, <=, > or >= after {column.name}, which is a number")
        value = self.take()
        if value.kind not in ("word", "text"):
            self.fail(value, "a value")
        if operator == "!=":
            return ("not", ("=", column.name, value.text.lower() if is_text else self.number(value)))
        if operator == "~":
            return ("~", column.name, [part for part in value.text.lower().split("*") if part])
        return (operator, column.name, value.text.lower() if is_text else self.number(value))

    def number(self, token: _Token) -> float:
        match = _NUMBER.fullmatch(token.text)
        if match is None or (match[2] and match[2] not in UNITS):
            self.fail(token, "a number", UNITS, f"units: {', '.join(UNITS)}")
        return float(match[1]) * UNITS.get(match[2], 1.0)


def outputs(plan: Plan) -> list[Column]:
    """Return the columns of the answer to a query, before those without a value are left out."""
    subject = SUBJECTS[plan.table]
    columns = {column.name: column for column in subject.columns}
    names = plan.by or [column.name for column in subject.columns[: subject.names]]
    rows = [Column("rows", "count", f"the number of {plan.table}")] if plan.by else []
    if plan.against and plan.measure:
        unit = columns[plan.measure].unit
        more = [columns[plan.measure], columns[f"old_{plan.measure}"], Column("difference", unit, "here less there")]
        return [*map(columns.__getitem__, names), *more, Column("ratio", "number", "here by there"), *rows]
    if plan.measure:
        share = Column("part", "share", "the part of all rows of the answer")
        return [*map(columns.__getitem__, names), columns[plan.measure], share, *rows]
    if plan.by:
        adding = [column for column in subject.columns if column.adds and column.name not in names]
        return [*map(columns.__getitem__, names), *rows, *adding]
    return [columns[name] for name in plan.show] or list(subject.columns)


def _both(first: Tree | None, second: Tree) -> Tree:
    return second if first is None else ("and", first, second)


def _adding(table: str) -> list[str]:
    return [column.name for column in SUBJECTS[table].columns if column.adds]
