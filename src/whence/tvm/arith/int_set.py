"""Sets of integers between two ends, which may be expressions; and the set that an expression lies in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from whence.arith.bounds import of_binary
from whence.arith.forms import Forms, integer
from whence.te.language import expr as language
from whence.te.language.expr import (
    Axis,
    Binary,
    Cast,
    Const,
    Expr,
    ExprLike,
    Select,
    Var,
    binary,
    constant,
)
from whence.te.language.walks import children, operands_first

_FARTHEST = 1 << 31
"""No end of an interval of numbers of 32 bits."""
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

    @staticmethod
    def nothing() -> IntervalSet:
        """No integer."""
        return IntervalSet(_POS_INF, _NEG_INF)


class IntervalSet(IntSet):
    """The integers from `min_value` to `max_value`."""

    def __init__(self, min_value: ExprLike, max_value: ExprLike):
        self.min_value: Expr = integer(min_value)
        self.max_value: Expr = integer(max_value)

    def is_nothing(self) -> bool:
        """Return whether it has no number, for sure."""
        low, high = self.min_value, self.max_value
        return (
            low is _POS_INF
            or high is _NEG_INF
            or (isinstance(low, Const) and isinstance(high, Const) and low.value > high.value)
        )

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
    return eval_set(integer(expr), dom_map, Forms())


def eval_set(expr: Expr, dom_map: Mapping[Any, Any], forms: Forms) -> IntervalSet:
    """`EvalSet` with the facts of an analyzer, by which the ends are simplified."""
    intervals = {id(var): _interval(domain) for var, domain in dom_map.items()}
    ends: dict[int, _Ends] = {}
    moving: set[int] = set()
    for node in operands_first([expr], ends):
        if id(node) in intervals or any(id(part) in moving for part in children(node)):
            moving.add(id(node))
            ends[id(node)] = _ends(node, intervals, ends, forms)
        else:
            ends[id(node)] = node, node
    return IntervalSet(*(end if _open(end) else forms.simplify(end) for end in ends[id(expr)]))


def union_lower_bound(sets: Iterable[IntervalSet]) -> IntervalSet:
    """Return an interval all of whose numbers are in one of some: those that meet or touch for sure, from the first."""
    left = [one for one in sets if not one.is_nothing()]
    if not left:
        return IntSet.nothing()
    union = left.pop(0)
    while touching := next((one for one in left if _touch(union, one)), None):
        left = [one for one in left if one is not touching]
        union = IntervalSet(_lesser(union.min_value, touching.min_value), _greater(union.max_value, touching.max_value))
    return union


def _at_most(a: Expr, b: Expr) -> bool:
    """Return whether one end is at most another, for sure."""
    if a is _NEG_INF or b is _POS_INF:
        return True
    return not _open(a, b) and Forms().bounds(binary("sub", b, a))[0] >= 0


def _touch(a: IntervalSet, b: IntervalSet) -> bool:
    return _begins_in(a, b) or _begins_in(b, a)


def _begins_in(a: IntervalSet, b: IntervalSet) -> bool:
    """Return whether `b` begins in `a`, or right after it."""
    above = a.max_value if _open(a.max_value) else binary("add", a.max_value, 1)
    return _at_most(a.min_value, b.min_value) and _at_most(b.min_value, above)


def _lesser(a: Expr, b: Expr) -> Expr:
    return a if _at_most(a, b) else b if _at_most(b, a) else binary("min", a, b)


def _greater(a: Expr, b: Expr) -> Expr:
    return b if _at_most(a, b) else a if _at_most(b, a) else binary("max", a, b)


_Ends = tuple[Expr, Expr]
_NOWHERE: _Ends = (_NEG_INF, _POS_INF)


def _ends(expr: Expr, intervals: Mapping[int, IntervalSet], ends: Mapping[int, _Ends], forms: Forms) -> _Ends:
    if id(expr) in intervals:
        interval = intervals[id(expr)]
        return interval.min_value, interval.max_value
    match expr:
        case Cast(a=a):
            return ends[id(a)]
        case Select():
            return _hull(ends[id(expr.true_value)], ends[id(expr.false_value)])
        case Binary(op=op):
            return _binary(op, ends[id(expr.a)], ends[id(expr.b)], forms)
        case _:
            return _NOWHERE


def _open(*ends: Expr) -> bool:
    return any(end is _NEG_INF or end is _POS_INF for end in ends)


def _hull(a: _Ends, b: _Ends) -> _Ends:
    if _open(*a, *b):
        return _NOWHERE
    return binary("min", a[0], b[0]), binary("max", a[1], b[1])


def _binary(op: str, a: _Ends, b: _Ends, forms: Forms) -> _Ends:
    match op:
        case "add":
            return _sum(a[0], b[0], _NEG_INF), _sum(a[1], b[1], _POS_INF)
        case "sub":
            return _difference(a[0], b[1], _NEG_INF), _difference(a[1], b[0], _POS_INF)
        case _ if _open(*a, *b):
            return _NOWHERE
        case "mul":
            if a[0] is a[1]:
                a, b = b, a
            if b[0] is not b[1]:
                return _by_numbers(op, a, b, forms)
            low, high = forms.bounds(b[0])
            products = binary("mul", a[0], b[0]), binary("mul", a[1], b[0])
            return products if low >= 0 else (products[1], products[0]) if high <= 0 else _NOWHERE
        case "floordiv" | "div" | "truncdiv" if b[0] is b[1] and forms.bounds(b[0])[0] > 0:
            return binary(op, a[0], b[0]), binary(op, a[1], b[0])
        case "floormod" | "truncmod" if b[0] is b[1] and forms.bounds(b[0])[0] > 0:
            return _rest(op, a, b[0], forms)
        case "min" | "max":
            return binary(op, a[0], b[0]), binary(op, a[1], b[1])
        case _:
            return _by_numbers(op, a, b, forms)


def _rest(op: str, a: _Ends, divisor: Expr, forms: Forms) -> _Ends:
    """The rests by a positive number: the numbers themselves, less a multiple, where all have one quotient."""
    if op == "truncmod" and forms.bounds(a[0])[0] < 0:
        return binary("sub", 1, divisor), binary("sub", divisor, 1)
    low, high = (binary("floordiv", end, divisor) for end in a)
    if forms.bounds(binary("sub", low, high)) == (0, 0):
        whole = binary("mul", low, divisor)
        return binary("sub", a[0], whole), binary("sub", a[1], whole)
    return integer(0).astype(divisor.dtype), binary("sub", divisor, 1)


def _by_numbers(op: str, a: _Ends, b: _Ends, forms: Forms) -> _Ends:
    """The ends of a result by the numbers that the ends of its operands are."""
    numbers = [(forms.bounds(low)[0], forms.bounds(high)[1]) for low, high in (a, b)]
    low, high = of_binary(op, *numbers)
    return (
        _NEG_INF if low <= -_FARTHEST else constant(low, a[0].dtype),
        _POS_INF if high >= _FARTHEST else constant(high, a[0].dtype),
    )


def _sum(a: Expr, b: Expr, otherwise: Expr) -> Expr:
    return otherwise if _open(a, b) else binary("add", a, b)


def _difference(a: Expr, b: Expr, otherwise: Expr) -> Expr:
    return otherwise if _open(a, b) else binary("sub", a, b)
