"""Sets of elements that affine accesses touch, found exactly: which are missing.

An access is a map of variables with known ends to an element, and conditions on them; maps may divide and take
remainders. Dimensions that share no variable are looked at apart, so that few points stand for all. A question about
more points than `MOST` is left open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

Numbers = NDArray[np.int64]

MOST = 1 << 20
"""Points, or elements, that are looked at for one question."""


@dataclass(frozen=True)
class AccessSet:
    """The elements `map` of a buffer for all variables in their ranges for which each condition is at least 0."""

    ranges: tuple[tuple[int, int], ...]
    """The first and last value of each variable."""
    map: tuple[AffineExpr, ...]
    conditions: tuple[AffineExpr, ...] = ()


class Points(NamedTuple):
    """The points of some variables: the values of some expressions, and of the variables."""

    values: list[Numbers]
    variables: dict[int, Numbers]
    size: int


def missing(sets: Sequence[AccessSet], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the first element of a buffer that no access touches; None where there is none, or too many to tell."""
    if not prod(shape) or any(_covers(accesses, shape) for accesses in sets):
        return None
    if prod(shape) > MOST:
        return _rest(sets, shape)
    touched = np.zeros(prod(shape), bool)
    for accesses in sets:
        if not _mark(touched, accesses, shape):
            return None
    if touched.all():
        return None
    return tuple(int(index) for index in np.unravel_index(int(np.argmin(touched)), tuple(shape)))


def _covers(accesses: AccessSet, shape: Sequence[int]) -> bool:
    """Return whether one access touches every element."""
    for dims, used in _components(accesses):
        points = _points(accesses, dims, used)
        if points is None or not points.size:
            return False
        if not dims:
            continue
        sizes = [shape[dim] for dim in dims]
        inside = np.ones(points.values[0].shape, bool)
        for numbers, size in zip(points.values, sizes, strict=True):
            inside &= (numbers >= 0) & (numbers < size)
        flat = np.ravel_multi_index([numbers[inside] for numbers in points.values], sizes)
        if np.unique(flat).size < prod(sizes):
            return False
    return True


def _rest(sets: Sequence[AccessSet], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return an element of a large buffer that is missing: where nothing is touched, or one dimension tells."""
    if not sets:
        return (0,) * len(shape)
    if len(sets) > 1:
        return None
    (accesses,) = sets
    for dims, used in _components(accesses):
        points = _points(accesses, dims, used)
        sizes = [shape[dim] for dim in dims]
        if points is None or not dims or prod(sizes) > MOST:
            continue
        touched = np.zeros(prod(sizes), bool)
        touched[np.ravel_multi_index(points.values, sizes, mode="clip")] = True
        if not touched.all():
            element = [0] * len(shape)
            for dim, index in zip(dims, np.unravel_index(int(np.argmin(touched)), sizes), strict=True):
                element[dim] = int(index)
            return tuple(element)
    return None


def _mark(touched: NDArray[np.bool_], accesses: AccessSet, shape: Sequence[int]) -> bool:
    """Mark the elements of a buffer that an access touches; return False if they are too many points."""
    strides = [prod(shape[dim + 1 :]) for dim in range(len(shape))]
    flat: Numbers = np.zeros(1, np.int64)
    for dims, used in _components(accesses):
        points = _points(accesses, dims, used)
        if points is None:
            return False
        if not points.size:
            return True
        if dims:
            part = np.unique(sum(numbers * strides[dim] for dim, numbers in zip(dims, points.values, strict=True)))
            if flat.size * part.size > MOST:
                return False
            flat = (flat[:, None] + part).ravel()
    touched[flat[(flat >= 0) & (flat < touched.size)]] = True
    return True


def _components(accesses: AccessSet) -> list[tuple[list[int], set[int]]]:
    """The dimensions of the map that share variables, directly or through conditions, and these variables."""
    groups: list[tuple[set[int], set[int]]] = []

    def join(dims: Iterable[int], variables: set[int]) -> None:
        joined = set(dims), set(variables)
        for group in [*groups]:
            if group[1] & joined[1]:
                joined = group[0] | joined[0], group[1] | joined[1]
                groups.remove(group)
        groups.append(joined)

    for dim, expr in enumerate(accesses.map):
        join([dim], expr.used_dims())
    for condition in accesses.conditions:
        join([], condition.used_dims())
    return [(sorted(dims), variables) for dims, variables in groups]


def _points(accesses: AccessSet, dims: Sequence[int], used: set[int]) -> Points | None:
    """The values of some dimensions of the map at all points of the variables; None if these are too many."""
    ranges = [accesses.ranges[position] for position in sorted(used)]
    counts = [last - first + 1 for first, last in ranges]
    if prod(counts) > MOST:
        return None
    places: Numbers = np.indices(counts, np.int64).reshape(len(counts), prod(counts))
    variables = {position: places[row] + ranges[row][0] for row, position in enumerate(sorted(used))}
    size = prod(counts)
    holds = np.ones(size, bool)
    for condition in accesses.conditions:
        if condition.used_dims() <= used:
            holds &= evaluated(condition, variables, size) >= 0
    variables = {position: numbers[holds] for position, numbers in variables.items()}
    count = int(holds.sum())
    return Points([evaluated(accesses.map[dim], variables, count) for dim in dims], variables, count)


def evaluated(expr: AffineExpr, variables: dict[int, Numbers], size: int) -> Numbers:
    """The values of an expression at some points."""
    match expr:
        case AffineConstantExpr(value=value):
            return np.full(size, value, np.int64)
        case AffineDimExpr(position=position):
            return variables[position]
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            left, right = (evaluated(side, variables, size) for side in (lhs, rhs))
            match kind:
                case AffineBinaryOpKind.Add:
                    return left + right
                case AffineBinaryOpKind.Mul:
                    return left * right
                case AffineBinaryOpKind.Mod:
                    return left % right
                case AffineBinaryOpKind.FloorDiv:
                    return left // right
                case AffineBinaryOpKind.CeilDiv:
                    return -(-left // right)
        case _:
            raise TypeError(f"expected an expression of numbers and dims, got {expr}")
