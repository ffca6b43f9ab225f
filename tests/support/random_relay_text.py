"""Expressions of any shape, well-typed or not: what the text must be able to say. Made of a list of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr, TensorType, f32, i32

from whence.dialects.relay.types import RefType, TypeVar, adt_type, function_type, tuple_type
from whence.provenance.span import SequentialSpan, SourceName, Span
from whence.syntax.relay.expr import (
    AnySpan,
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
    Program,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TypeData,
    Var,
)

INT, FLOAT = TensorType(i32, []), TensorType(f32, [DYNAMIC_INDEX, 3])
TYPES = [
    None,
    INT,
    FLOAT,
    tuple_type([INT]),
    tuple_type([]),
    function_type([], [INT, FLOAT], INT),
    RefType(FLOAT),
    adt_type("List", [INT]),
]
VALUES = [
    np.array(3, "int64"),
    np.array(0.1, "float32"),
    np.array(True),
    np.array(-7, "int8"),
    np.array([1.5, 2.5], "float32"),
    np.array([[1], [2]], "uint8"),
]
ATTRIBUTES = [{}, {"axis": 1}, {"axis": -1, "name": "a b"}, {"epsilon": 1e-7, "pads": [0, [1, 2.5]], "none": 'say "x"'}]
HINTS = ["x", "y", "x", "1", "a.b", "p/q", "", "_"]
SPANS: list[AnySpan] = [
    None,
    Span(SourceName("from_string"), 3, 3, 7, 7),
    Span(SourceName("from_string"), 3, 4, 7, 2),
    Span(SourceName("conv"), 5, 5, 0, 0, "m.onnx"),
    Span(SourceName("odd: */ name, [x]\n"), 5, 5, 0, 0, "m.onnx"),
    SequentialSpan([Span(SourceName("a")), Span(SourceName("b"), 2, 2, 3, 3), Span(SourceName("a"))]),
    SequentialSpan([]),
    Span(SourceName("plain")),
]
A = TypeVar(StringAttr("A"))
LIST = TypeData(
    "List", ["A"], [Constructor("Cons", [A, adt_type("List", [A])], "List", 0), Constructor("Nil", [], "List", 1)]
)
CONS, NIL = LIST.constructors


class Maker:
    """Takes decisions from a list of numbers; when it is used up, all are 0, which ends things soon."""

    def __init__(self, choices: Sequence[int], spans: bool):
        self.choices = iter(choices)
        self.spans = spans
        self.pools: list[list[Expr]] = [[]]
        """What each scope around may read."""

    def pick(self, count: int) -> int:
        return next(self.choices, 0) % count

    def spanned(self, expr: Expr) -> Expr:
        if self.spans:
            expr.span = SPANS[self.pick(len(SPANS))]
        return expr

    def var(self) -> Var:
        made = Var(HINTS[self.pick(len(HINTS))], TYPES[self.pick(len(TYPES))])
        self.spanned(made)
        return made

    def body(self, depth: int, bound: Sequence[Expr] = ()) -> Expr:
        """What a new scope gives, in which more is known."""
        self.pools.append(list(bound))
        made = self.expr(depth)
        self.pools.pop()
        return made

    def expr(self, depth: int) -> Expr:
        known = [expr for pool in self.pools for expr in pool]
        kind = self.pick(16) if depth else self.pick(3)
        if kind == 1 and known:
            return known[self.pick(len(known))]
        made = self.spanned(_KINDS[kind](self, depth - 1))
        self.pools[-1].append(made)
        return made

    def some(self, depth: int) -> list[Expr]:
        return [self.expr(depth) for _ in range(self.pick(4))]

    def constant(self, _: int) -> Expr:
        return Constant(VALUES[self.pick(len(VALUES))])

    def name(self, _: int) -> Expr:
        made = [Var("free"), GlobalVar("f"), Op("add"), _copy(CONS), Call(_copy(NIL), [])][self.pick(5)]
        return made

    def operator(self, depth: int) -> Expr:
        return Call(Op(("add", "nn.softmax", "nn.conv2d")[self.pick(3)]), self.some(depth), ATTRIBUTES[self.pick(4)])

    def applied(self, depth: int) -> Expr:
        return Call(self.expr(depth), [self.expr(depth), *self.some(depth)])

    def data(self, depth: int) -> Expr:
        return Call(_copy(CONS), [self.expr(depth), self.expr(depth)])

    def tuple(self, depth: int) -> Expr:
        return Tuple(self.some(depth))

    def field(self, depth: int) -> Expr:
        return TupleGetItem(self.expr(depth), self.pick(3))

    def let(self, depth: int) -> Expr:
        var, value = self.var(), self.expr(depth)
        return Let(var, value, self.body(depth, [var]))

    def branch(self, depth: int) -> Expr:
        return If(self.expr(depth), self.body(depth), self.body(depth))

    def function(self, depth: int) -> Expr:
        params = [self.var() for _ in range(self.pick(3))]
        attrs = {"Primitive": 1, "s": "t"} if self.pick(2) else {}
        return Function(params, self.body(depth, params), TYPES[self.pick(len(TYPES))], ["A"] * self.pick(2), attrs)

    def create(self, depth: int) -> Expr:
        return RefCreate(self.expr(depth))

    def read(self, depth: int) -> Expr:
        return RefRead(self.expr(depth))

    def write(self, depth: int) -> Expr:
        return RefWrite(self.expr(depth), self.expr(depth))

    def match(self, depth: int) -> Expr:
        data, clauses = self.expr(depth), list[Clause]()
        for _ in range(self.pick(3)):
            head, rest = self.var(), self.var()
            patterns: list[tuple[Pattern, list[Var]]] = [
                (PatternWildcard(), []),
                (PatternConstructor(_copy(CONS), [PatternVar(head), PatternWildcard()]), [head]),
                (PatternTuple([PatternVar(head), PatternTuple([PatternVar(rest)])]), [head, rest]),
                (PatternConstructor(_copy(NIL)), []),
            ]
            pattern, bound = patterns[self.pick(4)]
            clauses.append(Clause(pattern, self.body(depth, bound)))
        return Match(data, clauses, self.pick(2) == 0)


def _copy(constructor: Constructor) -> Constructor:
    return Constructor(constructor.name_hint, constructor.inputs, constructor.belong_to, constructor.tag)


_KINDS: list[Callable[[Maker, int], Expr]] = [
    Maker.constant,
    Maker.name,
    Maker.constant,
    Maker.operator,
    Maker.operator,
    Maker.operator,
    Maker.applied,
    Maker.data,
    Maker.tuple,
    Maker.field,
    Maker.let,
    Maker.let,
    Maker.branch,
    Maker.function,
    Maker.match,
    lambda maker, depth: (maker.create, maker.read, maker.write)[maker.pick(3)](depth),
]
"""What a number stands for."""


def program(choices: Sequence[int], spans: bool) -> Program:
    """Two functions over a data type."""
    maker = Maker(choices, spans)
    functions: dict[str, Function] = {}
    for name in ("f", "main"):
        maker.pools = [[]]
        params = [maker.var() for _ in range(maker.pick(3))]
        made = Function(params, maker.body(6, params), None, ["A"] * maker.pick(2))
        maker.spanned(made)
        functions[name] = made
    return Program(functions, {"List": LIST})
