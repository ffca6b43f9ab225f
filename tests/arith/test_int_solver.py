"""Linear equations between expressions: the free variables run through the solutions, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from random import Random

import pytest
from index_values import value

from whence import arith, te, tir
from whence.te.language.expr import Compare, Const, Expr, Range, Var, convert

X, Y, Z, W, K = (te.var(name) for name in "xyzwk")
LOW, HIGH = -4, 6


At = dict[Var, int]


def points(ranges: Mapping[Var, Range]) -> list[At]:
    ends = [[value(convert(end), {}) for end in one] for one in ranges.values()]
    return [dict(zip(ranges, at, strict=True)) for at in product(*(range(low, low + count) for low, count in ends))]


def solutions(system: arith.IntConstraints, given: At) -> list[At]:
    assert set(system.variables) == set(system.ranges)
    found = [given | at for at in points(system.ranges)]
    return [at for at in found if all(value(relation, at) for relation in system.relations)]


def named(at: At) -> list[tuple[str, int]]:
    return sorted((var.name, number) for var, number in at.items())


def is_false(relations: Sequence[Expr]) -> bool:
    return [isinstance(one, Const) and not one.value for one in relations] == [True]


@pytest.mark.parametrize("seed", range(60))
def test_solutions_are_those_of_the_free_variables(seed: int):
    random = Random(seed)
    variables = [X, Y, Z, W][: random.randint(1, 4)]
    given = {K: random.randint(-5, 5)} if random.random() < 0.4 else {}

    def side() -> Expr:
        terms = [random.randint(-5, 5) * var for var in (*variables, *given)]
        return sum(terms, convert(random.randint(-6, 6)))

    kinds = ["eq", "eq", "eq", "le", "gt"]
    relations = [Compare(random.choice(kinds), side(), side()) for _ in range(random.randint(1, 3))]
    ranges = {var: arith.Range(LOW, HIGH) for var in variables}
    transform = arith.solve_linear_equations(relations, variables, ranges)
    wanted = solutions(transform.src, given)
    if not transform.src_to_dst:
        assert wanted == []
        assert is_false(transform.dst.relations)
        return
    free = solutions(transform.dst, given)
    back = [given | {var: value(expr, at) for var, expr in transform.src_to_dst.items()} for at in free]
    assert sorted(map(named, back)) == sorted(map(named, wanted))
    for at, old in zip(free, back, strict=True):
        assert {var: at[var] for var in transform.dst.variables} == {
            var: value(expr, old) for var, expr in transform.dst_to_src.items()
        }


def test_a_system_of_full_rank_has_numbers():
    transform = arith.solve_linear_equations([tir.EQ(X + Y, 14), tir.EQ(X - Y, 4)], [X, Y])
    assert transform.dst.variables == []
    assert {str(var): str(expr) for var, expr in transform.src_to_dst.items()} == {"x": "9", "y": "5"}


def test_parameters_keep_a_condition():
    transform = arith.solve_linear_equations([tir.EQ(X * 2, K + 1)], [X])
    assert [str(one) for one in transform.dst.relations] == ["(k + 1) % 2 == 0"]
    assert str(transform.src_to_dst[X]) == "(k + 1) // 2"


def test_a_system_without_solution_is_false():
    transform = arith.solve_linear_equations([tir.EQ(X + Y, 1), tir.EQ(X + Y, 2)], [X, Y])
    assert (transform.dst.variables, transform.src_to_dst, transform.dst_to_src) == ([], {}, {})
    assert is_false(transform.dst.relations)


def test_without_variables_nothing_changes():
    relations = [tir.EQ(X + Y, 1)]
    transform = arith.solve_linear_equations(relations)
    assert transform.src is transform.dst
    assert transform.src.relations == relations
