"""Maps of indices, against all elements of small arrays."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from index_values import value

import whence
from whence import te
from whence.support.errors import FrontendError
from whence.te.language.expr import Expr
from whence.tir.index_map import IndexMap


def digits_of(draw: random.Random, extent: int, padded: bool) -> tuple[int, list[int]]:
    """An offset, and the extents of the digits of an index but the greatest."""
    factors: list[int] = []
    left = extent
    for _ in range(draw.randint(0, 2)):
        factor = (
            draw.choice([2, 3, 4]) if padded else draw.choice([one for one in range(1, left + 1) if left % one == 0])
        )
        factors.append(factor)
        left = -(-left // factor)
    return (draw.randint(0, 5) if padded else 0), factors


def layout_of(draw: random.Random, shape: list[int], padded: bool) -> Any:
    digits = [digits_of(draw, extent, padded) for extent in shape]
    order = list(range(sum(len(factors) + 1 for _, factors in digits)))
    draw.shuffle(order)

    def layout(*indices: Expr) -> list[Any]:
        results: list[Any] = []
        for index, (offset, factors) in zip(indices, digits, strict=True):
            rest: Any = index + offset
            for factor in factors:
                results.append(te.floormod(rest, factor))
                rest = te.floordiv(rest, factor)
            results.append(rest)
        return [results[at] for at in order]

    return layout


def points(shape: list[int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, shape)))


def numbers(indices: list[Expr]) -> tuple[int, ...]:
    return tuple(value(index, {}) for index in indices)


@pytest.mark.parametrize("padded", [False, True])
def test_maps_back_give_each_element_and_say_where_padding_is(padded: bool) -> None:
    draw, seen, paddings = random.Random(2), 0, 0
    for _ in range(150):
        shape = [draw.choice([1, 2, 3, 4, 6, 8, 9]) for _ in range(draw.randint(1, 2))]
        layout = layout_of(draw, shape, padded)
        made = IndexMap.from_func(layout, len(shape), index_dtype="int32")
        places = {at: numbers(made.map_indices(list(at))) for at in points(shape)}
        outer = list(numbers(made.map_shape(shape)))
        assert all(place < extent for at in places.values() for place, extent in zip(at, outer, strict=True))
        inverse, padding = made.non_surjective_inverse(shape)
        elements = {place: at for at, place in places.items()}
        for place in points(outer):
            assert value(padding, dict(zip(inverse.initial_indices, place, strict=True))) == (place not in elements)
        for place, at in elements.items():
            assert numbers(inverse.map_indices(list(place))) == at
        data = np.array([draw.randint(1, 99) for _ in places], "int16").reshape(shape)
        moved = made.map_ndarray(data).numpy()
        assert moved.shape == tuple(outer)
        expected = np.zeros(outer, "int16")
        for at, place in places.items():
            expected[place] = data[at]
        np.testing.assert_array_equal(moved, expected)
        if len(elements) == len(points(outer)):
            np.testing.assert_array_equal(made.inverse(shape).map_ndarray(moved), data)
        else:
            paddings += 1
            with pytest.raises(FrontendError, match="expected a bijective map, got padding where"):
                made.inverse(shape)
        seen += len(outer) > 2
    assert seen > 20
    assert paddings > 20 if padded else paddings == 0


def test_a_map_of_an_open_size() -> None:
    n = te.size_var("n")
    made = IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    inverse, padding = made.non_surjective_inverse([n])
    rows, columns = made.map_shape([n])
    for size in range(1, 14):
        assert value(rows, {n: size}) == -(-size // 4)
        assert value(columns, {n: size}) == 4
        for place in points([-(-size // 4), 4]):
            at = dict(zip(inverse.initial_indices, place, strict=True)) | {n: size}
            assert value(padding, at) == (place[0] * 4 + place[1] >= size)


def test_indices_have_the_dtype_of_what_is_mapped() -> None:
    made = IndexMap.from_func(lambda i, j: [j, i // 4, i % 4])
    assert [index.dtype for index in made.map_indices([te.const(9, "int32"), te.const(2, "int32")])] == ["int32"] * 3
    assert [index.dtype for index in made.map_indices([te.const(9, "int64"), te.const(2, "int64")])] == ["int64"] * 3
    assert str(made) == "(i, j) -> (j, i // T.int64(4), i % T.int64(4))"


def test_maps_are_equivalent_where_their_indices_are_equal() -> None:
    made = IndexMap.from_func(lambda i: [i // 4, i % 4])
    assert made.is_equivalent_to(IndexMap.from_func(lambda k: [(k + 4) // 4 - 1, k - k // 4 * 4]))
    assert not made.is_equivalent_to(IndexMap.from_func(lambda k: [k // 4, k % 8]))
    assert not made.is_equivalent_to(IndexMap.from_func(lambda k: [k // 4]))
    assert not made.is_equivalent_to(IndexMap.from_func(lambda k, m: [k // 4, k % 4]))


def test_separators_and_inverses_that_are_given() -> None:
    made, separators = IndexMap.from_func_with_separators(lambda i, j: [i, IndexMap.AXIS_SEPARATOR, j])
    assert (separators, len(made.final_indices)) == ([1], 2)
    both = IndexMap.from_func(turned, 2, lambda a, b: [b, a])
    assert both.inverse([3, 4]) is both.inverse_index_map
    assert whence.tir.IndexMap is IndexMap


def turned(*indices: Expr) -> list[Expr]:
    return list(reversed(indices))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: IndexMap.from_func(turned), "expected ndim, for a function of \\*indices, got none"),
        (lambda: IndexMap.from_func(lambda i: i, 2), "expected a function of 2 indices, got 1"),
        (lambda: IndexMap.from_func(lambda i: ["i"]), "expected expressions as the indices, got 'i'"),
        (lambda: IndexMap.from_func(lambda i: [i, IndexMap.AXIS_SEPARATOR, i]), "got axis separators"),
        (
            lambda: IndexMap.from_func(lambda i: [i]).map_indices([1, 2]),
            "expected 1 indices, got 2",
        ),
        (lambda: IndexMap.from_func(lambda i, j: [i * j]).inverse([2, 3]), "expected digits of indices, got"),
        (lambda: IndexMap.from_func(lambda i, j: [i]).inverse([2, 3]), "expected all indices, got no j"),
        (lambda: IndexMap.from_func(lambda i: [i % 4]).inverse([8]), "expected all digits of each iterator, got 4"),
        (lambda: IndexMap.from_func(lambda i: [i // 2]).inverse([8]), "got no digit of i at 1"),
        (
            lambda: IndexMap.from_func(lambda i, j: [i * 2 + j]).inverse([4, 4]),
            "sums that have each value once",
        ),
        (lambda: IndexMap.from_func(lambda i: [i - 1]).map_ndarray(np.zeros(3)), "got negative ones from"),
    ],
)
def test_errors(action: Callable[[], object], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        action()
