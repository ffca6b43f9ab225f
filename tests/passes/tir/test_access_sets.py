"""Exact answers about affine accesses, against all points of random loop nests."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from whence.passes.tir.analysis.access_sets import MOST, AccessSet, missing

NESTS = 100
Element = tuple[int, ...]


def expression(draw: random.Random, variables: int) -> AffineExpr:
    expr: AffineExpr = AffineConstantExpr(draw.randint(-1, 2))
    for i in range(variables):
        if draw.random() < 0.6:
            expr = expr + AffineDimExpr(i) * draw.choice([1, 1, 2, 3, 4, -1])
    kind = draw.random()
    if kind < 0.2:
        return expr // draw.choice([2, 3])
    return expr % draw.choice([2, 3, 4, 8]) if kind < 0.4 else expr


def nest(draw: random.Random, ranges: tuple[tuple[int, int], ...], dims: int) -> AccessSet:
    map = tuple(expression(draw, len(ranges)) for _ in range(dims))
    return AccessSet(ranges, map, tuple(expression(draw, len(ranges)) for _ in range(draw.randint(0, 1))))


def points(accesses: AccessSet) -> Iterator[tuple[Element, Element]]:
    """The variables and the element of each access that happens."""
    for values in itertools.product(*(range(first, last + 1) for first, last in accesses.ranges)):
        if all(condition.eval(values, []) >= 0 for condition in accesses.conditions):
            yield values, tuple(expr.eval(values, []) for expr in accesses.map)


@pytest.mark.parametrize("seed", range(3))
def test_random_nests(seed: int) -> None:
    draw = random.Random(seed)
    gaps = 0
    for _ in range(NESTS):
        variables, dims = draw.randint(1, 3), draw.randint(1, 2)
        ranges = tuple((0, draw.randint(0, 4)) for _ in range(variables))

        left = nest(draw, ranges, dims)
        right = left if draw.random() < 0.5 else nest(draw, ranges, dims)
        mine, theirs = list(points(left)), list(points(right))
        touched = {element for _, element in (*mine, *theirs)}
        shape = [max((element[dim] + 1 for element in touched), default=1) for dim in range(dims)]
        if all(index >= 0 for element in touched for index in element) and min(shape) > 0:
            whole = itertools.product(*map(range, shape))
            first = next((element for element in whole if element not in touched), None)
            assert missing([left, right], shape) == first, (left, right, shape)
            gaps += first is not None
    assert gaps > NESTS // 10


def test_dimensions_apart_are_looked_at_apart() -> None:
    """A nest of far more points than may be looked at."""
    i, j, k = (AffineDimExpr(number) for number in range(3))
    size = MOST // 64
    ranges = ((0, size - 1), (0, size - 1), (0, 1))
    both = AccessSet(ranges, (i, j * 2 + k))
    assert missing([both], (size, 2 * size)) is None
    assert missing([AccessSet(ranges, (i, j * 2 + k * 2))], (size, 2 * size)) == (0, 1)
