"""`rewrite_simplify`: each of its rules against all small numbers, and its results against all values."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from index_values import value

from whence import arith, te, tir
from whence.arith.rule_trees import Rule, Tree, table
from whence.support.errors import FrontendError
from whence.te.language.expr import Expr

LANES = 3
Vector = tuple[int, ...]
X, Y, Z = te.var("x"), te.var("y"), te.var("z")
RULES = [rule for rules in table().values() for rule in rules]


def towards_zero(a: int, b: int) -> int:
    return int(a / b)


def rest(a: int, b: int) -> int:
    return a - towards_zero(a, b) * b


def floored(a: int, b: int) -> int:
    return a // b


def both(a: int, b: int) -> bool:
    return bool(a and b)


def either(a: int, b: int) -> bool:
    return bool(a or b)


def choice(condition: int, a: int, b: int) -> int:
    return a if condition else b


LANEWISE: dict[str, Callable[..., Any]] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": floored, "floormod": operator.mod},
    **{"truncdiv": towards_zero, "truncmod": rest, "min": min, "max": max, "eq": operator.eq, "ne": operator.ne},
    **{"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "and": both, "or": either},
    **{"not": operator.not_, "select": choice, "if_then_else": choice},
}


def of(tree: Tree, names: dict[str, int]) -> Vector:
    """The lanes of a side of a rule, all the same of a scalar; the bounds of a value are the value."""
    match tree:
        case ("any" | "number", str() as name):
            return (names[name],) * LANES
        case ("literal", int() as number):
            return (number,) * LANES
        case ("wide" | "lo" | "hi", inner):
            return of(inner, names)
        case ("ramp", base, step):
            return tuple(b + s * lane for lane, (b, s) in enumerate(zip(of(base, names), of(step, names), strict=True)))
        case (name, *parts):
            return tuple(map(LANEWISE[name], *(of(part, names) for part in parts)))
        case _:
            raise AssertionError(tree)


def leaves(tree: Tree, truth: bool = False) -> Iterator[tuple[str, bool]]:
    """The names of a tree, and whether they are conditions."""
    if tree[0] in ("any", "number"):
        yield tree[1], truth
    elif tree[0] != "literal":
        for place, part in enumerate(tree[1:]):
            yield from leaves(
                part, tree[0] in ("and", "or", "not") or (tree[0] in ("select", "if_then_else") and not place)
            )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text)
def test_rules_hold_for_all_small_numbers(rule: Rule):
    kinds = dict(leaves(rule.pattern))
    draw, checked = random.Random(rule.text), 0
    ranges = [(False, True) if truth else range(-9, 10) if len(kinds) < 3 else range(-5, 7) for truth in kinds.values()]
    points = (
        list(itertools.product(*ranges)) if len(kinds) < 4 else [tuple(map(draw.choice, ranges)) for _ in range(3000)]
    )
    for point in points:
        names = dict(zip(kinds, point, strict=True))
        try:
            before = of(rule.pattern, names)
            if rule.condition is not None and not all(of(rule.condition, names)):
                continue
        except ZeroDivisionError:
            continue
        assert of(rule.result, names) == before, names
        checked += 1
    assert checked > 0


def a_random(draw: random.Random, depth: int) -> Expr:
    if depth == 0 or draw.random() < 0.1:
        return draw.choice([X, Y, Z, te.const(draw.randint(-6, 6))])
    a = a_random(draw, depth - 1)
    match draw.randrange(10):
        case 0 | 1:
            return a + a_random(draw, depth - 1)
        case 2 | 3:
            return a - a_random(draw, depth - 1)
        case 4:
            return a * draw.choice([-3, 2, 4, 8, Y])
        case 5 | 6:
            divide = draw.choice([te.floordiv, te.floormod, te.truncdiv, te.truncmod])
            return divide(a, draw.choice([2, 3, 4, 8, -3]))
        case 7:
            return te.select(a_condition(draw, depth - 1), a, a_random(draw, depth - 1))
        case _:
            return draw.choice([te.minimum, te.maximum])(a, a_random(draw, depth - 1))


def a_condition(draw: random.Random, depth: int) -> Expr:
    if depth > 0 and draw.random() < 0.4:
        joined = draw.choice([te.all, te.any])
        return joined(a_condition(draw, depth - 1), a_condition(draw, depth - 1))
    if depth > 0 and draw.random() < 0.1:
        return ~a_condition(draw, depth - 1)
    compare = draw.choice([operator.lt, operator.le, operator.gt, operator.ge, tir.EQ, tir.NE])
    return compare(a_random(draw, max(depth - 1, 0)), a_random(draw, max(depth - 1, 0)))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("bound", [False, True])
def test_results_are_equal_at_all_points(seed: int, bound: bool):
    draw = random.Random(seed)
    ends = {X: (-5, 6), Y: (0, 4), Z: (3, 4)}
    known = arith.Analyzer()
    if bound:
        for var, (low, high) in ends.items():
            known.bind(var, arith.Range(low, high + 1))
    points = [
        dict(zip(ends, at, strict=True)) for at in itertools.product(*(range(a, b + 1) for a, b in ends.values()))
    ]
    for number in range(25):
        expr = a_condition(draw, 3) if number % 3 == 0 else a_random(draw, 4)
        simple = known.rewrite_simplify(expr)
        assert [value(simple, at) for at in points] == [value(expr, at) for at in points], f"{expr} -> {simple}"


@pytest.mark.parametrize(
    ("expr", "simple"),
    [
        (X + 2 + 3 + 4 + X * 3, "x * 4 + 9"),
        (tir.min(X * -2, 4), "T.max(x, -2) * -2"),
        (X * 2 >= 3, "2 <= x"),
        ((X * 8 + 39) // 16, "x // 2 + 2"),
        (te.all(X // 8 == 3, X % 8 == 4), "x == 28"),
        (te.all(X < 20, X % 5 < 2), "x < 17 and x % 5 < 2"),
        (te.any(X <= Y, Y < X), "T.bool(True)"),
        (tir.Ramp(X * 8 + 1, 1, 4) // 8, "T.Broadcast(x, 4)"),
        (tir.Ramp(X * 8 + 15, 1, 4) // 8, "T.Ramp(x * 8 + 15, 1, 4) // T.Broadcast(8, 4)"),
        (tir.Ramp(X, 1, 4) + tir.Ramp(Y, 2, 4), "T.Ramp(x + y, 3, 4)"),
        (tir.Let(X, 1, X + 1) + tir.Let(X, 1, X + 1), "4"),
        (te.if_then_else(X > 2, te.if_then_else(X > 1, 1, 0), 0), "T.if_then_else(2 < x, 1, 0)"),
        (te.const(2, "float16").astype("int8"), "T.int8(2)"),
    ],
)
def test_results_are_as_simple_as_tvm_has_them(expr: Expr, simple: str):
    assert str(arith.Analyzer().rewrite_simplify(expr)) == simple


def test_conditions_count_in_their_scope():
    known = arith.Analyzer()
    with known.constraint_scope(te.all(X >= 0, X < 2, Y >= 0, Y < 7)):
        assert str(known.rewrite_simplify((X * 360 + Y) // 16)) == "x * 22"
    assert str(known.rewrite_simplify((X * 360 + Y) // 16)) == "(x * 360 + y) // 16"


def test_a_division_by_0_is_refused():
    for divide in (te.truncdiv, te.truncmod, te.floordiv, te.floormod):
        with pytest.raises(FrontendError, match="expected a divisor that is not 0"):
            arith.Analyzer().rewrite_simplify(divide(tir.Ramp(1, 1, 2), tir.Broadcast(0, 2)))


def test_deep_sums_are_rewritten():
    total: Any = X
    for _ in range(3000):
        total = total + 1
    assert str(arith.Analyzer().rewrite_simplify(total)) == "x + 3000"
