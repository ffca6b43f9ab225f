"""Linear inequalities: the solved system has the same solutions, and all its variables have ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

import pytest
from index_values import value

from whence import arith, te, tir
from whence.te.language.expr import Compare, Const, Expr, Var, convert

VARIABLES = X, Y, Z, W = tuple(te.var(name) for name in "xyzw")
K = te.var("k")
LOW, HIGH = -4, 6
FAR = 9
At = dict[Var, int]


def holds(system: arith.IntConstraints, at: At) -> bool:
    """Return whether a point is in the ranges of a system, and fulfils its relations."""
    inside = all(
        value(convert(one.min), at) <= at[var] < value(convert(one.min), at) + value(convert(one.extent), at)
        for var, one in system.ranges.items()
    )
    return inside and all(bool(value(relation, at)) for relation in system.relations)


def points(system: arith.IntConstraints, given: At) -> Iterator[At]:
    """The solutions of a system whose variables all have ranges, from the last variable on."""

    def run(left: Sequence[Var], at: At) -> Iterator[At]:
        if not left:
            if holds(system, at):
                yield at
            return
        *rest, var = left
        low = value(convert(system.ranges[var].min), at)
        for number in range(low, low + value(convert(system.ranges[var].extent), at)):
            yield from run(rest, at | {var: number})

    yield from run(list(system.variables), given)


def named(at: At) -> tuple[int, ...]:
    return tuple(at[var] for var in VARIABLES if var in at)


def is_false(relations: Sequence[Expr]) -> bool:
    return [isinstance(one, Const) and not one.value for one in relations] == [True]


def random_system(random: Random) -> tuple[list[Var], list[Expr], At]:
    variables = list(VARIABLES[: random.randint(1, 4)])
    given = {K: random.randint(-5, 5)} if random.random() < 0.4 else {}
    most = 3 if len(variables) < 4 else 2

    def side() -> Expr:
        terms = [random.randint(-most, most) * var for var in (*variables, *given)]
        return sum(terms, convert(random.randint(-6, 6)))

    kinds = ["le", "lt", "ge", "gt", "ge", "eq"]
    return variables, [Compare(random.choice(kinds), side(), side()) for _ in range(random.randint(1, 4))], given


@pytest.mark.parametrize("seed", range(80))
def test_solutions_are_those_of_the_ranges_and_relations(seed: int):
    variables, relations, given = random_system(Random(seed))
    ranges = {var: arith.Range(LOW, HIGH if len(variables) < 4 else LOW + 6) for var in variables}
    src = arith.IntConstraints(variables, ranges, relations)
    wanted = {named(at) for at in points(src, given)}
    solved = arith.solve_linear_inequalities(relations, variables, ranges)
    transform = arith.solve_linear_inequalities(src, deskew_range=True)
    if not solved.variables:
        assert not wanted
        assert is_false(solved.relations)
        assert is_false(transform.dst.relations)
        return
    assert list(solved.ranges) == variables
    found = [named(at) for at in points(solved, given)]
    assert set(found) == wanted
    assert len(found) == len(wanted)
    conditions = arith._ffi_api.SolveInequalitiesAsCondition(variables, ranges, relations)  # pyright: ignore
    random = Random(seed)
    for _ in range(200):
        at = given | {var: random.randint(LOW - 1, HIGH) for var in variables}
        assert all(value(one, at) for one in conditions) == (named(at) in wanted)
    if is_false(transform.dst.relations):
        assert not wanted
        return
    assert all(value(convert(one.min), {}) == 0 for one in transform.dst.ranges.values())
    back: list[tuple[int, ...]] = []
    for at in points(transform.dst, given):
        old = given | {var: value(expr, at) for var, expr in transform.src_to_dst.items()}
        assert {var: value(expr, old) for var, expr in transform.dst_to_src.items()} == {
            var: at[var] for var in transform.dst.variables
        }
        back.append(named(old))
    assert sorted(back) == sorted(wanted)


@pytest.mark.parametrize("seed", range(40))
def test_systems_without_ranges_keep_their_solutions(seed: int):
    variables, relations, given = random_system(Random(1000 + seed))
    variables = variables[:3]
    given |= {var: 1 for var in (Z, W) if var not in variables}
    far = FAR if len(variables) < 3 else LOW + 9
    src = arith.IntConstraints(variables, {}, relations)
    solved = arith.solve_linear_inequalities(src)
    for numbers in product(range(-far, far), repeat=len(variables)):
        at = given | dict(zip(variables, numbers, strict=True))
        assert holds(solved, at) == holds(src, at)


def test_the_bounds_of_a_variable_are_over_later_ones():
    ranges = {X: arith.Range(-100, 100), Y: arith.Range(0, 10)}
    problem = [X + Y <= 20, X - Y >= 10]
    conditions = arith._ffi_api.SolveInequalitiesAsCondition([X, Y], ranges, problem)  # pyright: ignore
    assert [str(one) for one in conditions] == ["x >= y + 10", "x <= 20 - y", "y >= 0", "y <= 5"]
    solved = arith.solve_linear_inequalities(problem, [X, Y], ranges)
    assert {var.name: tuple(map(str, one)) for var, one in solved.ranges.items()} == {
        "x": ("y + 10", "11"),
        "y": ("0", "6"),
    }
    transform = arith.solve_linear_inequalities(problem, [X, Y], ranges, deskew_range=True)
    assert [var.name for var in transform.dst.variables] == ["x.shifted", "y.shifted"]
    assert len(transform.dst.relations) == 1


def test_a_bound_that_matters_at_one_point_is_kept():
    ranges = {X: arith.Range(0, 6), Y: arith.Range(0, 3)}
    for least, kept in ((1, 1), (2, 0)):
        solved = arith.solve_linear_inequalities([X >= Y - least], [X, Y], ranges)
        assert len(solved.relations) == kept
        assert len(list(points(solved, {}))) == 18 - kept


def test_ranges_of_parameters_and_of_sizes():
    """The number of elements of a row that a tile of 4 reaches, for any row of n."""
    n, tile = te.size_var("n"), te.var("tile")
    solved = arith.solve_linear_inequalities(
        [tile * 4 + X < n], [X, tile], {X: arith.Range(0, 4), tile: arith.Range(0, (n + 3) // 4)}
    )
    assert list(solved.ranges) == [X, tile]
    for size in range(12):
        found = [at[tile] * 4 + at[X] for at in points(solved, {n: size})]
        assert sorted(found) == list(range(size))


def test_one_solution_leaves_no_variables():
    problem = [X + Y >= 10, X - Y >= 2, tir.LE(X, 6)]
    solved = arith.solve_linear_inequalities(problem, [X, Y])
    assert [tuple(map(str, solved.ranges[var])) for var in (X, Y)] == [("6", "1"), ("4", "1")]
    transform = arith.solve_linear_inequalities(problem, [X, Y], deskew_range=True)
    assert (transform.dst.variables, transform.dst.ranges, transform.dst.relations) == ([], {}, [])
    assert {var.name: str(expr) for var, expr in transform.src_to_dst.items()} == {"x": "6", "y": "4"}


def test_products_of_variables_are_relations():
    problem = [tir.LE(X, 6), tir.GE(X, 6), tir.GE(X - Z * Y, 0), tir.LE(X - Z * Y, 0)]
    solved = arith.solve_linear_inequalities(problem, [X, Y, Z])
    assert tuple(map(str, solved.ranges[X])) == ("6", "1")
    assert isinstance(solved.relations[0], Compare)
    assert solved.relations[0].op == "eq"
    for numbers in product(range(-7, 8), repeat=3):
        at = dict(zip((X, Y, Z), numbers, strict=True))
        assert holds(solved, at) == all(bool(value(one, at)) for one in problem)
    transform = arith.solve_linear_inequalities(problem, [X, Y, Z], deskew_range=True)
    assert {var.name: str(expr) for var, expr in transform.src_to_dst.items()} == {"x": "6", "y": "y", "z": "z"}


def test_a_system_without_solution_is_false():
    ranges = {X: arith.Range(-20, 21)}
    problem = [-X - 4 <= -5 * X + 2, X * 4 + 5 <= X * 5]
    solved = arith.solve_linear_inequalities(problem, [X], ranges)
    assert (solved.variables, solved.ranges) == ([], {})
    assert is_false(solved.relations)
    transform = arith.solve_linear_inequalities(problem, [X], ranges, deskew_range=True)
    assert (transform.dst.variables, transform.src_to_dst, transform.dst_to_src) == ([], {}, {})


def test_many_variables_end():
    random = Random(3)
    variables = [te.var(f"v{number}") for number in range(10)]
    ranges = {var: arith.Range(0, 5) for var in variables}
    relations = [
        Compare(
            "le", sum((random.randint(-1, 1) * var for var in variables), convert(0)), convert(random.randint(-2, 2))
        )
        for _ in range(5)
    ]
    solved = arith.solve_linear_inequalities(relations, variables, ranges)
    src = arith.IntConstraints(variables, ranges, relations)
    kept = 0
    for _ in range(1500):
        at = {var: random.randint(-1, 5) for var in variables}
        assert holds(solved, at) == holds(src, at)
        kept += holds(src, at)
    assert kept
