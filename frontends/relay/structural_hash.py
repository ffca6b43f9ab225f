"""A hash of expressions and programs that goes with `equal.structural_equal`: what is equal has the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from .defaults import completed, plain
from .expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    Program,
    Tuple,
    TupleGetItem,
    Var,
    children,
    pattern_vars,
    post_order,
)


def structural_hash(what: Expr | Program, map_free_vars: bool = False) -> int:
    """The hash of an expression or a program. Names of variables and spans play no part, sharing does.

    map_free_vars: free variables count by where they are read first; otherwise each is itself.
    """
    if isinstance(what, Program):
        functions = [(name, structural_hash(function)) for name, function in what.functions.items()]
        types = [
            (name, tuple(constructor.name_hint for constructor in data.constructors))
            for name, data in what.types.items()
        ]
        return hash((frozenset(functions), frozenset(types)))
    bound = {var for node in post_order(what) for var in binds(node)}
    return hash(tuple(_tokens(what, bound, map_free_vars)))


def binds(node: Expr) -> list[Var]:
    """The variables that a node binds."""
    match node:
        case Function():
            return list(node.params)
        case Let():
            return [node.var]
        case Match():
            return [var for clause in node.clauses for var in pattern_vars(clause.lhs)]
        case _:
            return []


def _tokens(root: Expr, bound: set[Var], map_free_vars: bool) -> Iterator[Hashable]:
    """For each node, in the order of a walk, its kind and the numbers of what it is made of."""
    numbers: dict[Expr, int] = {}

    def number(node: Expr) -> Hashable:
        if isinstance(node, Var):
            return numbers.setdefault(node, len(numbers)) if map_free_vars or node in bound else id(node)
        # One constant, operator or tuple of nothing is as good as an equal one.
        if isinstance(node, Constant):
            return ("constant", node.data.dtype.str, node.data.shape, node.data.tobytes())
        if isinstance(node, Op | GlobalVar | Constructor):
            return _name(node)
        if isinstance(node, Tuple) and not node.fields:
            return ()
        return numbers[node]

    for node in post_order(root):
        if isinstance(node, Var | Constant | Op | GlobalVar | Constructor):
            if node is root:
                yield number(node)
            continue
        parts = tuple(map(number, children(node)))
        numbers.setdefault(node, len(numbers))
        yield (type(node).__name__, _payload(node, number), parts)


def _name(node: Op | GlobalVar | Constructor) -> Hashable:
    return (type(node).__name__, node.name if isinstance(node, Op) else node.name_hint)


def _payload(node: Expr, number: Callable[[Expr], Hashable]) -> Hashable:
    """Return the content of a node besides its parts."""
    match node:
        case Call():
            given = completed(node.op.name if isinstance(node.op, Op) else "", node.attrs)
            # Padding may be written in short.
            return tuple(sorted((key, _frozen(value)) for key, value in given.items() if key != "padding"))
        case TupleGetItem():
            return node.index
        case Function():
            attrs = sorted((key, _frozen(plain(value))) for key, value in node.attrs.items())
            return (tuple(map(number, node.params)), len(node.type_params), tuple(attrs))
        case Let():
            return number(node.var)
        case Match():
            return (node.complete, tuple(_pattern(clause.lhs, number) for clause in node.clauses))
        case _:
            return None


def _frozen(value: Any) -> str:
    """A value as text; True is 1, and an int where a float is declared is that float."""
    if isinstance(value, bool | int | float):
        # Numbers that are close are equal.
        return repr(float(value)) if float(value).is_integer() else "real"
    if isinstance(value, tuple):
        return f"({', '.join(map(_frozen, value))})"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


def _pattern(pattern: Pattern, number: Callable[[Expr], Hashable]) -> Hashable:
    match pattern:
        case PatternConstructor(constructor, inner):
            return (constructor.name_hint, *(_pattern(nested, number) for nested in inner))
        case PatternTuple(inner):
            return ("tuple", *(_pattern(nested, number) for nested in inner))
        case _:
            return (type(pattern).__name__, *map(number, pattern_vars(pattern)))
