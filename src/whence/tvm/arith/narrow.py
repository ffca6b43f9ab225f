"""Conditions that hold for all values of some variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whence.te.language import expr as language
from whence.te.language.expr import Axis, Binary, Compare, Const, Expr, ExprLike, Not, Var, compare, constant, convert
from whence.te.language.walks import operands_first

_Ends = tuple[Expr, Expr] | None
"""The least and the greatest value of an expression, of a condition the one that holds less; None if not known."""
_FALSE, _TRUE = constant(False, "bool"), constant(True, "bool")


def narrow_predicate_expression(expr: ExprLike, free_parameters: Mapping[Any, language.Range]) -> Expr:
    """Return a condition without some variables, such that the given one holds for all their values where it does.

    Sums, minima and maxima, products and quotients by numbers take such variables; a comparison of anything else is
    False. Raises nothing: a condition that may not be narrowed is False.
    """
    ends: dict[int, _Ends] = {}
    root = convert(expr)
    ranges = {id(var): _range(var, loop) for var, loop in free_parameters.items()}
    for node in operands_first([root], ends):
        ends[id(node)] = ranges[id(node)] if id(node) in ranges else _ends(node, ends)
    narrow = ends[id(root)]
    return _FALSE if narrow is None else narrow[0]


def _range(var: Any, loop: language.Range) -> tuple[Expr, Expr]:
    low = convert(loop.min, var.dtype)
    return low, language.binary("sub", language.binary("add", low, loop.extent), 1)


def _ends(node: Expr, ends: Mapping[int, _Ends]) -> _Ends:
    match node:
        case Const() | Var() | Axis():
            return node, node
        case Compare():
            return _compared(node.op, ends[id(node.a)], ends[id(node.b)])
        case Not():
            inner = ends[id(node.a)] or (_FALSE, _TRUE)
            return _negated(inner[1]), _negated(inner[0])
        case Binary(op="and" | "or" as op, dtype="bool"):
            a, b = ends[id(node.a)] or (_FALSE, _TRUE), ends[id(node.b)] or (_FALSE, _TRUE)
            return Binary(op, a[0], b[0]), Binary(op, a[1], b[1])
        case Binary(op=op):
            a, b = ends[id(node.a)], ends[id(node.b)]
            rule = _RULES.get(op)
            return None if rule is None or a is None or b is None else rule(op, a, b)
        case _:
            return None


def _negated(condition: Expr) -> Expr:
    return constant(not condition.value, "bool") if isinstance(condition, Const) else Not(condition)


_Known = tuple[Expr, Expr]


def _compared(op: str, a: _Ends, b: _Ends) -> _Ends:
    if a is None or b is None:
        return None
    match op:
        case "lt" | "le":
            return compare(op, a[1], b[0]), compare(op, a[0], b[1])
        case "gt" | "ge":
            return compare(op, a[0], b[1]), compare(op, a[1], b[0])
        case _:
            both, part = ("and", "le") if op == "eq" else ("or", "lt")
            return (
                Binary(both, compare(part, a[1], b[0]), compare(part, b[1], a[0])),
                Binary(both, compare(part, a[0], b[1]), compare(part, b[0], a[1])),
            )


def _rising(op: str, a: _Known, b: _Known) -> _Ends:
    return Binary(op, a[0], b[0]), Binary(op, a[1], b[1])


def _difference(op: str, a: _Known, b: _Known) -> _Ends:
    return Binary(op, a[0], b[1]), Binary(op, a[1], b[0])


def _product(op: str, a: _Known, b: _Known) -> _Ends:
    for number, other, first in ((b, a, True), (a, b, False)):
        if isinstance(factor := number[0], Const) and number[0] is number[1]:
            low, high = other if factor.value >= 0 else other[::-1]
            return (
                (Binary(op, low, factor), Binary(op, high, factor))
                if first
                else (
                    Binary(op, factor, low),
                    Binary(op, factor, high),
                )
            )
    return None


def _quotient(op: str, a: _Known, b: _Known) -> _Ends:
    divisor = b[0]
    if divisor is not b[1] or not isinstance(divisor, Const) or divisor.value == 0:
        return None
    low, high = a if divisor.value > 0 else a[::-1]
    return Binary(op, low, divisor), Binary(op, high, divisor)


_RULES: dict[str, Callable[[str, _Known, _Known], _Ends]] = {
    **dict.fromkeys(("add", "min", "max"), _rising),
    "sub": _difference,
    "mul": _product,
    **dict.fromkeys(("floordiv", "truncdiv", "div"), _quotient),
}
