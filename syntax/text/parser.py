"""Relay text -> expressions: the parser that Lark makes of the grammar, and its syntax errors."""

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
"""The terminals that no fixed text stands for, as errors call them."""
_HIDDEN = ("INFO", "INFINITE")


class _Machine:
    """A parser with its actions; it reads one text at a time."""

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
"""Idle machines, kept because making one takes a while: each text takes one from here, and puts it back."""


def parse(
    text: str,
    source_name: str = FROM_STRING,
    init_module: Program | None = None,
    init_meta_table: Mapping[str, Sequence[Entry | Constant]] | None = None,
) -> Program:
    """Return the functions and types of a module in text. Types of expressions are not inferred.

    source_name: the name of the text in spans. init_module: functions and types that the text may use, and that the
    result has, too. init_meta_table: entries of the metadata section, after the text's own.

    Raises DiagnosticError, a FrontendError, with all errors in the text, but only the first syntax error.
    """
    program = Program()
    if init_module is not None:
        program = Program(dict(init_module.functions), dict(init_module.types))
    return _parse(text, source_name, "module", program, given_table(init_meta_table))


def fromtext(text: str) -> Program:
    """Parse a text without a name; see `parse`."""
    return parse(text)


def parse_expr(text: str, source_name: str = FROM_STRING, init_module: Program | None = None) -> Expr:
    """Return the expression in a text, which may lack the version line; otherwise as `parse`."""
    return _parse(text, source_name, "expression", init_module or Program(), {})


def _parse(text: str, name: str, start: Literal["module", "expression"], program: Program, given: MetaTable) -> Any:
    context = DiagnosticContext(name, text)
    code, section, end = program_and_metadata(context)
    if (position := too_deep(code, "{", DEEPEST_BODY)) is not None:
        context.emit(f"expected at most {DEEPEST_BODY} bodies in each other, got more", context.at(*position))
        context.fail()
    metadata = _table(context, section, end, given)
    machine = _idle.pop() if _idle else _Machine()
    try:
        machine.actions.begin(context, program, metadata)
        with fewer_collections():
            result = cast(Any, machine.lark).parse(code, start=start)
        expressions = machine.actions.expressions
    except UnexpectedInput as error:
        _unexpected(context, error, machine)
    finally:
        _idle.append(machine)
    context.render()
    restore(metadata.get(SOURCE_MAP), text[:end], expressions)
    return result


def _table(context: DiagnosticContext, section: str | None, start: int, meta_table: MetaTable) -> MetaTable:
    """Return the metadata of a text, followed by the caller's entries."""
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
    for kind, entries in meta_table.items():
        table.setdefault(kind, []).extend(entries)
    return table


def _unexpected(context: DiagnosticContext, error: UnexpectedInput, machine: _Machine) -> NoReturn:
    """Raise a syntax error, after the errors before it."""
    line, column = max(error.line, 1), max(error.column, 1)
    end_column = column + 1
    if isinstance(error, UnexpectedCharacters):
        expected, actual = set(error.allowed or ()), f"`{cast(Any, error).char}`"
    else:
        assert isinstance(error, UnexpectedToken)
        token = cast(Token, cast(Any, error).token)
        expected, actual = set(error.accepts or error.expected), f"`{token}`"
        end_column = column + max(1, len(token.split("\n")[0]))
        if token.type == "$END":
            actual = "the end of the text"
            lines = context.text.rstrip().split("\n")
            line, column = len(lines), len(lines[-1]) + 1
            end_column = column + 1
    span = context.at(line, column, line, end_column)
    if expected == {"VERSION"}:
        context.emit(f"expected text format semantic version, got {actual}", span, f"you can annotate it as {VERSION}")
    else:
        alternatives = sorted(map(machine.spelling, expected.difference(_HIDDEN)), key=lambda w: (w.startswith("`"), w))
        more = " .." if len(alternatives) > _SHOWN_EXPECTED else ""
        context.emit(f"expected {' or '.join(alternatives[:_SHOWN_EXPECTED])}{more}, got {actual}", span)
    context.fail()
