"""Maps of iterators, against all iterations of small loop nests."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from index_values import value

from whence import arith, te
from whence.arith.iter_map import is_number
from whence.support.errors import FrontendError
from whence.te.language.expr import Expr, Var
from whence.te.language.walks import walk

Loops = dict[Var, tuple[int, int]]
"""Each loop's start and extent."""


def loops_of(draw: random.Random) -> Loops:
    count = draw.randint(1, 3)
    return {
        te.var(f"i{at}"): (draw.choice([0, 0, 0, 2, -3]), draw.choice([1, 2, 3, 4, 5, 6, 8])) for at in range(count)
    }


def domain(loops: Loops) -> dict[Var, arith.Range]:
    return {var: arith.Range.from_min_extent(start, extent) for var, (start, extent) in loops.items()}


def iterations(loops: Loops, predicate: Expr | bool = True) -> list[dict[Any, int]]:
    ranges = [range(start, start + extent) for start, extent in loops.values()]
    points = [dict(zip(loops, at, strict=True)) for at in itertools.product(*ranges)]
    return [at for at in points if predicate is True or value(te.all(predicate), at)]


def fused_of(draw: random.Random, loops: Loops) -> Expr:
    """A sum of loops that mostly has each value once."""
    total, step = te.const(draw.randint(-4, 4)), draw.choice([1, 1, 1, 2, 3])
    for var in draw.sample(list(loops), draw.randint(1, len(loops))):
        total = total + var * step
        step *= max(1, loops[var][1] + draw.choice([0, 0, 0, 0, -1, 1]))
    return total


def index_of(draw: random.Random, loops: Loops) -> Expr:
    index = fused_of(draw, loops) if draw.random() < 0.8 else draw.choice(list(loops))
    for _ in range(draw.randint(0, 2)):
        index = draw.choice([te.floordiv, te.floormod])(index + draw.randint(-2, 3), draw.choice([2, 3, 4, 6, 8]))
    return index + fused_of(draw, loops) * draw.choice([1, 8]) if draw.random() < 0.1 else index


def predicate_of(draw: random.Random, loops: Loops) -> Expr | bool:
    if draw.random() < 0.5:
        return True
    limits: list[Expr] = []
    for _ in range(draw.randint(1, 2)):
        index = fused_of(draw, loops)
        values = [value(index, at) for at in iterations(loops)]
        edge = draw.randint(min(values), max(values))
        limits.append(draw.choice([index < edge + 1, index <= edge, index >= edge, te.const(edge) <= index]))
    return te.all(*limits)


def number(expr: Expr) -> int:
    return value(expr, {})


def reached(index: Any) -> range:
    """The values that an index has, as its digit says."""
    start = number(index.base)
    if not index.args:
        return range(start, start + 1)
    digit = index.args[0]
    scale = number(digit.scale)
    return range(start, start + scale * number(digit.extent), scale)


def test_each_detected_map_is_what_its_level_says() -> None:
    draw, counts, scale = random.Random(3), {"surjective": 0, "bijective": 0}, 0
    for _ in range(1500):
        loops, level = loops_of(draw), draw.choice(["surjective", "bijective"])
        indices = [index_of(draw, loops) for _ in range(draw.randint(1, 3))]
        predicate = predicate_of(draw, loops)
        result = arith.detect_iter_map(indices, domain(loops), predicate, level, draw.random() < 0.5)
        if not result.indices:
            assert result.errors
            continue
        points = iterations(loops, predicate)
        where = f"{indices} over {loops} where {predicate}: {result.indices}"
        plain = [arith.normalize_iter_map_to_expr(index) for index in result.indices]
        for index, simple in zip(indices, plain, strict=True):
            assert [value(simple, at) for at in points] == [value(index, at) for at in points], where
        got = [tuple(value(index, at) for index in indices) for at in points]
        assert set(got) == set(itertools.product(*map(reached, result.indices))), where
        if level == "bijective":
            assert len(set(got)) == len(got), where
        counts[level] += 1
        scale += any(index.args and not is_number(index.args[0].scale, 1) for index in result.indices)
    assert min(counts.values()) > 60, counts
    assert scale > 20


def test_all_splits_of_a_fused_nest_are_detected() -> None:
    draw = random.Random(5)
    for _ in range(60):
        loops = {te.var(f"i{at}"): (0, draw.choice([2, 3, 4, 6])) for at in range(draw.randint(1, 4))}
        fused, size = te.const(0), 1
        for var, (_, extent) in loops.items():
            fused, size = fused * extent + var, size * extent
        indices: list[Expr] = []
        rest, left = fused, size
        while left > 1:
            factor = draw.choice([one for one in range(2, left + 1) if left % one == 0])
            indices.append(te.floormod(rest, factor))
            rest, left = te.floordiv(rest, factor), left // factor
        draw.shuffle(indices)
        result = arith.detect_iter_map(indices, domain(loops), check_level="bijective")
        assert result.indices, (result.errors, indices)
        outputs = [te.var(f"o{at}") for at in range(len(indices))]
        inverse = arith.inverse_affine_iter_map(result.indices, outputs)
        for at in iterations(loops):
            given = {output: value(index, at) for output, index in zip(outputs, indices, strict=True)}
            assert {var: value(loop, given) for var, loop in inverse.items()} == at


