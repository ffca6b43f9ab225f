"""Relay text -> expressions: the parser that Lark makes of the grammar, and what it says of what does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, NoReturn, cast

from lark import Lark, Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ...support.errors import FrontendError
from ...support.garbage import fewer_collections
from ...support.nesting import too_deep
from ..relay.expr import Constant, Expr, Program
from .actions import VERSION
from .diagnostics import DiagnosticContext
from .expressions import Actions
from .layout import program_and_metadata
from .metadata import Entry, MetaTable, given_table, read_metadata
from .source_map import SOURCE_MAP, restore

FROM_STRING = "from_string"
_SHOWN_EXPECTED = 8
DEEPEST_BODY = 500
"""The largest depth to which branches, clauses and functions may nest."""
_NAMED = {
    "IDENT": "a name",
    "LOCAL": "a variable such as %x",
    "GRAPH": "a graph variable such as %0",
    "GLOBAL": "a global name such as @main",
    "NUMBER": "a number",
    "SIZE": "the name of a size",
    "STRING": "a string",
    "OPERATOR": "an operator",
    "PROJECTION": "a projection such as .0",
    "$END": "the end of the text",
    "NONE": "`None`",
}
"""Terminals without a spelling of their own."""
_HIDDEN = ("INFO", "INFINITE")


class _Machine:
    """A parser, with the actions that it is bound to; it reads one text at a time."""

    def __init__(self) -> None:
        self.actions = Actions()
        grammar = (files(__package__ or "") / "relay.lark").read_text()
        self.lark = Lark(
            grammar,
            parser="lalr",
            lexer="contextual",
            start=["module", "expression"],
            transformer=self.actions,
            maybe_placeholders=False,
        )
        self.spellings = {t.name: t.pattern.value for t in self.lark.terminals if t.pattern.type == "str"}

    def spelling(self, terminal: str) -> str:
        return _NAMED.get(terminal) or f"`{self.spellings.get(terminal, terminal)}`"


_idle: list[_Machine] = []
"""Machines take a while to make: each text takes one from here, and puts it back."""


def parse(
    text: str,
    source_name: str = FROM_STRING,
    init_module: Program | None = None,
    init_meta_table: Mapping[str, Sequence[Entry | Constant]] | None = None,
) -> Program:
    """The functions and types of a module in text. Types of expressions are not inferred.

    source_name: what spans call the text. init_module: functions and types that it may use, and that the result has,
    too. init_meta_table: entries of the metadata section, after those of the text's own.

    Raises DiagnosticError, a FrontendError, with all that is wrong with the text, but of syntax errors the first only.
    """
    program = Program()
    if init_module is not None:
        program = Program(dict(init_module.functions), dict(init_module.types))
    return _parse(text, source_name, "module", program, given_table(init_meta_table))


def fromtext(text: str) -> Program:
    """`parse` of a text without a name."""
    return parse(text)


def parse_expr(text: str, source_name: str = FROM_STRING, init_module: Program | None = None) -> Expr:
    """The expression in a text, which may be without version line; otherwise as `parse`."""
    return _parse(text, source_name, "expression", init_module or Program(), {})


def _parse(text: str, name: str, start: Literal["module", "expression"], program: Program, given: MetaTable) -> Any:
    context = DiagnosticContext(name, text)
    code, section, end = program_and_metadata(context)
    if (position := too_deep(code, "{", DEEPEST_BODY)) is not None:
        context.emit(f"expected at most {DEEPEST_BODY} bodies in each other, got more", context.at(*position))
        context.fail()
    table = _table(context, section, end, given)
    machine = _idle.pop() if _idle else _Machine()
    try:
        machine.actions.begin(context, program, table)
        with fewer_collections():
            result = cast(Any, machine.lark).parse(code, start=start)
        made = machine.actions.made
    except UnexpectedInput as error:
        _unexpected(context, error, machine)
    finally:
        _idle.append(machine)
    context.render()
    restore(table.get(SOURCE_MAP), text[:end], made)
    return result


def _table(context: DiagnosticContext, section: str | None, start: int, given: MetaTable) -> MetaTable:
    """The metadata of a text, what was given behind it."""
    table: MetaTable = {}
    if section is not None:
        line = context.text.count("\n", 0, start) + 1
        if "\n#[metadata]" in section:
            context.emit("duplicate metadata section", context.at(line + section.count("\n"), 1))
            context.fail()
        try:
            table = read_metadata(section)
        except FrontendError as error:
            context.emit(str(error), context.at(line, 1, line, len("#[metadata]") + 1))
            context.fail()
    for kind, entries in given.items():
        table.setdefault(kind, []).extend(entries)
    return table


def _unexpected(context: DiagnosticContext, error: UnexpectedInput, machine: _Machine) -> NoReturn:
    """A syntax error, after what else was wrong before it."""
    line, column = max(error.line, 1), max(error.column, 1)
    end_column = column + 1
    if isinstance(error, UnexpectedCharacters):
        expected, found = set(error.allowed or ()), f"`{cast(Any, error).char}`"
    else:
        assert isinstance(error, UnexpectedToken)
        token = cast(Token, cast(Any, error).token)
        expected, found = set(error.accepts or error.expected), f"`{token}`"
        end_column = column + max(1, len(token.split("\n")[0]))
        if token.type == "$END":
            found = "the end of the text"
            lines = context.text.rstrip().split("\n")
            line, column = len(lines), len(lines[-1]) + 1
            end_column = column + 1
    span = context.at(line, column, line, end_column)
    if expected == {"VERSION"}:
        context.emit(f"expected text format semantic version, got {found}", span, f"you can annotate it as {VERSION}")
    else:
        wanted = sorted(map(machine.spelling, expected.difference(_HIDDEN)), key=lambda w: (w.startswith("`"), w))
        more = " .." if len(wanted) > _SHOWN_EXPECTED else ""
        context.emit(f"expected {' or '.join(wanted[:_SHOWN_EXPECTED])}{more}, got {found}", span)
    context.fail()
