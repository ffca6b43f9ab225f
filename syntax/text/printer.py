"""Expressions and programs -> Relay text, in TVM's format 0.0.5.

`Printer._visit` looks recursive, but `driven` keeps waiting visits on a stack, so that depth costs nothing. If the text
needs a source map, each expression that may have a span leaves a mark after its text. The marks are then removed; their
order in the text tells the order of the expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Attribute

from ...support.errors import FrontendError
from ..relay.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    Program,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TypeData,
    Var,
)
from ..relay.nodes import children
from ..relay.type_text import spelled
from ..relay.type_view import plain
from ..relay.undetermined import undetermined
from ..relay.walks import driven, each
from .attributes import call_attributes, function_attributes, operator_attributes, value_text
from .identifiers import UniqueNames, global_name, variable_name
from .layout import span_comments, span_of
from .literals import scalar_text
from .metadata import CONSTANT, MetadataWriter
from .placement import Placement, Scope
from .types import tuple_text

Annotate: TypeAlias = Callable[[Expr], str]
Asked: TypeAlias = tuple[Expr, bool]
"""A request for the text of an expression, and whether it may be in line."""
Visit: TypeAlias = Generator[Asked, str, str]
_MARK = re.compile("\0([0-9]+)\0")
_REFERENCES: dict[type[Expr], str] = {RefCreate: "ref", RefRead: "ref_read", RefWrite: "ref_write"}
_COMMENTED = (Constant, Call, Var, Function, Tuple, TupleGetItem)
"""The classes of expressions whose type and span TVM shows."""


class Printer:
    """A printer of functions and types, one after the other, as one text with unique names and numbers."""

    def __init__(self, annotate: Annotate | None, marks: bool):
        self.meta = MetadataWriter()
        self.names: dict[str, str] = {}
        """The names of variables that the text changes: name in the text -> original name."""
        self.marked: list[Expr] = []
        self.lossy = False
        """True if the text alone would give some expression another span or name."""
        self._spans: set[bool] = set()
        self._annotate = annotate
        self.marks = marks
        self._unique = UniqueNames()
        self._globals: dict[str, str] = {}
        self._global_names = UniqueNames()
        self._temporaries = 0
        self._memo: dict[Expr, str] = {}
        self._types: dict[int, tuple[Attribute, str]] = {}
        self._placement = Placement()
        self._type_arguments: dict[Call, list[Attribute]] = {}
        """The type arguments of calls that the text would not determine otherwise."""

    # -- programs

    def program(self, program: Program) -> str:
        self._type_arguments = undetermined(program)
        for name in sorted(program.functions):
            self._global(name)
        parts = [self._type_data(program.types[name]) for name in sorted(program.types)]
        parts += [self._definition(name, program.functions[name]) for name in sorted(program.functions)]
        return "\n".join(f"{part}\n" for part in parts)

    def expression(self, root: Expr) -> str:
        self._memo = {}
        self._placement = Placement.of(root, 0)
        scope = self._placement.scopes[root]
        scope.lines.append(driven((root, True), self._visit, self._known))
        return "\n".join(scope.lines)

    def _type_data(self, data: TypeData) -> str:
        params = f"[{', '.join(data.type_vars)}]" if data.type_vars else ""
        lines = [f"type {data.header}{params} {{"]
        for constructor in data.constructors:
            inputs = ", ".join(map(self._type, constructor.inputs))
            lines.append(f"  {constructor.name_hint}({inputs})," if inputs else f"  {constructor.name_hint},")
        return "\n".join([*lines, "}"])

    def _definition(self, name: str, function: Function) -> str:
        self._memo = {}
        self._placement = Placement.of(function, 0)
        definition = self._function(function, f"def @{self._global(name)}")

        def visit(asked: Asked) -> Visit:
            return definition if asked[0] is function else self._visit(asked)

        text = driven((function, True), visit, self._known)
        return f"{text}{self._mark(function)}"

    def _global(self, name: str) -> str:
        if (unique := self._globals.get(name)) is None:
            unique = self._globals[name] = self._global_names.unique(global_name(name))
        return unique

    # -- the walk

    def _known(self, asked: Asked) -> str | None:
        """Return the text of an expression that has one already or needs no other's; None for others."""
        expr, _ = asked
        if (text := self._memo.get(expr)) is not None:
            return text
        match expr:
            case Constant():
                text = scalar_text(expr.data) or self.meta.reference(CONSTANT, expr.data, id(expr.data))
                text += self._info(expr)
            case GlobalVar():
                text = f"@{self._global(expr.name_hint)}"
            case Op():
                text = expr.name
            case Constructor():
                text = expr.name_hint
            case Var():
                scope = self._placement.scopes.get(expr)
                definition = self._define(expr)
                if scope is not None:
                    scope.lines.append(f"free_var {definition};")
                return self._memo[expr]
            case _:
                return None
        self._memo[expr] = text
        return text

    def _visit(self, asked: Asked) -> Visit:
        """Return the text of an expression where it is used: its own if there is room for it, else its variable."""
        expr, room = asked
        placement = self._placement
        if isinstance(expr, Let):
            text = yield from self._let(expr)
        else:
            text = yield from self._own(expr)
            text += self._info(expr)
        if room and placement.in_line(expr):
            return text
        name = self._memo[expr] = f"%{self._temporaries}"
        self._temporaries += 1
        placement.scopes[expr].lines.append(f"{name} = {text};")
        return name

    def _own(self, expr: Expr) -> Visit:
        match expr:
            case Call():
                return (yield from self._call(expr))
            case Tuple():
                return tuple_text((yield from _texts(expr.fields)))
            case TupleGetItem():
                return f"{(yield expr.tuple_value, False)}.{expr.index}"
            case Function():
                return (yield from self._function(expr, "fn "))
            case If():
                then, otherwise = self._placement.opened[expr]
                condition = yield expr.cond, False
                then_text = yield from self._body(expr.true_branch, then)
                other_text = yield from self._body(expr.false_branch, otherwise)
                return f"if ({condition}) {then_text} else {other_text}"
            case Match():
                return (yield from self._match(expr))
            case RefCreate() | RefRead() | RefWrite():
                return f"{_REFERENCES[type(expr)]}({', '.join((yield from _texts(children(expr))))})"
            case _:
                raise FrontendError(f"Relay text: expected an expression of Relay, got {type(expr).__name__}")

    def _call(self, call: Call) -> Visit:
        args = yield from _texts(call.args)
        callee = yield call.op, False
        op = call.op
        if isinstance(op, Op):
            args.extend(operator_attributes(op.name, call.attrs, self.meta))
        else:
            if (arguments := self._type_arguments.get(call)) is not None:
                callee += f"[{', '.join(map(self._type, arguments))}]"
            elif isinstance(op, Constructor) and not op.inputs:
                return callee
            args.extend(call_attributes(call.attrs, self.meta))
        return f"{callee}({', '.join(args)})"

    def _let(self, let: Let) -> Visit:
        """Return the text of a let and those directly in its body, as statements or in parentheses."""
        placement = self._placement
        flat = placement.flat(let)
        scope = placement.scopes[let] if flat else placement.opened[let][0]
        current = let
        while True:
            definition = self._define(current.var, self._declared_type(current))
            value = yield current.value, not isinstance(current.value, Let)
            scope.lines.append(f"let {definition} = {value};{self._mark(current)}")
            body = current.body
            if not (isinstance(body, Let) and placement.flat(body) and body not in self._memo):
                break
            current = body
        result = yield body, True
        if flat:
            return result
        return self._enclosed("(", result, scope, ")")

    def _declared_type(self, let: Let) -> Attribute | None:
        """Return a type annotation for a let if its value is data that would else need type arguments."""
        value = let.value
        if let.var.type_annotation is not None or not isinstance(value, Call) or not isinstance(value.op, Constructor):
            return None
        return value.type if self._type_arguments.pop(value, None) is not None else None

    def _body(self, result: Expr, scope: Scope) -> Visit:
        text = yield result, True
        return self._enclosed("{", text, scope, "}")

    def _enclosed(self, opening: str, result: str, scope: Scope, closing: str) -> str:
        line = "\n" + " " * scope.indent
        return f"{opening}{line}{line.join([*scope.lines, result])}{line[:-2]}{closing}"

    def _function(self, function: Function, prefix: str) -> Visit:
        params = f"[{', '.join(function.type_params)}]" if function.type_params else ""
        parameters = [self._define(param) for param in function.params]
        parameters.extend(function_attributes(function.attrs, self.meta))
        result = f"-> {self._type(function.ret_type)} " if function.ret_type is not None else ""
        (scope,) = self._placement.opened[function]
        body = yield from self._body(function.body, scope)
        return f"{prefix}{params}({', '.join(parameters)}) {result}{body}"

    def _match(self, match: Match) -> Visit:
        data = yield match.data, False
        indent = self._placement.scopes[match].indent
        lines = [f"{'match' if match.complete else 'match?'} ({data}) {{"]
        for clause, scope in zip(match.clauses, self._placement.opened.get(match, ()), strict=True):
            pattern = self._pattern(clause.lhs)
            body = yield from self._body(clause.rhs, scope)
            lines.append(f"{' ' * (indent + 2)}{pattern} => {body},")
        return "\n".join([*lines, f"{' ' * indent}}}"])

    # -- parts

    def _pattern(self, pattern: Pattern) -> str:
        match pattern:
            case PatternVar():
                return self._define(pattern.var)
            case PatternConstructor():
                inner = ", ".join(map(self._pattern, pattern.patterns))
                return f"{pattern.constructor.name_hint}({inner})" if inner else pattern.constructor.name_hint
            case PatternTuple():
                return tuple_text(list(map(self._pattern, pattern.patterns)))
            case _:
                return "_"

    def _define(self, var: Var, type_: Attribute | None = None) -> str:
        """Return the text of a variable where it is bound, with its annotation, or with a type if it has none."""
        name = self._unique.unique(variable_name(var.name_hint))
        if name != var.name_hint:
            self.names[name] = var.name_hint
            self.lossy |= variable_name(var.name_hint) not in (var.name_hint, f"v{var.name_hint}")
        self._memo[var] = f"%{name}"
        text = f"%{name}"
        if var.virtual_device is not None:
            text += f" {{virtual_device={value_text(var.virtual_device, self.meta)}}}"
        if (annotation := var.type_annotation or type_) is not None:
            text += f": {self._type(annotation)}"
        return text + self._info(var)

    def _type(self, type_: Any) -> str:
        type_ = plain(type_)
        if (entry := self._types.get(id(type_))) is None:
            entry = self._types[id(type_)] = type_, spelled(type_)
        return entry[1]

    def _info(self, expr: Expr) -> str:
        """Return the comment after an expression, and its mark."""
        if self._annotate is not None:
            return self._annotate(expr)
        comment = ""
        if isinstance(expr, _COMMENTED) and not (expr.type is None and expr.span is None):
            inner, outer = span_comments(expr.span)
            type_text = f" ty={self._type(expr.type)}" if expr.type is not None else ""
            comment = (f" /*{type_text}{inner} */" if type_text or inner else "") + outer
        return comment + self._mark(expr, comment)

    def _mark(self, expr: Expr, comment: str = "") -> str:
        if not self.marks:
            return ""
        self._spans.add(expr.span is None)
        # If any expression has a span, those without keep none; if none has, their positions in the text are better.
        self.lossy |= len(self._spans) == 2
        if expr.span is not None and not self.lossy:
            span_comment = comment[comment.rfind(" /* si=") + 1 :] if " /* si=" in comment else comment.strip()
            self.lossy = not span_comment or span_of(span_comment) != expr.span
        self.marked.append(expr)
        return f"\0{len(self.marked) - 1}\0"

    def unmarked(self, text: str) -> tuple[str, Sequence[Expr]]:
        """Return a text without marks, and the expressions of the marks."""
        return _MARK.sub("", text), [self.marked[int(index)] for index in _MARK.findall(text)]


def _texts(nodes: Sequence[Expr]) -> Generator[Asked, str, list[str]]:
    return (yield from each((node, False) for node in nodes))
