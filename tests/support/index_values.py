"""Integer expressions of te at points, computed by Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.te.language.expr import Axis, Binary, Cast, Compare, Const, Expr, Not, Select, Var


def divided(a: int, b: int) -> int:
    """The quotient towards 0."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_PYTHON: dict[str, Callable[[int, int], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "truncdiv": divided,
    "truncmod": lambda a, b: a - b * divided(a, b),
    "shr": lambda a, b: a >> b,
    "shl": lambda a, b: a << b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def value(expr: Expr, at: dict[Any, int]) -> Any:
    """An expression at a point, in Python."""
    match expr:
        case Const():
            return expr.value
        case Var() | Axis():
            return at[expr]
        case Cast():
            return value(expr.a, at)
        case Not():
            return not value(expr.a, at)
        case Binary(op="and" | "or" as op, dtype="bool"):
            sides = value(expr.a, at), value(expr.b, at)
            return all(sides) if op == "and" else any(sides)
        case Binary() | Compare():
            return _PYTHON[expr.op](value(expr.a, at), value(expr.b, at))
        case Select():
            return value(expr.true_value if value(expr.condition, at) else expr.false_value, at)
        case _:
            raise AssertionError(expr)
