"""Derivatives of the expression of a compute by each of the elements that it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, pi, sqrt
from typing import TypeAlias

from ...support.dtypes import fail, is_float
from ..language.expr import Binary, Call, CallExtern, Cast, Const, Expr, Read, Select, compare
from ..language.math import FUNCTIONS, copysign, power, select
from ..language.walks import children

Rule: TypeAlias = Callable[[Expr, Expr], Expr]
"""The derivative of a function of one number, given its operand and its value."""

_f = FUNCTIONS
_FLAT = ("floor", "ceil", "round", "nearbyint", "trunc")
_RULES: dict[str, Rule] = {
    "exp": lambda _, y: y,
    "expm1": lambda _, y: y + 1.0,
    "exp2": lambda _, y: y * log(2.0),
    "log": lambda x, _: 1.0 / x,
    "log2": lambda x, _: 1.0 / (x * log(2.0)),
    "log10": lambda x, _: 1.0 / (x * log(10.0)),
    "log1p": lambda x, _: 1.0 / (x + 1.0),
    "sqrt": lambda _, y: 0.5 / y,
    "rsqrt": lambda x, y: y / x * -0.5,
    "sin": lambda x, _: _f["cos"](x),
    "cos": lambda x, _: -_f["sin"](x),
    "tan": lambda _, y: y * y + 1.0,
    "asin": lambda x, _: _f["rsqrt"](1.0 - x * x),
    "acos": lambda x, _: -_f["rsqrt"](1.0 - x * x),
    "atan": lambda x, _: 1.0 / (x * x + 1.0),
    "sinh": lambda x, _: _f["cosh"](x),
    "cosh": lambda x, _: _f["sinh"](x),
    "tanh": lambda _, y: 1.0 - y * y,
    "asinh": lambda x, _: _f["rsqrt"](x * x + 1.0),
    "acosh": lambda x, _: _f["rsqrt"](x * x - 1.0),
    "atanh": lambda x, _: 1.0 / (1.0 - x * x),
    "cbrt": lambda x, y: y / x * (1 / 3),
    "erf": lambda x, _: _f["exp"](-(x * x)) * (2.0 / sqrt(pi)),
    "abs": lambda x, _: select(x >= 0.0, Const(1.0, x.dtype), Const(-1.0, x.dtype)),
    "negative": lambda x, _: Const(-1.0, x.dtype),
}


def _zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0


def _one(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 1


def times(adjoint: Expr, factor: Expr) -> Expr:
    """A product. Where an adjoint is 0 as a choice was not taken, the factor does not count, be it infinite."""
    if _zero(adjoint) or _one(factor):
        return adjoint
    if isinstance(adjoint, Select) and _zero(adjoint.false_value):
        return Select(adjoint.condition, times(adjoint.true_value, factor), adjoint.false_value, adjoint.guarded)
    if isinstance(adjoint, Select) and _zero(adjoint.true_value):
        return Select(adjoint.condition, adjoint.true_value, times(adjoint.false_value, factor), adjoint.guarded)
    if isinstance(factor, Select) and (_zero(factor.true_value) or _zero(factor.false_value)):
        return times(factor, adjoint)
    return factor if _one(adjoint) else adjoint * factor


def _binary(expr: Binary, adjoint: Expr, inner: Sequence[bool]) -> list[Expr | None]:
    """The adjoints of two operands; `inner` says of which they are wanted."""
    a, b = expr.a, expr.b
    zero, one = Const(0.0, expr.dtype), Const(1.0, expr.dtype)
    match expr.op:
        case "add":
            return [adjoint, adjoint]
        case "sub":
            return [adjoint, times(adjoint, Const(-1.0, expr.dtype))]
        case "mul":
            return [times(adjoint, b), times(adjoint, a)]
        case "div":
            return [times(adjoint, one / b), times(adjoint, -(expr / b)) if inner[1] else None]
        case "max" | "min":
            first = compare("ge" if expr.op == "max" else "le", a, b)
            return [times(Select(first, one, zero, False), adjoint), times(Select(first, zero, one, False), adjoint)]
        case "pow":
            left = times(adjoint, b * power(a, b - 1.0))
            return [left, times(adjoint, expr * _f["log"](a)) if inner[1] else None]
        case "atan2":
            square = a * a + b * b
            return [times(adjoint, b / square), times(adjoint, -(a / square))]
        case "copysign":
            return [times(adjoint, copysign(one, a) * copysign(one, b)), None]
        case "floormod":
            return [adjoint, times(adjoint, -_f["floor"](a / b)) if inner[1] else None]
        case "floordiv" | "truncdiv":
            return [None, None]
        case _:
            fail(f"te.gradient: expected operators with a derivative, got {expr.op}")


def _operands(expr: Expr, adjoint: Expr, inner: Sequence[bool]) -> list[Expr | None]:
    """The adjoint of each child."""
    match expr:
        case Binary():
            return _binary(expr, adjoint, inner)
        case Select(condition=condition, guarded=guarded):
            zero = Const(0.0, expr.dtype)
            return [None, Select(condition, adjoint, zero, guarded), Select(condition, zero, adjoint, guarded)]
        case Cast(a=a):
            return [adjoint.astype(a.dtype) if is_float(a.dtype) else None]
        case Call(name=name, a=a):
            if name in _FLAT:
                return [None]
            if name not in _RULES:
                fail(f"te.gradient: expected functions with a derivative, got {name}")
            return [times(adjoint, _RULES[name](a, expr))]
        case CallExtern(callee="fmod" | "fmodf"):
            a, b = expr.arguments
            return [adjoint, times(adjoint, -_f["trunc"](a / b)) if inner[1] else None]
        case CallExtern(callee=callee):
            fail(f"te.gradient: expected functions with a derivative, got the C function {callee}")
        case _:
            return [None] * len(children(expr))


def derivatives(root: Expr, wanted: Callable[[Read], bool]) -> list[tuple[Read, Expr]]:
    """The reads in `root` that are wanted, each with the derivative of `root` by it.

    Raises ScheduleError where a function without a known derivative is on the way.
    """
    order = _bottom_up(root)
    depends: set[int] = set()
    for node in order:
        if isinstance(node, Read):
            if wanted(node):
                depends.add(id(node))
        elif is_float(node.dtype) and any(id(child) in depends for child in children(node)):
            depends.add(id(node))
    if id(root) not in depends:
        return []
    adjoints: dict[int, Expr] = {id(root): Const(1.0, root.dtype)}
    pairs: list[tuple[Read, Expr]] = []
    for node in reversed(order):
        adjoint = adjoints.get(id(node))
        if adjoint is None:
            continue
        if isinstance(node, Read):
            pairs.append((node, adjoint))
            continue
        below = children(node)
        inner = [id(child) in depends for child in below]
        for child, part, does in zip(below, _operands(node, adjoint, inner), inner, strict=True):
            if does and part is not None:
                adjoint_so_far = adjoints.get(id(child))
                adjoints[id(child)] = part if adjoint_so_far is None else adjoint_so_far + part
    return pairs


def _bottom_up(root: Expr) -> list[Expr]:
    """Yield every node below the root once, children first, without the parts of indices."""
    order: dict[int, Expr] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.setdefault(id(node), node)
        elif id(node) not in order:
            stack.append((node, True))
            stack += [(child, False) for child in children(node) if not isinstance(node, Read)]
    return list(order.values())
