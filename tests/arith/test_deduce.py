"""Limits of variables in comparisons, against all values of these."""

from __future__ import annotations

import itertools
import random
from typing import Any

from index_values import value

from whence import arith, te
from whence.arith.int_set import neg_inf, pos_inf
from whence.te.language.expr import Compare, Expr, Not, compare

A, B, C, D = (te.var(name) for name in "abcd")
RANGES = {B: range(1, 4), C: range(-3, 0), D: range(-2, 3)}
SETS = {var: arith.IntervalSet(numbers[0], numbers[-1]) for var, numbers in RANGES.items()}


def side_of(draw: random.Random) -> Expr:
    """A sum in which `a` has a factor of known sign, or is in quotients."""
    factor = draw.choice([te.const(1), te.const(3), te.const(-2), B, C, B * 2 + 1, B * C])
    target: Expr = A * factor
    for _ in range(draw.randint(0, 2)):
        target = te.floordiv(target + draw.choice([B, D, te.const(2)]), draw.choice([2, 3, -4])) * draw.choice(
            [1, 1, -2]
        )
    return target + draw.choice([D, D * B, te.const(draw.randint(-4, 4))])


def compared(draw: random.Random) -> Compare:
    left, right = side_of(draw), draw.choice([C, te.const(draw.randint(-6, 6)), D * 2])
    if draw.random() < 0.5:
        left, right = right, left
    return compare(draw.choice(["lt", "le", "gt", "ge", "eq"]), left, right)


def test_a_comparison_holds_for_all_of_an_interval_and_for_nothing_beside_it() -> None:
    draw, seen, relaxed_seen, equations = random.Random(5), 0, 0, 0
    for _ in range(500):
        condition = compared(draw)
        relaxed = {var: SETS[var] for var in draw.sample(list(SETS), draw.randint(0, 2))}
        found = arith.deduce_bound(A, condition, SETS, relaxed)
        if found.is_nothing():
            continue
        kept = [var for var in RANGES if var not in relaxed]
        exact = True
        for numbers in itertools.product(*(RANGES[var] for var in kept)):
            at: dict[Any, int] = dict(zip(kept, numbers, strict=True))
            low = None if found.min_value is neg_inf() else value(found.min_value, at)
            high = None if found.max_value is pos_inf() else value(found.max_value, at)
            others = list(itertools.product(*(RANGES[var] for var in relaxed)))
            for a in range(-25, 26):
                points = [at | dict(zip(relaxed, other, strict=True)) | {A: a} for other in others]
                inside = (low is None or low <= a) and (high is None or a <= high)
                holds = all(value(condition, point) for point in points)
                assert holds or not inside, (condition, relaxed, found)
                exact = exact and holds == inside
        assert exact or relaxed, (condition, found)
        seen += 1
        relaxed_seen += bool(relaxed)
        equations += condition.op == "eq"
    assert seen > 200
    assert relaxed_seen > 100
    assert equations > 3


def test_what_cannot_be_told_is_nothing() -> None:
    for condition in (A + B, A * D > 3, te.floormod(A, 4) < 2, te.minimum(A, 3) < 2, A * A > 4, te.floordiv(8, A) > 1):
        assert arith.deduce_bound(A, condition, SETS, {}).is_nothing()
    assert arith.deduce_bound(A, A.equal(B), SETS, {B: SETS[B]}).is_nothing()
    assert arith.deduce_bound(A, (A * 4).equal(B), SETS, {}).is_nothing()
    point = arith.deduce_bound(A, (A * B).equal(B), SETS, {})
    assert (str(point.min_value), str(point.max_value)) == ("1", "1")


def test_coefficients_of_linear_equations() -> None:
    draw, n = random.Random(6), te.var("n")
    for _ in range(60):
        factors = [
            draw.choice([te.const(draw.randint(-3, 3)), n, n * 2 - 1, D * n, te.floordiv(n, 2)]) for _ in range(2)
        ]
        rest = draw.choice([n * D, te.const(4), te.floormod(n, 3) - D])
        found = arith.detect_linear_equation(A * factors[0] + (rest + B * factors[1]) + 3, [A, B])
        for numbers in itertools.product(range(-3, 4), repeat=2):
            at: dict[Any, int] = dict(zip((n, D), numbers, strict=True))
            assert [value(one, at) for one in found[:2]] == [value(one, at) for one in factors]
            assert value(found[2], at) == value(rest, at) + 3
    for nonlinear in (A * A, A * B, te.floordiv(A, 2) + B, te.maximum(A, 1)):
        assert arith.detect_linear_equation(nonlinear, [A, B]) == []


def test_limits_of_conjunctions() -> None:
    draw, seen = random.Random(7), 0
    for _ in range(200):
        parts: list[Expr] = []
        for _ in range(draw.randint(1, 3)):
            left = draw.choice([A, B]) * draw.choice([1, 1, 2, -3]) + draw.choice([C, te.const(1)])
            right = draw.choice([te.const(draw.randint(-3, 5)), C * 2])
            part = compare(draw.choice(["lt", "le", "gt", "ge", "eq"]), left, right)
            parts.append(Not(part) if draw.random() < 0.2 and part.op != "eq" else part)
        limits = arith.detect_clip_bound(te.all(*parts), [A, B])
        assert len(limits) == 4
        for c in range(-3, 4):
            ends = [None if one is None else value(one, {C: c}) for one in limits]
            for a, b in itertools.product(range(-8, 9), repeat=2):
                inside = all(
                    (low is None or low <= number) and (high is None or number <= high)
                    for number, low, high in ((a, *ends[:2]), (b, *ends[2:]))
                )
                assert inside == all(value(part, {A: a, B: b, C: c}) for part in parts), (parts, limits)
                seen += inside
    assert seen > 1000
    for unlimited in (A < B, A * C < 3, C < 3, te.floordiv(A, 2) < 3, A != 3):
        assert arith.detect_clip_bound(unlimited, [A, B]) == []
    both = arith.detect_clip_bound(te.all(te.minimum(A, B) > 3, te.maximum(A, 2) <= 5), [A, B])
    assert [str(one) for one in both] == ["4", "5", "4", "None"]