def test_inverses_of_bijective_maps_give_the_loops_back() -> None:
    draw, seen = random.Random(8), 0
    for _ in range(800):
        loops, predicate = loops_of(draw), True
        indices = [index_of(draw, loops) for _ in range(draw.randint(1, 3))]
        result = arith.detect_iter_map(indices, domain(loops), predicate, "bijective")
        if not result.indices:
            continue
        outputs = [te.var(f"o{at}") for at in range(len(indices))]
        inverse = arith.inverse_affine_iter_map(result.indices, outputs)
        assert set(inverse) == {var for var, (_, extent) in loops.items() if extent > 1}
        for at in iterations(loops):
            given = {output: value(index, at) for output, index in zip(outputs, indices, strict=True)}
            assert all(value(loop, given) == at[var] for var, loop in inverse.items()), (indices, inverse)
        seen += len(inverse) > 1
    assert seen > 20


def variables(expr: Expr, loops: Loops) -> set[Any]:
    return {node for node in walk([expr]) if node in loops}


def test_inner_and_outer_parts_make_the_bindings() -> None:
    draw, seen, limited = random.Random(9), 0, 0
    for _ in range(1500):
        loops = loops_of(draw)
        predicate = predicate_of(draw, loops)
        inner = set(draw.sample(list(loops), draw.randint(1, len(loops))))
        bindings = [index_of(draw, loops) for _ in range(draw.randint(1, 2))]
        divided = arith.subspace_divide(bindings, domain(loops), list(inner), predicate)
        if not divided:
            continue
        *parts, (outer_limit, inner_limit) = divided
        assert not variables(outer_limit.extent, loops) & inner
        assert variables(inner_limit.extent, loops) <= inner
        where = f"{bindings} over {loops} where {predicate}, inner {inner}: {divided}"
        for at in iterations(loops):
            holds = predicate is True or value(te.all(predicate), at)
            assert holds == (value(outer_limit.extent, at) and value(inner_limit.extent, at)), where
        for binding, (outer, within) in zip(bindings, parts, strict=True):
            high, low = (arith.normalize_iter_map_to_expr(part.source) for part in (outer, within))
            assert not variables(high, loops) & inner, where
            assert variables(low, loops) <= inner, where
            for at in iterations(loops, predicate):
                total = value(high, at) * number(within.extent) + value(low, at)
                assert total == value(binding, at), where
        seen += any(variables(arith.normalize_iter_map_to_expr(outer.source), loops) for outer, _ in parts)
        limited += predicate is not True
    assert seen > 50
    assert limited > 20


def test_sums_of_any_expression_are_equal_to_it() -> None:
    draw = random.Random(10)
    for _ in range(300):
        loops = loops_of(draw)
        index = index_of(draw, loops) + te.minimum(index_of(draw, loops), 2) * 3
        simple = arith.normalize_iter_map_to_expr(arith.normalize_to_iter_sum(index, domain(loops)))
        (again,) = arith.iter_map_simplify([index], domain(loops))
        for at in iterations(loops):
            assert value(simple, at) == value(again, at) == value(index, at), (index, simple, again)


def test_sizes_that_are_not_known_divide_one_another() -> None:
    x, y, n = te.var("x", "int64"), te.var("y", "int64"), te.size_var("n", "int64")
    flat = x * n + y
    loops = {x: arith.Range(0, n * 4), y: arith.Range(0, n)}
    parts = [te.floordiv(flat, n * n), te.floordiv(te.floormod(flat, n * n), n), te.floormod(flat, n)]
    result = arith.detect_iter_map(parts, loops, check_level="bijective")
    assert [str(index.args[0].extent) for index in result.indices] == ["T.int64(4)", "n", "n"]
    (simple,) = arith.iter_map_simplify([(parts[0] * n + parts[1]) * n + parts[2]], loops)
    assert str(simple) == "x * n + y"
    assert not arith.detect_iter_map([te.floordiv(flat, n + 1), te.floormod(flat, n + 1)], loops).indices


def test_errors_say_what_is_in_the_way() -> None:
    x, y = te.var("x"), te.var("y")
    loops = {x: arith.Range(0, 4), y: arith.Range(0, 3)}
    for indices, message in (
        ([x * y], "expected sums, and quotients and rests by numbers, of loops, got x * y"),
        ([x * 4 + y], "expected a scale of at most 3, got 4: there are gaps in the sum"),
        ([x, x + 1], "expected independent iterators, got x beside another part of it"),
        ([te.floordiv(x, y)], "of loops, got x // y"),
        ([te.floordiv(x, -2)], "expected a positive divisor, got -2"),
    ):
        (error,) = arith.detect_iter_map(indices, loops).errors
        assert message in error
    with pytest.raises(ValueError, match="expected one of bijective, surjective, nocheck as a level, got 'injective'"):
        arith.detect_iter_map([x], loops, check_level="injective")
    with pytest.raises(FrontendError, match="expected 1 outputs, got 2"):
        arith.inverse_affine_iter_map(arith.detect_iter_map([x], loops).indices, [x, y])


def test_a_long_sum_does_not_recurse() -> None:
    x = te.var("x")
    total: Expr = x
    for _ in range(20_000):
        total = total + 1
    (index,) = arith.detect_iter_map([total], {x: arith.Range(0, 4)}).indices
    assert is_number(index.base, 20_000)
