"""The functions of the te language: mathematics, choices, casts and logic."""

from __future__ import annotations

from collections.abc import Callable

from .emit import MATH
from .expr import Binary, Call, Cast, Expr, ExprLike, Not, Select, binary, compare, convert, fail, is_float


def _unary(name: str) -> Callable[[ExprLike], Expr]:
    def apply(x: ExprLike) -> Expr:
        value = convert(x)
        if not is_float(value.dtype):
            fail(f"te.{name}: expected a float, got {value.dtype}; use astype")
        return Call(name, value)

    apply.__name__ = name
    apply.__doc__ = f"{name} of a float."
    return apply


FUNCTIONS: dict[str, Callable[[ExprLike], Expr]] = {name: _unary(name) for name in MATH}
"""Every function of one float, by TVM's name."""


def abs(x: ExprLike) -> Expr:
    """The absolute value."""
    return Call("abs", convert(x))


def sigmoid(x: ExprLike) -> Expr:
    """`1 / (1 + exp(-x))`."""
    return 1.0 / (1.0 + FUNCTIONS["exp"](-convert(x)))


def power(x: ExprLike, y: ExprLike) -> Expr:
    return binary("pow", x, y)


def maximum(x: ExprLike, y: ExprLike) -> Expr:
    return binary("max", x, y)


def minimum(x: ExprLike, y: ExprLike) -> Expr:
    return binary("min", x, y)


def div(x: ExprLike, y: ExprLike) -> Expr:
    """Integers divide towards zero."""
    return binary("div", x, y)


def truncdiv(x: ExprLike, y: ExprLike) -> Expr:
    return binary("truncdiv", x, y)


def truncmod(x: ExprLike, y: ExprLike) -> Expr:
    return binary("truncmod", x, y)


def floordiv(x: ExprLike, y: ExprLike) -> Expr:
    return binary("floordiv", x, y)


def floormod(x: ExprLike, y: ExprLike) -> Expr:
    return binary("floormod", x, y)


indexdiv = floordiv
indexmod = floormod


def isnan(x: ExprLike) -> Expr:
    return compare("ne", x, x)


def isinf(x: ExprLike) -> Expr:
    return compare("eq", abs(x), float("inf"))


def isfinite(x: ExprLike) -> Expr:
    return compare("lt", abs(x), float("inf"))


def cast(dtype: str, x: ExprLike) -> Expr:
    return Cast(dtype, convert(x))


def _choice(condition: Expr, then: ExprLike, otherwise: ExprLike, guarded: bool) -> Expr:
    dtype = then.dtype if isinstance(then, Expr) else otherwise.dtype if isinstance(otherwise, Expr) else None
    a, b = convert(then, dtype), convert(otherwise, dtype)
    if a.dtype != b.dtype:
        fail(f"te: expected both sides of a choice of one dtype, got {a.dtype} and {b.dtype}")
    return Select(condition, a, b, guarded)


def if_then_else(condition: Expr, then: ExprLike, otherwise: ExprLike) -> Expr:
    """The side that the condition takes; reads of the other side may lie outside their tensors."""
    return _choice(condition, then, otherwise, True)


def select(condition: Expr, then: ExprLike, otherwise: ExprLike) -> Expr:
    """The side that the condition takes; both are evaluated."""
    return _choice(condition, then, otherwise, False)


def all(*conditions: Expr) -> Expr:
    """Whether every condition holds."""
    return _logic("and", conditions)


def any(*conditions: Expr) -> Expr:
    """Whether some condition holds."""
    return _logic("or", conditions)


def _logic(op: str, conditions: tuple[Expr, ...]) -> Expr:
    if not conditions:
        fail(f"te: expected at least one condition of '{op}', got none")
    result = conditions[0]
    for condition in conditions[1:]:
        result = Binary(op, result, condition)
    return result


def logical_not(condition: Expr) -> Expr:
    return Not(condition)
