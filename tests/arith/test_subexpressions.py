"""Expressions that occur several times in one."""

from __future__ import annotations

import random
from collections import Counter

from whence import arith, te
from whence.te.language.expr import Expr
from whence.te.language.walks import children

X, Y, Z = te.var("x"), te.var("y"), te.var("z")


def test_the_greatest_common_expressions_are_counted():
    shared = X + Y * 2
    common = arith.detect_common_subexpr(shared * Z + (X + Y * 2) // 3 + Y * 2, 2)
    assert {str(expr): count for expr, count in common.items()} == {"x + y * 2": 2}
    assert common[X + Y * 2] == 2
    assert (X + Y) not in common


def test_a_part_counts_where_it_stands_elsewhere():
    common = arith.detect_common_subexpr((X + Y) * (X + Y) + Y * 2 + (Y * 2) // 3, 2)
    assert {str(expr): count for expr, count in common.items()} == {"x + y": 2, "y * 2": 2}


def occurrences(expr: Expr) -> Counter[str]:
    parts = children(expr)
    total = Counter([str(expr)] if parts else [])
    for part in parts:
        total += occurrences(part)
    return total


def test_random_expressions_have_what_is_counted():
    draw = random.Random(2)

    def a_random(depth: int) -> Expr:
        if depth == 0:
            return draw.choice([X, Y])
        return draw.choice([te.add, te.multiply, te.minimum])(a_random(depth - 1), a_random(draw.randrange(depth)))

    found = 0
    for _ in range(100):
        expr = a_random(5)
        everywhere = occurrences(expr)
        common = arith.detect_common_subexpr(expr, 2)
        assert len({str(one) for one in common}) == len(common)
        for one, count in common.items():
            assert 2 <= count <= everywhere[str(one)]
            found += 1
        # Whatever is repeated is counted, or part of what is.
        covered = set[str]().union(*(occurrences(one) for one in common))
        assert {text for text, count in everywhere.items() if count > 1} <= covered
    assert found > 50
