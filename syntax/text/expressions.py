"""The parser's actions for rules of expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from lark import Token
from xdsl.ir import Attribute

from ...support.names import did_you_mean
from ..relay.attrs import operators
from ..relay.expr import (
    Call,
    Clause,
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
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from ..relay.nodes import post_order
from ..relay.tvm_calls import CALLS
from ..relay.type_view import view
from .actions import Declarations
from .layout import span_of
from .values import Infix, Meta, Named, Number, Placed, Read, Signature, Type

BINARY = {
    "*": (12, "multiply"),
    "/": (12, "divide"),
    "+": (10, "add"),
    "-": (10, "subtract"),
    "<": (8, "less"),
    "<=": (8, "less_equal"),
    ">": (8, "greater"),
    ">=": (8, "greater_equal"),
    "==": (7, "equal"),
    "!=": (7, "not_equal"),
}
"""The infix operators, with their precedence."""
ATTRS_TYPE_KEY = "attrs_type_key"


class Actions(Declarations):
    """The actions of all rules."""

    def place(self, expr: Expr, first: Token, last: Token) -> Placed:
        """Set the span of a new expression, and return it with its tokens."""
        expr.span = self.span(first, last)
        self.expressions.append(expr)
        return Placed(expr, first, last)

    # -- blocks

    def open_block(self, _: list[Any]) -> list[Let]:
        self.names.push()
        return []

    def add_statement(self, items: list[Any]) -> list[Let]:
        lets, let = items
        if let is not None:
            lets.append(let)
        return lets

    def block(self, items: list[Any]) -> Placed:
        lets, result = cast("tuple[list[Let], Placed]", items)
        body = result.expr
        for let in reversed(lets):
            let.body = body
            body = let
        self.names.pop()
        return Placed(body, result.first, result.last) if lets else result

    def bind_graph(self, items: list[Any]) -> None:
        token, value = cast(Token, items[0]), cast(Placed, items[2])
        if not self.names.graph.add(str(token), value.expr):
            self.error(f"the graph variable `{token}` was previously defined here", token)

    def let_head(self, items: list[Any]) -> tuple[Token, Var]:
        # The variable is declared before its value is read, because a function may call itself.
        self.names.variables.add(items[1].name_hint, items[1])
        return items[0], items[1]

    def bind_let(self, items: list[Any]) -> Let:
        (first, var), value, last = items
        let = Let(var, value.expr, value.expr)
        self.place(let, first, last)
        return let

    def opened(self, _: list[Any]) -> None:
        self.names.push()

    def inner_let(self, items: list[Any]) -> Placed:
        """Return a let that is no statement of a block."""
        _, (first, var), value, _, body = items
        self.names.pop()
        return self.place(Let(var, value.expr, body.expr), first, body.last)

    def bind_nothing(self, items: list[Any]) -> Let:
        value, last = items
        let = Let(Var("", span=self.span(value.first, value.last)), value.expr, value.expr)
        self.place(let, value.first, last)
        return let

    def bind_free(self, items: list[Any]) -> None:
        self.names.variables.add_outermost(items[1].name_hint, items[1])

    # -- names

    def local(self, items: list[Token]) -> Placed:
        token = items[0]
        var = self.names.variables.get(token[1:])
        if var is None:
            self.error("this local variable has not been previously declared", token)
            var = Var(token[1:])
        return Placed(var, token, token)

    def graph(self, items: list[Token]) -> Placed:
        token = items[0]
        expr = self.names.graph.get(str(token))
        if expr is None:
            self.error("this graph variable has not been previously declared in this scope", token)
            expr = Var(token[1:])
        return Placed(expr, token, token)

    def global_var(self, items: list[Token]) -> Placed:
        return Placed(GlobalVar(items[0][1:]), items[0], items[0])

    def name(self, items: list[Token]) -> Placed:
        token = items[0]
        constructor = self.names.constructors.get(str(token))
        if constructor is None:
            if str(token) not in operators() and str(token) not in CALLS:
                hint = did_you_mean(token, operators()).strip(" ()")
                self.error(f"expected an operator or a constructor, got the unknown name `{token}`", token, help=hint)
            return Placed(Op(str(token)), token, token)
        if constructor.inputs:
            return Placed(self._value_of(constructor), token, token)
        return self.place(Call(self._value_of(constructor), []), token, token)

    def _value_of(self, constructor: Constructor) -> Constructor:
        return Constructor(constructor.name_hint, constructor.inputs, constructor.belong_to, constructor.tag)

    # -- values

    def literal(self, items: list[Number]) -> Placed:
        return self.place(Constant(items[0].value), items[0].first, items[0].last)

    def true(self, items: list[Token]) -> Placed:
        return self.place(Constant(np.array(True)), items[0], items[0])

    def false(self, items: list[Token]) -> Placed:
        return self.place(Constant(np.array(False)), items[0], items[0])

    def meta_expr(self, items: list[Meta]) -> Placed:
        entry, first, last = items[0]
        if not isinstance(entry, np.ndarray):
            if entry is not None:
                self.error("expected a tensor of the metadata section", first, last)
            entry = np.array(0)
        return self.place(Constant(entry), first, last)

    def unit(self, items: list[Token]) -> Placed:
        return self.place(Tuple([]), items[0], items[1])

    def parenthesised(self, items: list[Any]) -> Placed:
        return Placed(items[1].expr, items[0], items[2])

    def tuple(self, items: list[Any]) -> Placed:
        fields = [item.expr for item in items if isinstance(item, Placed)]
        return self.place(Tuple(fields), items[0], items[-1])

    def projection(self, items: list[Any]) -> Placed:
        value, token = items
        return self.place(TupleGetItem(value.expr, int(token[1:])), value.first, token)

    def info(self, items: list[Any]) -> Placed:
        """Set the span of the expression before a comment, unless that is only a use: a definition has its own."""
        value, comment = items
        if not isinstance(value.expr, Var) and value.expr in self.expressions[-1:]:
            value.expr.span = span_of(comment)
        return value

    # -- calls

    def infix(self, items: list[Any]) -> Infix:
        return Infix([items[0], items[2]], [items[1]])

    def infix_more(self, items: list[Any]) -> Infix:
        chain, operator, operand = cast("tuple[Infix, Token, Placed]", items)
        self._join(chain, BINARY[operator][0])
        chain.operators.append(operator)
        chain.operands.append(operand)
        return chain

    def folded(self, items: list[Infix]) -> Placed:
        self._join(items[0], 0)
        return items[0].operands[0]

    def _join(self, chain: Infix, precedence: int) -> None:
        """Apply the operators at the end of a chain that bind at least as tightly as the next one."""
        while chain.operators and BINARY[chain.operators[-1]][0] >= precedence:
            right, left = chain.operands.pop(), chain.operands.pop()
            call = Call(Op(BINARY[chain.operators.pop()][1]), [left.expr, right.expr])
            chain.operands.append(self.place(call, left.first, right.last))

    def arguments(self, items: list[Any]) -> list[Any]:
        return items

    def more_arguments(self, items: list[Any]) -> list[Any]:
        items[0].append(items[2])
        return items[0]

    def call_of_nothing(self, items: list[Any]) -> Placed:
        return self._call(items[0], [], (), items[-1])

    def call(self, items: list[Any]) -> Placed:
        return self._call(items[0], items[2], (), items[-1])

    def typed_call(self, items: list[Any]) -> Placed:
        types = [self.known(item, items[1]) for item in items if isinstance(item, Type)]
        arguments = [cast("list[Any]", item) for item in items if isinstance(item, list)]
        return self._call(items[0], arguments[0] if arguments else [], types, items[-1])

    def _call(self, callee: Placed, items: Sequence[Any], types: Sequence[Attribute], last: Token) -> Placed:
        args: list[Expr] = []
        attrs: dict[str, Any] = {}
        for item in items:
            if isinstance(item, Placed):
                args.append(item.expr)
            else:
                self._add_attribute(item, attrs)
        op = callee.expr
        if callee.last.type == "IDENT" and isinstance(op, Call) and isinstance(op.op, Constructor):
            # The name of a constructor without fields has become a call already.
            if args:
                self.error(f"expected no arguments for {op.op.name_hint}, got {len(args)}", callee.first, last)
            op.type_args = tuple(map(view, types))
            return Placed(op, callee.first, last)
        if attrs and not isinstance(op, Op) and ATTRS_TYPE_KEY not in attrs:
            self.error(f"expected {ATTRS_TYPE_KEY} among the attributes of a call of no operator", callee.first, last)
        form = CALLS.get(op.name) if isinstance(op, Op) else None
        if form is not None and (expanded := form(args, attrs)) is not None:
            placed = self.place(expanded, callee.first, last)
            for node in post_order(expanded, args):
                node.span = expanded.span
            return placed
        return self.place(Call(op, args, attrs, tuple(types)), callee.first, last)

    def _add_attribute(self, item: Named, attrs: dict[str, Any]) -> None:
        if item.key in attrs:
            self.error(f"the attribute `{item.key}` was previously given here", item.first, item.last)
        attrs[item.key] = item.value

    # -- functions and branches

    def _begin(self, items: list[Any]) -> list[str]:
        self.names.push()
        return cast("list[str]", items[-1]) if isinstance(items[-1], list) else []

    def fn_head(self, items: list[Any]) -> tuple[Token, list[str]]:
        return items[0], self._begin(items)

    def def_head(self, items: list[Any]) -> tuple[Token, list[str], Token]:
        return items[0], self._begin(items), items[1]

    def signature(self, items: list[Any]) -> Signature:
        signature = Signature([], {}, items[-1].type if isinstance(items[-1], Type) else None)
        for item in items:
            if isinstance(item, Var):
                signature.params.append(item)
                if not self.names.variables.add(item.name_hint, item):
                    at = next(i for i in items if isinstance(i, Token))
                    self.error(f"a parameter with the name `%{item.name_hint}` was previously declared here", at)
            elif isinstance(item, Named):
                self._add_attribute(item, signature.attrs)
        return signature

    def _function(self, items: list[Any], params: list[str]) -> Function:
        signature, body = cast(Signature, items[1]), cast(Placed, items[3])
        self.names.pop()
        self.close_type_variables(params)
        return Function(signature.params, body.expr, signature.ret_type, params, signature.attrs)

    def function(self, items: list[Any]) -> Placed:
        first, params = items[0]
        return self.place(self._function(items, params), first, items[-1])

    def function_definition(self, items: list[Any]) -> None:
        first, params, name = items[0]
        function = self._function(items, params)
        self.place(function, first, items[-1])
        if name[1:] in self.names.program.functions:
            self.error(f"a function with the name `{name}` was previously defined", name)
        self.names.program.functions[name[1:]] = function

    def if_else(self, items: list[Any]) -> Placed:
        cond, then, otherwise = (item.expr for item in items if isinstance(item, Placed))
        return self.place(If(cond, then, otherwise), items[0], items[-1])

    def ref_create(self, items: list[Any]) -> Placed:
        return self._ref(RefCreate, items)

    def ref_read(self, items: list[Any]) -> Placed:
        return self._ref(RefRead, items)

    def ref_write(self, items: list[Any]) -> Placed:
        return self._ref(RefWrite, items)

    def _ref(self, kind: Callable[..., Expr], items: list[Any]) -> Placed:
        return self.place(kind(*(item.expr for item in items if isinstance(item, Placed))), items[0], items[-1])

    # -- match

    def match(self, items: list[Any]) -> Placed:
        data = next(item for item in items if isinstance(item, Placed))
        clauses = [item for item in items if isinstance(item, Clause)]
        return self.place(Match(data.expr, clauses, isinstance(items[1], Placed)), items[0], items[-1])

    def clause_head(self, items: list[Any]) -> Pattern:
        self.names.push()
        read = cast(Read, items[0])
        for var in read.vars:
            if not self.names.variables.add(var.name_hint, var):
                self.error(
                    f"a variable with the name `%{var.name_hint}` was previously bound by this pattern", items[1]
                )
        return read.pattern

    def clause(self, items: list[Any]) -> Clause:
        self.names.pop()
        return Clause(items[0], next(item.expr for item in items if isinstance(item, Placed)))

    def wildcard(self, _: list[Token]) -> Read:
        return Read(PatternWildcard(), [])

    def pattern_var(self, items: list[Var]) -> Read:
        return Read(PatternVar(items[0]), items)

    def pattern_tuple(self, items: list[Any]) -> Read:
        inner = [item for item in items if isinstance(item, Read)]
        bound = [var for read in inner for var in read.vars]
        return Read(PatternTuple([read.pattern for read in inner]), bound, self.deeper(inner, items[0]))

    def pattern_constructor(self, items: list[Any]) -> Read:
        token, inner = cast(Token, items[0]), [item for item in items if isinstance(item, Read)]
        bound = [var for read in inner for var in read.vars]
        constructor = self.names.constructors.get(str(token))
        if constructor is None:
            self.error(f"a constructor with the name `{token}` has not been declared", token)
            return Read(PatternWildcard(), bound)
        if len(inner) != len(constructor.inputs):
            expected = len(constructor.inputs)
            self.error(f"expected {expected} patterns for `{token}`, got {len(inner)}", token)
        pattern = PatternConstructor(self._value_of(constructor), [read.pattern for read in inner])
        return Read(pattern, bound, self.deeper(inner, token))
