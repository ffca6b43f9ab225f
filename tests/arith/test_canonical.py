"""`canonical_simplify`: texts of sums of digits, and equal values of random expressions at all points."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from index_values import value

from whence import arith, te, tir
from whence.support.errors import FrontendError
from whence.te.language.expr import Binary, Compare, Expr, Select, Var

RANGES = {te.var("x"): (-5, 6), te.var("y"): (0, 12), te.var("z"): (0, 5)}
X, Y, Z = RANGES
DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")


def analyzer(ranges: dict[Var, tuple[int, int]] | None = None) -> arith.Analyzer:
    made = arith.Analyzer()
    for var, (low, high) in (RANGES if ranges is None else ranges).items():
        made.update(var, arith.ConstIntBound(low, high))
    return made


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (5 + (2 * X + Z + 1) * 3 - X, "x * 5 + z * 3 + 8"),
        (2 - X * 4 + X, "2 - x * 3"),
        (X // 12 * 12 + X // 4 % 3 * 4 + X % 4, "x"),
        (te.truncdiv(X, 12) * 3 + te.truncmod(te.truncdiv(X, 4), 3), "T.Div(x, 4)"),
        ((X % 8 // 2 * 2) // 4, "x % 8 // 4"),
        ((Z + X * 6) // 6, "x"),
        ((Y + X * 6) // 3, "x * 2 + y // 3"),
        ((X * 9) % 12, "x * 9 % 12"),
        ((X * 4) % 12, "x % 3 * 4"),
        ((X - 14) % 4, "(x + 2) % 4"),
        ((X % 24) % 6, "x % 6"),
        (te.truncdiv(18 + 12 * X, 12), "T.Div(x * 12 + 18, 12)"),
        ((X * Y * 6 * X) % (X * Z * 4), "y * x * 3 % (z * 2) * (x * 2)"),
        ((X * Y * 6) // (Y * 3), "x * 2"),
        (X + (Y * 0 - 11) // 4 + te.truncmod(Y * 0 - 11, 4), "x - 6"),
        (X - 3 < 2, "x < 5"),
        (X * 6 + Z < 12, "x < 2"),
        (7 - X <= Y, "7 <= y + x"),
        (X * 6 + (Y * 6 + Z) % 12 < 18, "x + y % 2 < 3"),
        (te.const(0.75, "float16") / te.const(0.5, "float16"), "T.float16(1.5)"),
    ],
)  # fmt: skip
def test_sums_have_one_form(expr: Expr, text: str):
    assert str(analyzer().canonical_simplify(expr)) == text


def test_casts_are_pushed_where_nothing_overflows():
    i, j = te.var("i", "int64"), te.var("j", "int64")
    near, far = arith.ConstIntBound(0, 9), arith.ConstIntBound(0, 2**31 - 1)
    expr = tir.Cast("int32", i + j + 1) - tir.Cast("int32", i)
    for bound, text in ((near, 'T.Cast("int32", j) + 1'), (far, str(expr))):
        known = arith.Analyzer()
        known.update(i, bound)
        known.update(j, near)
        assert str(known.canonical_simplify(expr)) == text


def test_a_condition_bounds_a_sum_in_its_branch():
    rest = te.truncmod(X + Y * 7 - 10, 4)
    chosen = tir.if_then_else(X + Y * 7 >= 12, rest, 0)
    expected = "T.if_then_else(12 <= y * 7 + x, T.truncmod(y * 7 + x - 2, 4), 0)"
    assert str(arith.Analyzer().canonical_simplify(chosen)) == expected


def random_expr(random: Random, depth: int) -> Expr:
    if depth == 0 or random.random() < 0.1:
        return random.choice((*RANGES, te.const(random.randint(-20, 20))))
    kind = random.random()
    a = random_expr(random, depth - 1)
    if kind < 0.3:
        return Binary(random.choice(("add", "sub")), a, random_expr(random, depth - 1))
    if kind < 0.5:
        return Binary("mul", a, te.const(random.choice((-6, -4, -3, -1, 2, 3, 4, 6, 8, 12))))
    if kind < 0.85:
        return Binary(random.choice(DIVISIONS), a, te.const(random.choice((1, 2, 3, 4, 6, 8, 12, 24, -2, -3))))
    if kind < 0.9:
        factors = [random.choice((X, Y, Z, te.const(random.choice((2, 3, 4, 6))))) for _ in range(4)]
        return Binary(random.choice(DIVISIONS), factors[0] * factors[1] * a, factors[2] * factors[3])
    if kind < 0.95:
        return Binary(random.choice(("min", "max")), a, random_expr(random, depth - 1))
    condition = Compare(random.choice(("lt", "le", "gt", "ge", "eq")), a, random_expr(random, depth - 1))
    return Select(condition, random_expr(random, depth - 1), random_expr(random, depth - 1), random.random() < 0.5)


def unequal(seed: int) -> str | None:
    """A random expression, or a comparison of two, and its result, where their values differ at a point."""
    random = Random(seed)
    expr = random_expr(random, 4)
    if random.random() < 0.4:
        expr = Compare(random.choice(("lt", "le", "gt", "ge", "eq", "ne")), expr, random_expr(random, 2))
    known = {var: ends for var, ends in RANGES.items() if random.random() < 0.8}
    try:
        result = analyzer(known).canonical_simplify(expr)
    except FrontendError as error:
        assert "a divisor that is not 0" in str(error)  # noqa: PT017
        return None
    for point in product(*(range(low, high + 1) for low, high in RANGES.values())):
        at = dict(zip(RANGES, point, strict=True))
        try:
            wanted = value(expr, at)
        except ZeroDivisionError:
            continue
        if value(result, at) != wanted:
            return f"{expr} -> {result} at {point}"
    return None


def test_random_expressions_keep_their_values():
    assert [found for seed in range(400) if (found := unequal(seed))] == []


def test_a_division_by_0_is_refused():
    with pytest.raises(FrontendError, match="expected a divisor that is not 0"):
        arith.Analyzer().canonical_simplify(Binary("floordiv", X, te.const(0)))
