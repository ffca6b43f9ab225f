"""Sets of integers between two ends, which may be expressions; and the set that an expression lies in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whence.arith.forms import Forms, integer
from whence.te.language import expr as language
from whence.te.language.expr import Axis, Binary, Cast, Const, Expr, ExprLike, Select, Var, binary
from whence.te.language.walks import walk

_POS_INF, _NEG_INF = Var("pos_inf", "handle"), Var("neg_inf", "handle")


def pos_inf() -> Var:
    """Return the upper bound of all numbers."""
    return _POS_INF


def neg_inf() -> Var:
    """Return the lower bound of all numbers."""
    return _NEG_INF


class IntSet:
    """A set of integers."""

    @staticmethod
    def single_point(point: ExprLike) -> IntervalSet:
        """The set of one number."""
        return IntervalSet(point, point)

    @staticmethod
    def interval(min_value: ExprLike, max_value: ExprLike) -> IntervalSet:
        """The numbers between two, both included."""
        return IntervalSet(min_value, max_value)

    @staticmethod
    def vector(vec: ExprLike) -> IntervalSet:
        """The set of the values of an expression, for any values of its variables."""
        return IntervalSet(vec, vec)

    @staticmethod
    def everything() -> IntervalSet:
        """All integers."""
        return IntervalSet(_NEG_INF, _POS_INF)


class IntervalSet(IntSet):
    """The integers from `min_value` to `max_value`."""

    def __init__(self, min_value: ExprLike, max_value: ExprLike):
        self.min_value: Expr = integer(min_value)
        self.max_value: Expr = integer(max_value)

    def is_nothing(self) -> bool:
        """Return whether it has no number, for sure."""
        low, high = self.min_value, self.max_value
        return isinstance(low, Const) and isinstance(high, Const) and low.value > high.value

    def is_everything(self) -> bool:
        """Return whether it has all."""
        return self.min_value is _NEG_INF and self.max_value is _POS_INF

    def __repr__(self) -> str:
        return f"IntervalSet[{self.min_value}, {self.max_value}]"


def _interval(domain: IntSet | language.Range) -> IntervalSet:
    if isinstance(domain, IntervalSet):
        return domain
    if isinstance(domain, language.Range):
        return IntervalSet(domain.min, binary("sub", binary("add", domain.min, domain.extent), 1))
    return IntSet.everything()


def EvalSet(expr: ExprLike, dom_map: Mapping[Var | Axis, IntSet | language.Range]) -> IntervalSet:
    """Return the interval of an expression if some variables lie in theirs; other variables stay in the result."""
    return eval_set(integer(expr), dom_map, Forms().simplify)


def eval_set(expr: Expr, dom_map: Mapping[Any, Any], simplify: Callable[[Expr], Expr]) -> IntervalSet:
    """`EvalSet` with an analyzer that simplifies the ends."""
    intervals = {id(var): _interval(domain) for var, domain in dom_map.items()}
    low, high = _ends(expr, intervals)
    ends = [end if end in (_NEG_INF, _POS_INF) else simplify(end) for end in (low, high)]
    return IntervalSet(*ends)


_Known = Mapping[int, IntervalSet]
_NOWHERE: tuple[Expr, Expr] = (_NEG_INF, _POS_INF)


def _ends(expr: Expr, intervals: _Known) -> tuple[Expr, Expr]:
    if id(expr) in intervals:
        interval = intervals[id(expr)]
        return interval.min_value, interval.max_value
    if not any(id(node) in intervals for node in walk([expr])):
        return expr, expr
    match expr:
        case Cast(a=a):
            return _ends(a, intervals)
        case Select():
            return _hull(_ends(expr.true_value, intervals), _ends(expr.false_value, intervals))
        case Binary(op=op):
            return _binary(op, _ends(expr.a, intervals), _ends(expr.b, intervals))
        case _:
            return _NOWHERE


def _open(*ends: Expr) -> bool:
    return any(end is _NEG_INF or end is _POS_INF for end in ends)


def _hull(a: tuple[Expr, Expr], b: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
    if _open(*a, *b):
        return _NOWHERE
    return binary("min", a[0], b[0]), binary("max", a[1], b[1])


def _binary(op: str, a: tuple[Expr, Expr], b: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
    point = b[0] if b[0] is b[1] else None
    number = point.value if isinstance(point, Const) else None
    if op == "mul" and number is None and isinstance(a[0], Const) and a[0] is a[1]:
        a, b, number = b, a, a[0].value
    match op:
        case "add":
            return _sum(a[0], b[0], _NEG_INF), _sum(a[1], b[1], _POS_INF)
        case "sub":
            return _difference(a[0], b[1], _NEG_INF), _difference(a[1], b[0], _POS_INF)
        case "mul" if isinstance(number, int) and not _open(*a):
            low, high = (binary("mul", end, number) for end in a)
            return (low, high) if number >= 0 else (high, low)
        case "floordiv" | "div" | "truncdiv" if isinstance(number, int) and number > 0 and not _open(*a):
            return binary(op, a[0], number), binary(op, a[1], number)
        case "floormod" if isinstance(number, int) and number > 0:
            return integer(0), integer(number - 1)
        case "min" | "max" if not _open(*a, *b):
            return binary(op, a[0], b[0]), binary(op, a[1], b[1])
        case _:
            return _NOWHERE


def _sum(a: Expr, b: Expr, otherwise: Expr) -> Expr:
    return otherwise if _open(a, b) else binary("add", a, b)


def _difference(a: Expr, b: Expr, otherwise: Expr) -> Expr:
    return otherwise if _open(a, b) else binary("sub", a, b)
