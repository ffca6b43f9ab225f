"""`canonical_simplify`: integers as sums of digits of expressions, in a canonical order; all else by `rewrite.py`.

A digit of an expression is what a rest and a division leave of it, `index % upper // lower`. Digits of one expression
that lie side by side become one, as in `x // 4 * 4 + x % 4`: so indices that are taken apart and joined again cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TypeAlias

from whence.arith.bounds import of_dtype, truncated
from whence.arith.rewrite import Facts, Rewriter, first_parts
from whence.te.language.expr import Binary, Cast, Compare, Const, Expr, binary, constant
from whence.te.language.walks import operands_first

_INDICES = ("int32", "int64")
_OPERATORS = ("add", "sub", "mul", "floordiv", "floormod", "div", "truncdiv", "truncmod")
_FLOOR, _TRUNC = ("floordiv", "floormod"), ("truncdiv", "truncmod")


@dataclass(frozen=True)
class Digit:
    """`index % upper // lower * scale`, rounded by the operators of `mode`; without `upper` there is no rest."""

    index: Expr
    lower: int = 1
    upper: int | None = None
    scale: int = 1
    mode: tuple[str, str] = _TRUNC

    @property
    def is_whole(self) -> bool:
        return self.lower == 1 and self.upper is None

    def fits(self, mode: tuple[str, str]) -> bool:
        """Return whether a division of a mode may go on here."""
        return self.mode == mode or self.is_whole

    def times(self, factor: int) -> Digit:
        return replace(self, scale=self.scale * factor)

    def written(self, scale: int) -> Expr:
        """The expression, with another scale."""
        value = self.index
        if self.upper is not None:
            value = Binary(self.mode[1], value, constant(self.upper, value.dtype))
        if self.lower != 1:
            value = Binary(self.mode[0], value, constant(self.lower, value.dtype))
        return value if scale == 1 else binary("mul", value, scale)


@dataclass(frozen=True)
class Sum:
    """A sum of digits, those of one index side by side with the greater `lower` first, and a number."""

    digits: tuple[Digit, ...]
    base: int


Value: TypeAlias = Expr | Digit | Sum


class Canonical(Rewriter):
    """The simplification of one expression; what is known of a node may be a digit or a sum."""

    def __init__(self, facts: Facts):
        super().__init__(facts)
        self._values: dict[int, Value] = {}

    def run(self, root: Expr) -> Expr:
        """Return an equal expression; raises FrontendError for a division by the number 0."""
        for node in operands_first([root], self._done, first_parts):
            value = self._canonical(node)
            result = self._written(value, node.dtype)
            self._kept += (node, result)
            self._done[id(node)] = self._done[id(result)] = result
            self._values[id(node)] = self._values[id(result)] = value
        return self._done[id(root)]

    def _value_of(self, node: Expr) -> Value:
        # Results of rules have no value of their own.
        return self._values.get(id(node), self._done[id(node)])

    def _canonical(self, node: Expr) -> Value:
        match node:
            case Binary(op=op) if op in _OPERATORS and node.dtype in _INDICES and not _is_division_by_0(node):
                value = self._operated(op, self._value_of(node.a), self._value_of(node.b), node.dtype)
                if _is_writable(value, node.dtype):
                    return value
                return Binary(op, self._done[id(node.a)], self._done[id(node.b)])
            case Cast(a=a) if node.dtype in _INDICES and a.dtype in _INDICES:
                pushed = self._cast_parts(self._value_of(a), a.dtype, node.dtype)
                return self._settled(self._node(node)) if pushed is None else pushed
            case Compare(op="lt" | "le" | "gt" | "ge") if node.a.dtype in _INDICES:
                return self._compared(node)
            case _:
                return self._settled(self._node(node))

    def _operated(self, op: str, a: Value, b: Value, dtype: str) -> Value:
        first, second = _number(a), _number(b)
        if op in ("add", "sub"):
            return self._plus(self._sum(a), self._sum(b), 1 if op == "add" else -1)
        if op == "mul":
            if first is not None and second is None:
                a, second = b, first
            if second is not None:
                return _scaled(self._sum(a), second) if isinstance(a, Sum) else self._digit(a, dtype).times(second)
            return _product(self._written(a, dtype), self._written(b, dtype))
        mode = _FLOOR if op in _FLOOR else _TRUNC
        is_rest = op in ("floormod", "truncmod")
        if first is not None and second:
            quotient = first // second if mode is _FLOOR else truncated(first, second)
            return Sum((), first - quotient * second if is_rest else quotient)
        if second is not None and second > 0:
            if second == 1:
                return Sum((), 0) if is_rest else a
            parts = self._rest if is_rest else self._quotient
            return parts(a, second, mode, dtype)
        return self._by_product(mode[is_rest], self._written(a, dtype), self._written(b, dtype))

    def _where(self, condition: Expr, branch: Expr) -> Expr:
        # What is known of a node there holds there alone.
        before, self._values = self._values, {}
        try:
            return super()._where(condition, branch)
        finally:
            self._values = before

    # Sums

    def _sum(self, value: Value) -> Sum:
        if isinstance(value, Sum):
            return value
        if isinstance(value, Const):
            return Sum((), int(value.value))
        return self._plus(Sum((), 0), Sum((value if isinstance(value, Digit) else Digit(value),), 0), 1)

    def _digit(self, value: Value, dtype: str) -> Digit:
        """A value as one digit."""
        if isinstance(value, Sum) and len(value.digits) == 1 and not value.base:
            return value.digits[0]
        return value if isinstance(value, Digit) else Digit(self._written(value, dtype))

    def _is_one(self, a: Digit, b: Digit) -> bool:
        return a.index is b.index or self._names.of(a.index) == self._names.of(b.index)

    def _plus(self, a: Sum, b: Sum, factor: int) -> Sum:
        digits = list(a.digits)
        for digit in b.digits:
            self._insert(digits, digit.times(factor))
        return Sum(tuple(digits), a.base + factor * b.base)

    def _insert(self, digits: list[Digit], new: Digit) -> None:
        if not new.scale:
            return
        start = next((at for at, one in enumerate(digits) if self._is_one(one, new)), len(digits))
        for at in range(start, len(digits)):
            one = digits[at]
            if not self._is_one(one, new) or new.lower > one.lower:
                digits.insert(at, new)
                return
            if (one.lower, one.upper) == (new.lower, new.upper) and new.fits(one.mode):
                digits[at] = replace(one, scale=one.scale + new.scale)
                return
        digits.append(new)

    def _joined(self, parts: Sequence[Digit]) -> list[Digit]:
        """Digits of which those side by side are one."""
        digits = list(parts)
        for at in range(len(digits)):
            for after in range(at + 1, len(digits)):
                left, right = digits[at], digits[after]
                if not left.scale or not self._is_one(left, right):
                    break
                if not right.scale or not left.fits(right.mode):
                    continue
                if (left.lower, left.upper) == (right.lower, right.upper):
                    digits[after] = replace(right, scale=right.scale + left.scale)
                    digits[at] = replace(left, scale=0)
                elif left.lower == right.upper and left.scale * right.lower == right.scale * left.lower:
                    digits[after] = replace(right, upper=left.upper)
                    digits[at] = replace(left, scale=0)
        return [digit for digit in digits if digit.scale]

    def _written(self, value: Value, dtype: str) -> Expr:
        """The expression of a value: what is added, the greatest factors first, then what is subtracted."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, Digit):
            return value.written(value.scale) if value.scale else constant(0, dtype)
        digits = sorted(self._joined(value.digits), key=_order)
        if not digits:
            return constant(value.base, dtype)
        total: Expr | None = None
        for digit in digits:
            if digit.scale > 0:
                total = _added(total, digit.written(digit.scale))
        is_least = value.base == of_dtype(dtype)[0]
        if value.base > 0 or is_least:
            total = _added(total, constant(value.base, dtype))
        for digit in digits:
            if digit.scale < 0:
                total = (
                    digit.written(digit.scale) if total is None else binary("sub", total, digit.written(-digit.scale))
                )
        assert total is not None
        return binary("sub", total, -value.base) if value.base < 0 and not is_least else total

    # Divisions

    def _span(self, value: Value, dtype: str) -> tuple[int, int]:
        return self._forms.bounds(self._written(value, dtype))

    def _quotient(self, a: Value, divisor: int, mode: tuple[str, str], dtype: str) -> Value:
        if isinstance(a, Sum):
            whole, rest = _parted(a, divisor)
            low, high = self._span(rest, dtype)
            quotient = _divided(whole, divisor)
            if low == high == 0:
                return quotient
            if mode is _FLOOR or (low >= 0 and self._span(whole, dtype)[0] >= 0):
                if not rest.digits:
                    return Sum(quotient.digits, quotient.base + rest.base // divisor)
                if 0 <= low <= high < divisor:
                    return quotient
                added = _quotient(self, Digit(self._written(rest, dtype)), divisor, mode)
                return self._plus(quotient, Sum((added,), 0), 1)
        low, high = self._span(a, dtype)
        return Sum((), 0) if 0 <= low <= high < divisor else _quotient(self, self._digit(a, dtype), divisor, mode)

    def _rest(self, a: Value, divisor: int, mode: tuple[str, str], dtype: str) -> Value:
        if isinstance(a, Sum):
            whole, rest = _parted(a, divisor)
            if not rest.digits and not rest.base:
                return Sum((), 0)
            low, high = self._span(rest, dtype)
            if mode is _FLOOR or (low >= 0 and self._span(whole, dtype)[0] >= 0):
                if not rest.digits:
                    return Sum((), rest.base % divisor)
                if 0 <= low <= high < divisor:
                    # What is taken apart further is this sum, as one.
                    return Digit(self._written(rest, dtype))
                a = rest
            shorter = Sum(a.digits, a.base % divisor if mode is _FLOOR else _truncated_rest(a.base, divisor))
            if mode is _FLOOR or (self._span(a, dtype)[0] >= 0 and self._span(shorter, dtype)[0] >= 0):
                a = shorter
        else:
            low, high = self._span(a, dtype)
            if 0 <= low <= high < divisor:
                return a
        return _rest(self, self._digit(a, dtype), divisor, mode)

    def digit_of(self, index: Expr, divisor: int, mode: tuple[str, str]) -> Digit:
        """The rest of an expression as one digit, simplified once more."""
        rest = Binary(mode[1], index, constant(divisor, index.dtype))
        result = self.run(rest)
        return self._digit(self._value_of(result), index.dtype)

    def alone(self, digit: Digit, mode: tuple[str, str]) -> Digit:
        """A digit as an index of its own, if a division of the mode may not go on in it."""
        return digit if digit.fits(mode) else Digit(digit.written(digit.scale))

    def _by_product(self, op: str, a: Expr, b: Expr) -> Value:
        """A quotient or a rest by what is no number: common factors cancel."""
        left, number = _factors(a)
        others: list[Expr] = []
        common: list[Expr] = []
        wanted, other = _factors(b)
        for factor in wanted:
            at = next((i for i, one in enumerate(left) if self._names.of(one) == self._names.of(factor)), None)
            if at is None:
                others.append(factor)
            else:
                common.append(left.pop(at))
        divisor = gcd(number, other) or 1
        if not common and divisor == 1:
            return self._settled(Binary(op, a, b))
        dtype = a.dtype
        dividend = _multiplied(left, number // divisor, dtype)
        by = _multiplied(others, other // divisor, dtype)
        is_rest = op in ("floormod", "truncmod")
        if isinstance(by, Const) and by.value == 1:
            return Sum((), 0) if is_rest else dividend
        result = self.run(Binary(op, dividend, by))
        return binary("mul", result, _multiplied(common, divisor, dtype)) if is_rest else result

    # Comparisons

    def _compared(self, node: Compare) -> Value:
        """A comparison with its number on one side, and without what does not matter."""
        expr = self._settled(self._node(node))
        if not isinstance(expr, Compare) or expr.op not in ("lt", "le"):
            return expr
        left, right = (self._sum(self._known(side)) for side in (expr.a, expr.b))
        sides = self._balanced(left, right)
        if expr.op == "lt":
            difference = self._plus(*sides, -1)
            if (shorter := self._shorter(Sum(tuple(self._joined(difference.digits)), difference.base))) is not None:
                return self.run(Compare("lt", self._written(shorter, node.a.dtype), constant(0, node.a.dtype)))
        if sides == (left, right) or not all(_is_writable(side, node.a.dtype) for side in sides):
            return expr
        return self.run(Compare(expr.op, *(self._written(side, node.a.dtype) for side in sides)))

    def _known(self, expr: Expr) -> Value:
        return self._values.get(id(expr), expr)

    def _balanced(self, left: Sum, right: Sum) -> tuple[Sum, Sum]:
        """Both sides with all numbers on one that has nothing else, or that loses all else to the other."""
        for side, other, is_left in ((left, right, True), (right, left, False)):
            if side.base and side.digits and all(digit.scale < 0 for digit in side.digits):
                # A number less something.
                moved = self._plus(other, Sum(side.digits, 0), -1)
                return (Sum((), side.base), moved) if is_left else (moved, Sum((), side.base))
        if not right.digits and left.base:
            return Sum(left.digits, 0), Sum((), right.base - left.base)
        if not left.digits and right.base:
            return Sum((), left.base - right.base), Sum(right.digits, 0)
        return left, right

    def _shorter(self, value: Sum) -> Sum | None:
        """A sum that is below 0 where another is, divided by a common divisor of some terms; None if there is none."""
        scales = [abs(digit.scale) for digit in value.digits if abs(digit.scale) > 1]
        if not scales or (divisor := gcd(value.base, *scales)) <= 1:
            return None
        whole, rest = _parted(value, divisor)
        low, high = self._span(rest, value.digits[0].index.dtype)
        if 0 <= low <= high < divisor:
            return _divided(whole, divisor)
        (digit, *more) = rest.digits
        if more or digit.upper is None or digit.mode is not _FLOOR or digit.scale != 1:
            return None
        if digit.upper <= 0 or digit.upper % (divisor * digit.lower):
            return None
        # d * s + y % m is below 0 just where s + y % m // d is, and d divides m.
        index = Binary("floordiv", digit.index, constant(divisor * digit.lower, digit.index.dtype))
        rest_of = Binary("floormod", index, constant(digit.upper // (divisor * digit.lower), digit.index.dtype))
        return self._plus(_divided(whole, divisor), self._sum(self._known(self.run(rest_of))), 1)

    # Casts

    def _cast_parts(self, value: Value, source: str, dtype: str) -> Value | None:
        """A sum of casts, if nothing overflows in it that would not before."""
        if isinstance(value, Expr):
            return None
        parts = value.digits if isinstance(value, Sum) else (value,)
        if dtype == "int32" and source == "int64":
            first = sorted(parts, key=lambda digit: digit.scale < 0)
            base = value.base if isinstance(value, Sum) else 0
            # The sums on the way to the whole one, as they are written.
            sums = [Sum(tuple(first[:count]), max(base, 0)) for count in range(len(first) + 1)]
            low, high = of_dtype(dtype)
            ends = [self._span(one, source) for one in (value, *sums, *parts, *(digit.index for digit in parts))]
            if not all(low <= least <= most <= high for least, most in ends):
                return None
        cast = [replace(digit, index=self.run(Cast(dtype, digit.index))) for digit in parts]
        return Sum(tuple(cast), value.base) if isinstance(value, Sum) else cast[0]


def _quotient(simplifier: Canonical, digit: Digit, divisor: int, mode: tuple[str, str]) -> Digit:
    """The quotient of a digit."""
    digit = simplifier.alone(digit, mode)
    if digit.scale % divisor == 0:
        return replace(digit, scale=digit.scale // divisor)
    if digit.scale > 0 and divisor % digit.scale == 0:
        lower = digit.lower * (divisor // digit.scale)
        if digit.upper is None or digit.upper % lower == 0:
            return replace(digit, lower=lower, scale=1, mode=mode)
        if 0 < digit.upper <= lower:
            return replace(digit, scale=0)
        index = Binary(mode[1], digit.index, constant(digit.upper, digit.index.dtype))
        return Digit(index, lower, None, 1, mode)
    return Digit(digit.written(digit.scale), divisor, None, 1, mode)


def _rest(simplifier: Canonical, digit: Digit, divisor: int, mode: tuple[str, str]) -> Digit:
    """The rest of a digit."""
    digit = simplifier.alone(digit, mode)
    if digit.scale % divisor == 0:
        return replace(digit, scale=0)
    # A floored quotient by a positive number has no rest by a negative one that a digit could be.
    if divisor % digit.scale == 0 and (digit.scale > 0 or digit.lower == 1 or mode is _TRUNC):
        upper = digit.lower * (divisor // digit.scale)
        if digit.upper is None:
            return replace(digit, upper=upper, mode=mode)
        if digit.upper % upper == 0:
            if upper == digit.upper:
                return digit
            shorter = simplifier.digit_of(digit.index, upper, mode)
            found = shorter if digit.lower == 1 else _quotient(simplifier, shorter, digit.lower, mode)
            return found.times(digit.scale)
        if digit.upper > 0 and upper > 0 and upper % digit.upper == 0:
            return digit
    return Digit(digit.written(digit.scale), 1, divisor, 1, mode)


def _number(value: Value) -> int | None:
    match value:
        case Const():
            return int(value.value)
        case Sum(digits=()):
            return value.base
        case Digit(scale=0):
            return 0
        case _:
            return None


def _scaled(value: Sum, factor: int) -> Sum:
    return Sum(tuple(digit.times(factor) for digit in value.digits) if factor else (), value.base * factor)


def _divided(value: Sum, divisor: int) -> Sum:
    """A sum, all of whose terms a number divides, divided by it."""
    return Sum(tuple(replace(one, scale=one.scale // divisor) for one in value.digits), value.base // divisor)


def _parted(value: Sum, divisor: int) -> tuple[Sum, Sum]:
    """The terms that a number divides, and the others."""
    groups: tuple[list[Digit], list[Digit]] = [], []
    for digit in value.digits:
        groups[digit.scale % divisor != 0].append(digit)
    whole, rest = (value.base, 0) if value.base % divisor == 0 else (0, value.base)
    return Sum(tuple(groups[0]), whole), Sum(tuple(groups[1]), rest)


def _truncated_rest(number: int, divisor: int) -> int:
    return number - truncated(number, divisor) * divisor


def _order(digit: Digit) -> tuple[float, float, float, int]:
    upper = float("inf") if digit.upper is None else digit.upper
    return -digit.scale, -digit.lower, -upper, -int(digit.mode is _FLOOR)


def _added(total: Expr | None, term: Expr) -> Expr:
    return term if total is None else binary("add", total, term)


def _is_division_by_0(node: Binary) -> bool:
    return node.op not in ("add", "sub", "mul") and isinstance(node.b, Const) and not node.b.value


def _is_writable(value: Value, dtype: str) -> bool:
    """Return whether a dtype has the numbers that a value is written with."""
    if isinstance(value, Expr):
        return True
    low, high = of_dtype(dtype)
    parts: Iterable[Digit] = value.digits if isinstance(value, Sum) else (value,)
    numbers = [number for part in parts for number in (part.scale, -part.scale, part.lower, part.upper or 0)]
    base = value.base if isinstance(value, Sum) else 0
    return low <= base <= high and all(low < number <= high for number in numbers)


# Products


def _factors(expr: Expr) -> tuple[list[Expr], int]:
    """The factors of a product, and the number among them."""
    factors: list[Expr] = []
    number, stack = 1, [expr]
    while stack:
        match stack.pop():
            case Const(value=value):
                number *= int(value)
            case Binary(op="mul") as product:
                stack += (product.b, product.a)
            case other:
                factors.append(other)
    return factors, number


def _multiplied(factors: Sequence[Expr], number: int, dtype: str) -> Expr:
    total: Expr | None = None
    for factor in factors:
        total = factor if total is None else Binary("mul", total, factor)
    if total is None:
        return constant(number, dtype)
    return total if number == 1 else binary("mul", total, number)


def _product(a: Expr, b: Expr) -> Expr:
    """A product with its number last."""
    (left, x), (right, y) = _factors(a), _factors(b)
    return _multiplied([*left, *right], x * y, a.dtype)
