"""Intervals of expressions, of unions, and of the regions that loops reach, against all their points."""

from __future__ import annotations

import itertools
import random
from typing import Any

from index_values import value

from whence import arith, te, tir
from whence.arith.regions import domain_touched
from whence.te.language.expr import Expr

X, Y, N = te.var("x"), te.var("y"), te.size_var("n")


def term_of(draw: random.Random, depth: int) -> Expr:
    if depth == 0:
        return draw.choice([X, Y, N, te.const(draw.randint(-3, 6))])
    a, b = term_of(draw, depth - 1), term_of(draw, depth - 1)
    match draw.randrange(8):
        case 0:
            return a - b
        case 1:
            return a * draw.choice([-2, 3, N, Y])
        case 2:
            return draw.choice([te.floordiv, te.truncdiv])(a, draw.choice([2, 3, N + 1]))
        case 3:
            return draw.choice([te.floormod, te.truncmod])(a, draw.choice([2, 3, 16, N + 1]))
        case 4:
            return draw.choice([te.minimum, te.maximum])(a, b)
        case 5:
            return te.select(a < b, a, b + 1)
        case _:
            return a + b


def test_intervals_have_all_values_of_an_expression() -> None:
    draw, bounded = random.Random(6), 0
    for _ in range(300):
        expr = term_of(draw, draw.randint(1, 3))
        low, high = draw.randint(-4, 2), draw.randint(2, 8)
        found = arith.EvalSet(expr, {X: arith.IntervalSet(low, high), Y: arith.IntervalSet(N, N + 2)})
        ends = found.min_value, found.max_value
        bounded += arith.int_set.neg_inf() is not ends[0]
        for n in range(5):
            least, most = (
                None if end in (arith.int_set.neg_inf(), arith.int_set.pos_inf()) else value(end, {N: n})
                for end in ends
            )
            for x, y in itertools.product(range(low, high + 1), range(n, n + 3)):
                number = value(expr, {X: x, Y: y, N: n})
                assert least is None or least <= number, (expr, found)
                assert most is None or number <= most, (expr, found)
    assert bounded > 200


def test_a_union_has_no_number_that_none_of_its_sets_has() -> None:
    draw, whole = random.Random(7), 0
    for _ in range(200):
        ends = [sorted((draw.randint(0, 12), draw.randint(0, 12))) for _ in range(draw.randint(1, 4))]
        union = arith.union_lower_bound([arith.IntervalSet(*end) for end in ends])
        numbers = {number for low, high in ends for number in range(low, high + 1)}
        reached = set(range(value(union.min_value, {}), value(union.max_value, {}) + 1))
        assert reached <= numbers
        assert set(range(ends[0][0], ends[0][1] + 1)) <= reached
        runs = sum(number + 1 not in numbers for number in numbers)
        assert (runs > 1) == (reached != numbers)
        whole += runs == 1
    assert whole > 50
    assert arith.union_lower_bound([]).is_nothing()
    nothing = arith.IntSet.nothing()
    either = arith.union_lower_bound([nothing, arith.IntervalSet(N, N + 3), arith.IntervalSet(N + 4, N + 5)])
    assert (str(either.min_value), str(either.max_value)) == ("n", "n + 5")


def points_of(loops: dict[Any, int], predicate: Any) -> list[dict[Any, int]]:
    points = [dict(zip(loops, at, strict=True)) for at in itertools.product(*map(range, loops.values()))]
    return [at for at in points if predicate is True or value(predicate, at)]


def test_regions_are_reached_as_it_is_said() -> None:
    draw, exact, gaps = random.Random(11), 0, 0
    for _ in range(400):
        loops = {te.var("i"): draw.randint(1, 6), te.var("j"): draw.randint(1, 6)}
        i, j = loops
        choices = [i * draw.choice([1, 2, 3, 8, -2]), i + j, i * 4 + j, te.floordiv(i, 2), te.floormod(j, 3), 5 - j]
        region = [(draw.choice(choices), draw.randint(1, 4)) for _ in range(draw.randint(1, 2))]
        predicate: Any = draw.choice([True, True, i < draw.randint(1, 6), i * 4 + j < draw.randint(1, 12)])
        points = points_of(loops, predicate)
        ranges = [arith.Range.from_min_extent(start, extent) for start, extent in region]
        domain = {var: arith.Range(0, extent) for var, extent in loops.items()}
        reached: set[tuple[int, ...]] = set()
        for at in points:
            starts = [(value(start, at), extent) for start, extent in region]
            reached.update(itertools.product(*(range(start, start + extent) for start, extent in starts)))
        upper = arith.estimate_region_upper_bound(ranges, domain, predicate)
        boxes = [range(value(one.min_value, {}), value(one.max_value, {}) + 1) for one in upper]
        assert reached <= set(itertools.product(*boxes)), (region, loops, predicate)
        lower = arith.estimate_region_lower_bound(ranges, domain, predicate)
        if lower is None:
            gaps += 1
            continue
        boxes = [range(value(one.min_value, {}), value(one.max_value, {}) + 1) for one in lower]
        assert reached == set(itertools.product(*boxes)), (region, loops, predicate)
        exact += 1
    assert exact > 80
    assert gaps > 80


def test_the_touched_domain_of_a_buffer_is_the_hull_of_its_accesses():
    n, i, j = te.var("n"), te.var("i"), te.var("j")
    A, B = (tir.decl_buffer((20, n), name=name) for name in "AB")
    store = tir.BufferStore(A, B[19 - i, j] + A[i - 1, j * 2 + 1], [i, j])
    loops = tir.For(i, 2, 10, 0, tir.For(j, 0, n, 0, store))
    touched = [
        [(str(one.min), str(one.extent)) for one in domain_touched(loops, buffer, *which)]
        for buffer, which in itertools.product((A, B), ((True, False), (False, True), (True, True)))
    ]
    reads, writes, both = [("1", "10"), ("1", "n * 2 - 1")], [("2", "10"), ("0", "n")], ("1", "11")
    assert touched[:2] == [reads, writes]
    assert touched[2][0] == both
    assert touched[3:] == [[("8", "10"), ("0", "n")], [], [("8", "10"), ("0", "n")]]
