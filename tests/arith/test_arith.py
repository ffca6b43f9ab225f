"""What `whence.arith` says of expressions, against all their values."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable
from typing import Any

import pytest
from index_values import value

from whence import arith, te
from whence.support.errors import FrontendError
from whence.te.language.expr import Binary, Compare, Expr

X, Y, Z = te.var("x"), te.var("y"), te.var("z")
ENDS = {X: (-5, 6), Y: (0, 9), Z: (3, 4)}


def a_random(draw: random.Random, depth: int) -> Expr:
    if depth == 0 or draw.random() < 0.15:
        return draw.choice([X, Y, Z, te.const(draw.randint(-7, 7))])
    a = a_random(draw, depth - 1)
    match draw.randrange(7):
        case 0 | 1:
            return a + a_random(draw, depth - 1)
        case 2:
            return a - a_random(draw, depth - 1)
        case 3:
            return a * draw.choice([-3, 2, 4, 8])
        case 4:
            return te.floordiv(a, draw.choice([2, 3, 4, 8]))
        case 5:
            return te.floormod(a, draw.choice([2, 3, 4, 8]))
        case _:
            return draw.choice([te.minimum, te.maximum])(a, a_random(draw, depth - 1))


def points() -> list[dict[Any, int]]:
    ranges = [range(low, high + 1) for low, high in ENDS.values()]
    return [dict(zip(ENDS, at, strict=True)) for at in itertools.product(*ranges)]


def analyzer() -> arith.Analyzer:
    made = arith.Analyzer()
    for var, (low, high) in ENDS.items():
        made.bind(var, arith.Range(low, high + 1))
    return made


def test_all_that_is_said_of_random_expressions_holds_at_all_points() -> None:
    draw, known, everywhere = random.Random(4), analyzer(), points()
    for _ in range(40):
        expr = a_random(draw, 3)
        values = [value(expr, at) for at in everywhere]
        simple = known.simplify(expr)
        assert [value(simple, at) for at in everywhere] == values, f"{expr} -> {simple}"
        bound = known.const_int_bound(expr)
        assert bound.min_value <= min(values)
        assert max(values) <= bound.max_value
        form = known.modular_set(expr)
        assert all(v == form.base if form.coeff == 0 else (v - form.base) % form.coeff == 0 for v in values)
        interval = arith.EvalSet(expr, {var: arith.IntervalSet(*ends) for var, ends in ENDS.items()})
        if not interval.is_everything():
            assert value(interval.min_value, everywhere[0]) <= min(values)
            assert value(interval.max_value, everywhere[0]) >= max(values)


def any_random(draw: random.Random, depth: int) -> Expr:
    """An expression of all operators, whose divisors are not 0 and whose shifts are small."""
    if depth == 0 or draw.random() < 0.1:
        return draw.choice([X, Y, Z, te.const(draw.randint(-7, 7))])
    a, b = any_random(draw, depth - 1), any_random(draw, depth - 1)
    match draw.randrange(10):
        case 0:
            return a * b
        case 1:
            return draw.choice([te.truncdiv, te.truncmod])(a, draw.choice([-3, 2, 4, 8]))
        case 2:
            return draw.choice([te.floordiv, te.floormod])(a, b * b + 1)
        case 3:
            return draw.choice([te.truncdiv, te.truncmod])(a, te.maximum(b, 1))
        case 4:
            return a >> draw.choice([0, 1, 3])
        case 5:
            return a & draw.choice([1, 3, 5, 7, b])
        case 6:
            return a | b if draw.random() < 0.5 else a ^ b
        case 7:
            return te.select(a < b, a, b)
        case 8:
            return draw.choice([te.minimum, te.maximum])(a, b)
        case _:
            return a + b if draw.random() < 0.5 else a - b


def test_bounds_and_forms_of_all_operators_hold_at_all_points() -> None:
    draw, everywhere = random.Random(7), points()
    finite = 0
    for _ in range(150):
        known, expr = analyzer(), any_random(draw, 3)
        values = [value(expr, at) for at in everywhere]
        bound, form = known.const_int_bound(expr), known.modular_set(expr)
        assert bound.min_value <= min(values), expr
        assert max(values) <= bound.max_value, expr
        finite += bound.max_value < bound.POS_INF
        assert all(v == form.base if form.coeff == 0 else (v - form.base) % form.coeff == 0 for v in values), expr
    assert finite > 120


NARROW: list[Callable[[Any, Any], Any]] = [
    operator.mul,
    te.truncdiv,
    te.truncmod,
    te.floordiv,
    te.floormod,
    te.minimum,
    te.maximum,
    lambda x, y: x & 3,
    lambda x, y: x >> 1,
    lambda x, y: x * 3 - y,
]


@pytest.mark.parametrize("expr", NARROW)
def test_bounds_are_as_narrow_as_their_operands_tell(expr: Callable[[Any, Any], Any]) -> None:
    x, y = te.var("x"), te.var("y")
    for low, high in ((-8, 9), (1, 6), (-5, -2)):
        known = arith.Analyzer()
        known.update(x, arith.ConstIntBound(-9, 10))
        known.update(y, arith.ConstIntBound(low, high))
        pairs = itertools.product(range(-9, 11), (b for b in range(low, high + 1) if b))
        values = [value(expr(x, y), {x: a, y: b}) for a, b in pairs]
        assert known.const_int_bound(expr(x, y)) == arith.ConstIntBound(min(values), max(values)), (low, high)


def test_a_float_between_two_casts_keeps_what_it_holds() -> None:
    x, known = te.var("x", "int8"), arith.Analyzer()
    assert known.const_int_bound(te.floormod(x, 7).astype("float32").astype("int32")) == arith.ConstIntBound(0, 6)
    assert known.const_int_bound((x.astype("float32") * 0.5).astype("int32")).max_value == 2**31 - 1


def test_what_was_asked_in_a_scope_is_not_believed_outside() -> None:
    x, y, known = te.var("x"), te.var("y"), arith.Analyzer()
    known.update(x, arith.ConstIntBound(0, 100))
    known.update(y, arith.ConstIntBound(0, 100))
    with known.constraint_scope(te.all(x < 3, y < 4)):
        assert known.const_int_bound(x * y).max_value == 6
    assert known.const_int_bound(x * y).max_value == 10_000
    known.update(x, arith.ConstIntBound(0, 5), override=True)
    assert known.const_int_bound(x * y).max_value == 500


def test_variables_have_the_bounds_of_their_dtypes() -> None:
    known = arith.Analyzer()
    for dtype, low, high in (("int8", -128, 127), ("uint8", 0, 255), ("int32", -(2**31), 2**31 - 1)):
        assert known.const_int_bound(te.var("v", dtype)) == arith.ConstIntBound(low, high)
    assert known.const_int_bound(te.size_var("n")).min_value == 0
    assert known.const_int_bound(te.var("v", "int64")).max_value == arith.ConstIntBound.POS_INF


def test_rests_and_quotients_are_put_together() -> None:
    draw, everywhere = random.Random(13), points()
    for _ in range(60):
        flat: Expr = X * 10 + Y + draw.randint(-3, 3) if draw.random() < 0.5 else Y * 2 + Z
        small = draw.choice([2, 3, 4])
        large = small * draw.choice([2, 3])
        expr = (
            te.floordiv(flat, large) * large
            + te.floordiv(te.floormod(flat, large), small) * small
            + te.floormod(flat, small)
        )
        simple = analyzer().simplify(expr)
        assert "%" not in str(simple), (expr, simple)
        assert [value(simple, at) for at in everywhere] == [value(expr, at) for at in everywhere]


def test_a_strong_proof_uses_ranges_of_open_ends() -> None:
    known, n, m = arith.Analyzer(), te.size_var("n"), te.size_var("m")
    i, j, strong = te.var("i"), te.var("j"), arith.ProofStrength.SYMBOLIC_BOUND
    known.bind(i, arith.Range(0, te.floordiv(n + 7, 8)))
    known.bind(j, arith.Range(0, 8))
    padded, index = te.floordiv(n + 7, 8) * 8, i * 8 + j
    for condition, holds in (
        (index < padded, True),
        (index + m >= 0, True),
        (te.all(padded + m > index, index >= 0), True),
        (index + 1 < padded, False),
        (index < n, False),
        (index < padded - m, False),
    ):
        assert known.can_prove(condition, strong) == holds, condition
    assert not known.can_prove(index < padded)
    known.bind(i, arith.Range(0, 100), allow_override=True)
    assert not known.can_prove(index < padded, strong)


def test_comparisons_are_balanced() -> None:
    draw, everywhere = random.Random(14), points()
    for _ in range(60):
        a, b = a_random(draw, 2), a_random(draw, 2)
        scale = draw.choice([1, 2, 6])
        sides = a * scale + draw.randint(-7, 7), b * scale
        for op in ("lt", "le", "gt", "ge", "eq", "ne"):
            condition = Compare(op, *sides)
            simple = arith.Analyzer().simplify(condition)
            assert [value(simple, at) for at in everywhere] == [value(condition, at) for at in everywhere]
    for condition, expected in (
        (X - 2 < 3, "x < 5"),
        (X * 4 + 1 < Y * 4, "x < y"),
        (X * 3 >= Y * 6 + 1, "x >= y * 2 + 1"),
        (te.const(3) < X + 5, "-2 < x"),
        ((X * 2).equal(Y * 4 + 1), "T.bool(False)"),
        (te.var("u", "int8") + 100 < te.var("v", "int8") - 100, "u + T.int8(100) < v - T.int8(100)"),
    ):
        assert str(arith.Analyzer().simplify(condition)) == expected


def test_limits_of_quotients_and_rests_hold_in_a_scope() -> None:
    known, x = analyzer(), te.var("x")
    known.bind(x, arith.Range(0, 129))
    rest = te.floormod(x, 58)
    with known.constraint_scope(te.all(te.const(1) <= rest, rest < 57, te.floordiv(x, 5) > 3)):
        assert known.const_int_bound(te.floormod(x, 58) - 1) == arith.ConstIntBound(0, 55)
        assert known.const_int_bound(te.floormod(x, 58) * -2 + Y) == arith.ConstIntBound(-112, 7)
        assert known.const_int_bound(te.floordiv(x, 5)) == arith.ConstIntBound(4, 25)
        assert known.can_prove(te.floormod(x, 58) > 0)
    assert known.const_int_bound(te.floormod(x, 58) - 1) == arith.ConstIntBound(-1, 56)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((X + 2) * (Y - 1), "x * y + y * 2 - x - 2"),
        (X * Y * 3 - Y * X, "x * y * 2"),
        (te.floordiv(X * Y * 32 * X, X), "x * y * 32"),
        (te.floormod(X * Y * 32 * X + Z * 2, X * Y), "z * 2 % (x * y)"),
        (te.truncdiv(X * 48 + te.const(16), 16), "x * 3 + 1"),
        (te.const(1) - X, "1 - x"),
    ],
)
def test_polynomials_have_one_form(expr: Expr, expected: str) -> None:
    assert str(arith.Analyzer().simplify(expr)) == expected


def test_products_of_sums_are_equal_at_all_points() -> None:
    draw, everywhere = random.Random(12), points()
    for _ in range(40):
        parts = [a_random(draw, 2) for _ in range(4)]
        expr = parts[0] * parts[1] - te.floordiv(parts[2] * parts[3], draw.choice([Z, Z * 2, Z * Z, Z * Y + Z]))
        simple = analyzer().simplify(expr)
        assert [value(simple, at) for at in everywhere] == [value(expr, at) for at in everywhere], f"{expr} -> {simple}"
        assert arith.Analyzer().can_prove_equal(parts[0] * parts[1] * parts[2], parts[2] * parts[0] * parts[1])


def test_a_long_chain_does_not_recurse() -> None:
    total: Expr = X
    for _ in range(20_000):
        total = total + 1
    assert str(arith.Analyzer().simplify(total)) == "x + 20000"
    for _ in range(1_500):
        total = te.maximum(total, Y) + 1
    assert arith.Analyzer().const_int_bound(total).min_value >= -(2**31) + 21_500


def test_rests_that_a_scope_says_meet() -> None:
    x, known = te.var("x"), arith.Analyzer()
    rests = te.all(te.truncmod(x, 3).equal(2), te.truncmod(x, 5).equal(3), te.floormod(x, 7).equal(2))
    with known.constraint_scope(rests):
        assert known.modular_set(x) == arith.ModularSet(105, 23)
    assert known.modular_set(x) == arith.ModularSet(1, 0)
    assert known.modular_set((x * 4 + 2) * (x * 6 + 1)) == arith.ModularSet(8, 2)
    assert known.modular_set((x * 4 + 2) >> 1) == arith.ModularSet(2, 1)
    assert known.modular_set((x * 16 + x * 4) & 31) == arith.ModularSet(4, 0)


def spelled(expr: Expr) -> str:
    return f"{spelled(expr.a)} {expr.op} {spelled(expr.b)}" if isinstance(expr, Binary | Compare) else str(expr)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((Y * 4 + te.const(3)) // 4, "y"),
        (te.floormod(X * 10 + Y, 10), "y"),
        (X + Y - X, "y"),
        (te.minimum(Y, 9), "y"),
        (te.maximum(Y, Z), "y max z"),
        (Y < 10, "T.bool(True)"),
        (X > 6, "T.bool(False)"),
        (te.all(Y < 10, X < 2), "x lt 2"),
        (te.select(Z > 2, X, Y), "x"),
        (te.floordiv(Y, 10), "0"),
    ],
)
def test_simple_forms(expr: Expr, expected: str) -> None:
    known = analyzer()
    assert spelled(known.simplify(expr)) == expected
    assert spelled(known.rewrite_simplify(expr)) == spelled(known.canonical_simplify(expr)) == expected


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.gt, operator.ge])
def test_comparisons_are_decided_where_they_may_be(op: Callable[[Any, Any], Any]) -> None:
    known = analyzer()
    for number in range(-2, 12):
        holds = {bool(op(y, number)) for y in range(10)}
        expected = f"T.bool({holds.pop()})" if len(holds) == 1 else f"y {op.__name__} {number}"
        assert spelled(known.simplify(op(Y, number))) == expected


def test_proofs_and_scopes() -> None:
    known, free = analyzer(), te.var("free", "int64")
    assert known.can_prove(Y >= 0)
    assert not known.can_prove(Y >= 1)
    assert known.can_prove_equal(X + Y, Y + X)
    assert known.can_prove_less(Z, 5)
    assert known.can_prove_greater_equal(Z, 3)
    with known.constraint_scope(te.all(free >= 3, free * 2 < 20)):
        assert known.const_int_bound(free) == arith.ConstIntBound(3, 9)
    nothing = arith.ConstIntBound(arith.ConstIntBound.NEG_INF, arith.ConstIntBound.POS_INF)
    assert known.const_int_bound(free) == nothing
    known.update(free, arith.ModularSet(4, 2))
    assert known.modular_set(free * 3) == arith.ModularSet(12, 6)
    assert known.modular_set(te.floormod(free, 2)) == arith.ModularSet(2, 0)
    known.bind(free, Y * 2)
    assert known.const_int_bound(free).max_value == 18
    with pytest.raises(FrontendError, match="as it was bound before"):
        known.bind(X, arith.Range(0, 3))
    known.bind(X, arith.Range.from_min_extent(1, 3), allow_override=True)
    assert spelled(known.int_set(X).max_value) == "3"


def test_linear_forms_and_limits() -> None:
    found = arith.detect_linear_equation(X * 3 + Y * 5 + Z + 1, [X, Y])
    assert [spelled(one) for one in found] == ["3", "5", "z add 1"]
    assert arith.detect_linear_equation(X * Y, [X, Y]) == []
    assert arith.detect_linear_equation(te.floordiv(X, 2), [X]) == []
    limits = arith.detect_clip_bound(te.all(X >= 3, X < 10, Y <= 4), [X, Y])
    assert [None if one is None else spelled(one) for one in limits] == ["3", "9", None, "4"]
    assert arith.detect_clip_bound(te.all(X < Y), [X, Y]) == []


def test_sets_of_open_ends() -> None:
    found = arith.EvalSet(X + Z * 2, {X: arith.IntervalSet(Y, Y + 10)})
    at = {X: 0, Y: 7, Z: 3}
    assert (value(found.min_value, at), value(found.max_value, at)) == (13, 23)
    assert arith.EvalSet(X, {X: arith.IntSet.everything()}).is_everything()
    assert arith.IntervalSet(3, 2).is_nothing()
    assert arith.EvalSet(X + 1, {X: arith.IntervalSet(0, arith.int_set.pos_inf())}).max_value is arith.int_set.pos_inf()
