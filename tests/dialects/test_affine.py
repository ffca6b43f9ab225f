"""Index arithmetic against direct evaluation at every point of small random ranges."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.parser import Parser

from whence.dialects.affine import (
    Linear,
    Range,
    bounds,
    flatten,
    linear,
    linear_bounds,
    malformed,
    simplify,
    spell,
    substitute,
)
from whence.dialects.sizes import Size, common_divisor, evaluate, product, same
from whence.dialects.sizes.kernel import kernel_size, lifted

DIMS = 3
D = [AffineExpr.dimension(i) for i in range(DIMS)]
FACTORS = st.sampled_from([1, 2, 3, 4, 6, 7, 8, 12])
UNKNOWN: Range = (-(1 << 62), 1 << 62)


def _grow(inner: st.SearchStrategy[AffineExpr]) -> st.SearchStrategy[AffineExpr]:
    def divide(args: tuple[AffineExpr, int, int]) -> AffineExpr:
        lhs, factor, kind = args
        return (lhs // factor, lhs % factor, lhs.ceil_div(factor))[kind]

    return st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, st.integers(-9, 9)).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, FACTORS).map(lambda pair: (pair[0] // pair[1]) * pair[1] + pair[0] % pair[1]),
        st.tuples(inner, FACTORS, st.integers(0, 2)).map(divide),
    )


EXPRESSIONS = st.recursive(
    st.one_of(st.integers(0, DIMS - 1).map(AffineExpr.dimension), st.integers(-40, 40).map(AffineExpr.constant)),
    _grow,
    max_leaves=8,
)
RANGES = st.tuples(*[st.tuples(st.integers(-5, 3), st.integers(0, 4)).map(lambda r: (r[0], r[0] + r[1]))] * DIMS)


def points(ranges: tuple[Range, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(low, high + 1) for low, high in ranges))


@pytest.mark.parametrize("divisor", [2, 7])
def test_bounds_of_what_is_left_over_are_exact(divisor: int) -> None:
    ranges = ((0, 20),) * DIMS
    assert bounds(D[0] % divisor, ranges) == (0, divisor - 1)
    assert bounds(D[0] % divisor * 3 + D[1] // divisor, ranges) == (0, 3 * (divisor - 1) + 20 // divisor)


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, RANGES)
def test_simplified_expression_has_the_same_values(expr: AffineExpr, ranges: tuple[Range, ...]) -> None:
    simple = simplify(expr, ranges)
    for point in points(ranges):
        assert simple.eval(point, ()) == expr.eval(point, ()), point


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, RANGES)
def test_simplification_without_ranges_holds_everywhere(expr: AffineExpr, ranges: tuple[Range, ...]) -> None:
    simple = simplify(expr, (UNKNOWN,) * DIMS)
    for point in points(ranges):
        assert simple.eval(point, ()) == expr.eval(point, ()), point


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, RANGES)
def test_simplification_is_stable(expr: AffineExpr, ranges: tuple[Range, ...]) -> None:
    once = simplify(expr, ranges)
    assert simplify(once, ranges) == once


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, RANGES)
def test_bounds_contain_every_value(expr: AffineExpr, ranges: tuple[Range, ...]) -> None:
    low, high = bounds(expr, ranges)
    values = [expr.eval(point, ()) for point in points(ranges)]
    assert low <= min(values)
    assert max(values) <= high


@settings(max_examples=100, deadline=None)
@given(st.tuples(*[st.integers(-9, 9)] * DIMS), st.integers(-40, 40), RANGES)
def test_bounds_of_independent_dims_are_exact(
    factors: tuple[int, ...], constant: int, ranges: tuple[Range, ...]
) -> None:
    expr = flatten(D, factors) + constant
    values = [expr.eval(point, ()) for point in points(ranges)]
    assert bounds(expr, ranges) == (min(values), max(values))


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, RANGES, st.integers(0, DIMS - 1))
def test_coefficient_is_the_slope_along_a_dim(expr: AffineExpr, ranges: tuple[Range, ...], dim: int) -> None:
    slope = linear(expr, ranges).coefficient(dim)
    if slope is None:
        return
    for point in points(ranges):
        after = tuple(x + (i == dim) for i, x in enumerate(point))
        if after[dim] <= ranges[dim][1]:
            assert expr.eval(after, ()) - expr.eval(point, ()) == slope


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, RANGES, st.booleans())
def test_spelling_is_read_back(expr: AffineExpr, ranges: tuple[Range, ...], simple: bool) -> None:
    shown = simplify(expr, ranges) if simple else expr
    text = f"affine_map<(i, j, k) -> ({spell(shown, ['i', 'j', 'k'])})>"
    map = Parser(Context(), text).parse_attribute()
    assert isinstance(map, AffineMapAttr)
    read = map.data.results[0]
    for point in points(ranges):
        assert read.eval(point, ()) == expr.eval(point, ()), text


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, st.tuples(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS), RANGES)
def test_substitution_composes(expr: AffineExpr, dims: tuple[AffineExpr, ...], ranges: tuple[Range, ...]) -> None:
    composed = substitute(expr, dims)
    for point in points(ranges):
        assert composed.eval(point, ()) == expr.eval([dim.eval(point, ()) for dim in dims], ())


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, st.integers(-4, 4), RANGES)
def test_linear_forms_add(a: AffineExpr, b: AffineExpr, factor: int, ranges: tuple[Range, ...]) -> None:
    total = linear(a, ranges).plus(linear(b, ranges), factor)
    low, high = linear_bounds(total, ranges)
    for point in points(ranges):
        value = a.eval(point, ()) + factor * b.eval(point, ())
        assert total.expr.eval(point, ()) == value
        assert low <= value <= high


def text(expr: AffineExpr, *ranges: Range) -> str:
    return spell(simplify(expr, ranges), ["i", "j", "k"])


A, B, C = D
X = A * 7 + B
"""With `j` unbounded no range makes its parts simpler."""


@pytest.mark.parametrize(
    ("expr", "ranges", "expected"),
    [
        ((A * 28 + B) // 28, ((0, 9), (0, 27)), "i"),
        ((A * 28 + B) % 28, ((0, 9), (0, 27)), "j"),
        ((A * 28 + B) // 56, ((0, 9), (0, 27)), "i floordiv 2"),
        ((A * 28 + B) % 56, ((0, 9), (0, 27)), "(i mod 2) * 28 + j"),
        ((A * 28 + B + 28) // 28, ((0, 9), (0, 27)), "i + 1"),
        ((A * 28 - B) // 28, ((0, 9), (1, 28)), "i - 1"),
        ((X // 7) * 7 + X % 7, (UNKNOWN, UNKNOWN), "i * 7 + j"),
        (((A * 8 + B) // 8) * 8 + (A * 8 + B) % 8, ((0, 9), (0, 20)), "i * 8 + j"),
        ((((A % 49) * 4 + B) // 14) * 14 + ((A % 49) * 4 + B) % 14, ((0, 97), (0, 3)), "(i mod 49) * 4 + j"),
        ((A // 12) * 12 + ((A // 3) % 4) * 3 + A % 3, (UNKNOWN,), "i"),
        ((A // 12) * 24 + (A % 12) * 2 + 5, (UNKNOWN,), "i * 2 + 5"),
        ((A % 12) // 3, (UNKNOWN,), "(i floordiv 3) mod 4"),
        ((A % 12) % 4, (UNKNOWN,), "i mod 4"),
        ((A % 12 + B) % 4, (UNKNOWN, UNKNOWN), "(j + i) mod 4"),
        ((A // 4 + 3) // 5, (UNKNOWN,), "(i + 12) floordiv 20"),
        ((A * 4 + 2) % 8, (UNKNOWN,), "(i mod 2) * 4 + 2"),
        ((A * 6 + B * 4 + C) // 12, ((0, 9), (0, 9), (0, 1)), "(i * 3 + j * 2) floordiv 6"),
        (A - A, (UNKNOWN,), "0"),
        ((A + B).ceil_div(4), ((0, 0), (1, 4)), "1"),
        (A * 3 + B, ((2, 2), (0, 5)), "j + 6"),
    ],
)
def test_simplifies_to(expr: AffineExpr, ranges: tuple[Range, ...], expected: str) -> None:
    assert text(expr, *ranges) == expected


def test_coefficient_is_unknown_inside_a_division() -> None:
    form = linear(A * 4 + (A + B) // 3, (UNKNOWN, UNKNOWN))
    assert form.coefficient(0) is None
    assert form.coefficient(1) is None
    assert linear(A * 4 + B // 3, (UNKNOWN, UNKNOWN)).coefficient(0) == 4
    assert Linear((), 3).coefficient(0) == 0


def test_malformed_says_what_is_wrong() -> None:
    def binary(kind: AffineBinaryOpKind, rhs: AffineExpr) -> AffineExpr:
        return AffineBinaryOpExpr(kind, AffineDimExpr(0), rhs)

    assert malformed(A * 3 + B // 2) is None
    assert malformed(A * AffineExpr.symbol(0) + AffineExpr.symbol(1)) is None
    assert malformed(binary(AffineBinaryOpKind.FloorDiv, B)) == "the divisor d1 in (d0 floordiv d1)"
    assert malformed(binary(AffineBinaryOpKind.FloorDiv, AffineConstantExpr(0))) == "the divisor 0 in (d0 floordiv 0)"
    assert malformed(binary(AffineBinaryOpKind.Mod, AffineConstantExpr(-2))) == "the divisor -2 in (d0 mod -2)"
    assert malformed(binary(AffineBinaryOpKind.Mul, B)) == "the product (d0 * d1)"
    with pytest.raises(ValueError, match="expected a divisor of at least 1"):
        simplify(binary(AffineBinaryOpKind.Mod, AffineConstantExpr(-2)), [(0, 3)])
    with pytest.raises(ValueError, match="expected a factor or divisor that is a number or a size"):
        simplify(binary(AffineBinaryOpKind.Mul, B), [(0, 3), (0, 3)])


BATCH, LENGTH = kernel_size(0), kernel_size(1)


def _strides(shape: Sequence[Size]) -> list[Size]:
    return [product(shape[i + 1 :]) for i in range(len(shape))]


def _apart(position: AffineExpr, shape: Sequence[Size]) -> list[AffineExpr]:
    places = [position // lifted(stride) for stride in _strides(shape)]
    return [place % lifted(extent) if i else place for i, (place, extent) in enumerate(zip(places, shape, strict=True))]


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((BATCH * LENGTH, 12), ("d0 * s1 + d1", "d2")),
        ((BATCH, LENGTH * 4, 3), ("d0", "d1 * 4 + d2 floordiv 3", "d2 mod 3")),
        ((BATCH * LENGTH, 2, 6), ("d0 * s1 + d1", "d2 floordiv 6", "d2 mod 6")),
        ((BATCH, LENGTH * 12), ("d0", "d1 * 12 + d2")),
    ],
)
def test_an_index_is_taken_apart_by_what_sizes_have_in_common(shape: tuple[Size, ...], wanted: tuple[str, ...]):
    source: tuple[Size, ...] = (BATCH, LENGTH, 12)
    ranges = tuple((0, extent - 1) for extent in source)
    there = [simplify(expr, ranges) for expr in _apart(flatten(D, _strides(source)), shape)]
    assert tuple(spell(expr, ("d0", "d1", "d2")) for expr in there) == wanted
    back = [simplify(expr, ranges) for expr in _apart(flatten(there, _strides(shape)), source)]
    assert back == D
    for b, s in ((1, 1), (1, 5), (3, 2)):
        numbers = [evaluate(extent, {"s0": b, "s1": s}) for extent in shape]
        for point in itertools.product(range(b), range(s), range(12)):
            flat = (point[0] * s + point[1]) * 12 + point[2]
            assert tuple(expr.eval(point, (b, s)) for expr in there) == np.unravel_index(flat, numbers)


def test_common_divisors_of_sizes():
    assert str(common_divisor(BATCH * LENGTH * 12, BATCH * 8)) == "4*s0"
    assert str(common_divisor((BATCH + LENGTH) * 6, BATCH + LENGTH)) == "s0 + s1"
    assert same(common_divisor(BATCH * 12, 8), 4)
    assert same(common_divisor(BATCH + 1, LENGTH), 1)


@pytest.mark.parametrize("factor", [2, 8])
def test_a_quotient_is_a_number_up_to_its_last_one(factor: int):
    """Of the last number below a multiple of the factor, and not of that."""
    (x,) = (AffineDimExpr(0),)
    for first in (-factor, 0, 3 * factor):
        last = first + factor - 1
        assert simplify(x // factor, [(first, last)]) == AffineConstantExpr(first // factor)
        assert simplify(x % factor, [(first, last)]) == simplify(x - first, [(first, last)])
        for wider in ((first, last + 1), (first - 1, last)):
            assert simplify(x // factor, [wider]) == x // factor


def test_a_quotient_by_a_size_is_nothing_below_it_only():
    x = AffineDimExpr(0)
    assert simplify(x // lifted(LENGTH), [(0, LENGTH - 1)]) == AffineConstantExpr(0)
    assert simplify(x // lifted(LENGTH), [(0, LENGTH)]) == x // lifted(LENGTH)
    assert simplify(x // lifted(LENGTH), [(-1, LENGTH - 1)]) == x // lifted(LENGTH)
    assert simplify(x % lifted(LENGTH), [(0, LENGTH)]) == x % lifted(LENGTH)
