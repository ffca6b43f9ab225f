"""Conditions without some variables, against all their values."""

from __future__ import annotations

import itertools
import random

from index_values import value

from whence import arith, te
from whence.te.language.expr import Expr, Not, Var
from whence.te.language.walks import walk

P, J, N, M = (te.var(name) for name in "ijnm")
FREE = {N: arith.Range(0, 4), M: arith.Range(-2, 1)}


def term_of(draw: random.Random, depth: int) -> Expr:
    if depth == 0:
        return draw.choice([P, J, N, M, te.const(draw.randint(-3, 3))])
    a, b = term_of(draw, depth - 1), term_of(draw, depth - 1)
    match draw.randrange(6):
        case 0:
            return a - b
        case 1:
            return a * draw.choice([-2, 0, 3])
        case 2:
            return te.floordiv(a, draw.choice([-3, 2]))
        case 3:
            return draw.choice([te.minimum, te.maximum])(a, b)
        case 4:
            return te.truncdiv(a, draw.choice([-2, 3]))
        case _:
            return a + b


def condition_of(draw: random.Random, depth: int) -> Expr:
    if depth == 0:
        a, b = term_of(draw, 1), term_of(draw, 2)
        if draw.random() < 0.1:
            a = te.floormod(a, 3)
        return draw.choice([a < b, a <= b, a > b, a >= b, a.equal(b), a != b])
    a, b = condition_of(draw, depth - 1), condition_of(draw, depth - 1)
    return draw.choice([te.all(a, b), te.any(a, b), Not(a)])


def test_a_narrow_condition_holds_for_all_values_or_not_at_all() -> None:
    draw, held = random.Random(1), 0
    for _ in range(400):
        condition = condition_of(draw, draw.randint(0, 2))
        narrow = arith.narrow_predicate_expression(condition, FREE)
        assert not {N, M} & {node for node in walk([narrow]) if isinstance(node, Var)}
        for i, j in itertools.product(range(-3, 5), repeat=2):
            if value(narrow, {P: i, J: j}):
                held += 1
                points = [{P: i, J: j, N: n, M: m} for n in range(4) for m in range(-2, 1)]
                assert all(value(condition, at) for at in points), (condition, narrow)
    assert held > 2000


def test_the_ends_of_ranges_are_written_as_they_stand() -> None:
    for condition, expected in (
        (P > N, "i > 3"),
        ((P + N).equal(3), "i + 3 <= 3 and 3 <= i + 0"),
        (P - N < 10, "i - 0 < 10"),
        (Not(P < N), "not i < 3"),
        (te.floormod(P, 8).equal(N), "T.bool(False)"),
        (te.floordiv(P, N).equal(0), "T.bool(False)"),
        (te.any(Not(te.floormod(P, N) > 0), P <= N), "T.bool(False) or i <= 0"),
    ):
        assert str(arith.narrow_predicate_expression(condition, FREE)) == expected
