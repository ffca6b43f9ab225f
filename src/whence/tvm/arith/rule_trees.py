"""Rules of rewriting as trees: read from the table, matched against expressions, and evaluated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias, cast

from whence.arith.bounds import truncated
from whence.arith.rules import RULES
from whence.support.dtypes import BOOL, element_of, is_float
from whence.te.language import expr as language
from whence.te.language.expr import Binary, Broadcast, Compare, Const, Expr, Not, Select, convert
from whence.te.language.lanes import Ramp
from whence.te.language.walks import children

Tree: TypeAlias = "tuple[Any, ...]"
"""The name of an operator and its operands; `("any", "x")`, `("number", "c1")` and `("literal", 2)` are leaves."""
Values: TypeAlias = dict[str, Any]
"""The values of the names of a rule: expressions, and Python's numbers."""


class Rule(NamedTuple):
    """A rule: what it is for, what it makes of it, and when."""

    pattern: Tree
    result: Tree
    condition: Tree | None
    again: bool
    """True if the result is rewritten on."""
    text: str


_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
}
_FUNCTIONS = {"tdiv": "truncdiv", "tmod": "truncmod"}


def tree_of(node: ast.expr) -> Tree:
    """Return the tree of a side of a rule."""
    match node:
        case ast.Name(id=name):
            return ("number" if name[-1].isdigit() else "any", name)
        case ast.Constant(value=int() as value):
            return ("literal", value)
        case ast.BinOp(op=op, left=left, right=right):
            return (_OPERATORS[type(op)], tree_of(left), tree_of(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return (_OPERATORS[type(op)], tree_of(left), tree_of(right))
        case ast.BoolOp(op=op, values=[first, *others]):
            tree = tree_of(first)
            for other in others:
                tree = (_OPERATORS[type(op)], tree, tree_of(other))
            return tree
        case ast.UnaryOp(op=op, operand=operand):
            return (_OPERATORS[type(op)], tree_of(operand))
        case ast.Call(func=ast.Name(id=name), args=args):
            return (_FUNCTIONS.get(name, name), *map(tree_of, args))
        case _:
            raise AssertionError(f"a rule, got {ast.unparse(node)}")


def _rule(line: str) -> Rule:
    body, _, condition = line.partition(" | ")
    arrow = " => " if " => " in body else " -> "
    sides = [tree_of(ast.parse(text.strip(), mode="eval").body) for text in body.split(arrow)]
    checked = tree_of(ast.parse(condition, mode="eval").body) if condition else None
    return Rule(sides[0], sides[1], checked, arrow == " => ", line)


@cache
def table() -> dict[str, list[Rule]]:
    """Return the rules by the operator of their patterns."""
    rules: dict[str, list[Rule]] = {}
    for line in RULES.splitlines():
        if line:
            rule = _rule(line)
            rules.setdefault(str(rule.pattern[0]), []).append(rule)
    return rules


def head(node: Expr) -> str | None:
    """Return the name of an operator in rules; None of an expression that no rule looks into."""
    match node:
        case Binary(op="and" | "or" as op):
            return op if element_of(node.dtype) == BOOL else None
        case Binary(op="div"):
            return None if is_float(node.dtype) else "truncdiv"
        case Binary(op=op) | Compare(op=op):
            return op
        case Not():
            return "not"
        case Select():
            return "if_then_else" if node.guarded else "select"
        case Ramp():
            return "ramp"
        case Broadcast():
            return "wide"
        case _:
            return None


def matches(pattern: Tree, node: Expr, values: Values, same: Callable[[Expr, Expr], bool]) -> bool:
    """Return whether an expression is of a pattern, whose names get values."""
    kind = pattern[0]
    if kind == "any":
        if pattern[1] in values:
            return same(values[pattern[1]], node)
        values[pattern[1]] = node
        return True
    if kind in ("number", "literal"):
        if not isinstance(node, Const) or isinstance(node.value, float):
            return False
        number = int(node.value)
        return (pattern[1] if kind == "literal" else values.setdefault(pattern[1], number)) == number
    if head(node) != kind:
        return False
    if isinstance(node, Ramp | Broadcast):
        values["lanes"] = node.lanes
    parts = children(node)
    return all(matches(tree, part, values, same) for tree, part in zip(pattern[1:], parts, strict=True))


def _whole(function: Callable[[int, int], Any], op: str) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return function(a, b)
        return language.binary(op, a, b)

    return apply


def _compared(function: Callable[[int, int], bool], op: str) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        return function(a, b) if isinstance(a, int) and isinstance(b, int) else language.compare(op, a, b)

    return apply


def _logic(op: str) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, bool) and isinstance(b, bool):
            return (a and b) if op == "and" else (a or b)
        return Binary(op, convert(a), convert(b))

    return apply


def _choice(guarded: bool) -> Callable[[Any, Any, Any], Expr]:
    def apply(condition: Any, then: Any, otherwise: Any) -> Expr:
        return Select(convert(condition), *language.pair("select", then, otherwise), guarded)

    return apply


def _negation(value: Any) -> Any:
    return (not value) if isinstance(value, bool) else Not(value)


_EVALUATED: dict[str, Callable[..., Any]] = {
    "add": _whole(lambda a, b: a + b, "add"),
    "sub": _whole(lambda a, b: a - b, "sub"),
    "mul": _whole(lambda a, b: a * b, "mul"),
    "floordiv": _whole(lambda a, b: a // b, "floordiv"),
    "floormod": _whole(lambda a, b: a % b, "floormod"),
    "truncdiv": _whole(truncated, "truncdiv"),
    "truncmod": _whole(lambda a, b: a - truncated(a, b) * b, "truncmod"),
    "min": _whole(min, "min"),
    "max": _whole(max, "max"),
    "eq": _compared(lambda a, b: a == b, "eq"),
    "ne": _compared(lambda a, b: a != b, "ne"),
    "lt": _compared(lambda a, b: a < b, "lt"),
    "le": _compared(lambda a, b: a <= b, "le"),
    "gt": _compared(lambda a, b: a > b, "gt"),
    "ge": _compared(lambda a, b: a >= b, "ge"),
    "and": _logic("and"),
    "or": _logic("or"),
    "not": _negation,
    "select": _choice(False),
    "if_then_else": _choice(True),
}
"""Of numbers, as conditions have, a number or a bool; of expressions an expression."""


def evaluated(tree: Tree, values: Values, functions: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the value of a tree: an expression, a number, or a bool; functions: those beside operators."""
    kind = tree[0]
    if kind in ("any", "number"):
        return values[tree[1]]
    if kind == "literal":
        return tree[1]
    parts = [evaluated(part, values, functions) for part in cast("tuple[Tree, ...]", tree[1:])]
    match kind:
        case "wide":
            return Broadcast(parts[0], values["lanes"])
        case "ramp":
            return Ramp(parts[0], parts[1], values["lanes"])
        case _:
            return (functions.get(kind) or _EVALUATED[kind])(*parts)
