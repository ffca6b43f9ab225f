"""The table of nodes: every class has a row, and parts, bound variables, scopes and new parts are read off it."""

from __future__ import annotations

import numpy as np
import pytest

from whence.syntax.relay.expr import (
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
from whence.syntax.relay.nodes import binds, changed, children, is_leaf, kind_of, placed, visited, with_vars

A, B, C, X, Y = (Var(name) for name in "abcxy")
CONS = Constructor("Cons", [], "List")
PATTERN = PatternConstructor(CONS, [PatternVar(X), PatternTuple([PatternWildcard(), PatternVar(Y)])])
MATCH = Match(A, [Clause(PATTERN, B), Clause(PatternWildcard(), C)])
ADD = Op("add")

NODES: list[tuple[Expr, list[Expr], list[Expr], list[Var], list[int | None]]] = [
    (Constant(np.ones(2)), [], [], [], []),
    (A, [], [], [], []),
    (GlobalVar("f"), [], [], [], []),
    (ADD, [], [], [], []),
    (CONS, [], [], [], []),
    (Tuple([A, B]), [A, B], [A, B], [], [None, None]),
    (TupleGetItem(A, 1), [A], [A], [], [None]),
    (Call(ADD, [A, B]), [A, B, ADD], [ADD, A, B], [], [None, None, None]),
    (Function([X, Y], A), [A], [X, Y, A], [X, Y], [0]),
    (Let(X, A, B), [A, B], [X, A, B], [X], [None, None]),
    (If(A, B, C), [A, B, C], [A, B, C], [], [None, 0, 1]),
    (RefCreate(A), [A], [A], [], [None]),
    (RefRead(A), [A], [A], [], [None]),
    (RefWrite(A, B), [A, B], [A, B], [], [None, None]),
    (MATCH, [A, B, C], [A, X, Y, B, C], [X, Y], [None, 0, 1]),
]
"""A node, its parts, where visitors go, the variables that it binds, and the scopes of the parts."""


def test_every_class_has_a_row_and_an_example():
    assert {type(node) for node, *_ in NODES} == set(Expr.__subclasses__())
    assert len({kind_of(node).name for node, *_ in NODES}) == len(NODES)


@pytest.mark.parametrize(("node", "parts", "visits", "bound", "scopes"), NODES, ids=lambda value: type(value).__name__)
def test_parts(node: Expr, parts: list[Expr], visits: list[Expr], bound: list[Var], scopes: list[int | None]):
    assert list(children(node)) == parts
    assert list(visited(node)) == visits
    assert list(binds(node)) == bound
    assert sorted(str(index) for _, index in placed(node)) == sorted(map(str, scopes))
    assert is_leaf(node) == (not parts)


@pytest.mark.parametrize("node", [node for node, *_ in NODES], ids=lambda node: type(node).__name__)
def test_new_parts_are_asked_for_as_visitors_go_and_the_same_ones_change_nothing(node: Expr):
    asked: list[Expr] = []

    def same(part: Expr) -> Expr:
        asked.append(part)
        return part

    assert changed(node, same, lambda pattern: with_vars(pattern, lambda var: asked.append(var) or var)) == {}
    assert asked == list(visited(node))


def test_new_parts_of_a_match():
    parts = changed(MATCH, lambda part: X if part is B else part)
    assert list(parts) == ["clauses"]
    assert parts["clauses"][0].rhs is X
    assert parts["clauses"][0].lhs is PATTERN
    assert parts["clauses"][1] is MATCH.clauses[1]
    renamed = changed(MATCH, lambda part: part, lambda pattern: with_vars(pattern, lambda var: A if var is Y else var))
    assert binds(Match(A, renamed["clauses"])) == [X, A]
    assert renamed["clauses"][1] is MATCH.clauses[1]
