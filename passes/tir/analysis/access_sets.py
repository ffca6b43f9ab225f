"""Sets of elements that affine accesses touch, found exactly: which are missing, and where two iterations meet.

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


class Meeting(NamedTuple):
    """Two different values of a variable that touch one element."""

    first: int
    second: int


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


def meeting(left: AccessSet, right: AccessSet, variable: int) -> Meeting | None:
    """Return two different values of a variable with which one access touches an element that the other touches.

    The variable has one number in both. None where there are none, or too many points to tell.
    """
    answer: Meeting | None = None
    for dims, mine, theirs in _pairs(left, right, variable):
        here, there = _points(left, dims, mine), _points(right, dims, theirs)
        if here is None or there is None:
            return None
        keys, others = _keys(here, there)
        if variable in mine:
            answer = _differing(keys, here.variables[variable], others, there.variables[variable])
            if answer is None:
                return None
        elif not np.isin(keys, others).any():
            return None
    return answer


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
    return [(dims, mine) for dims, mine, _ in _pairs(accesses, None, None)]


def _pairs(
    left: AccessSet, right: AccessSet | None, variable: int | None
) -> list[tuple[list[int], set[int], set[int]]]:
    """The dimensions that share variables in one access or the other, and the variables of each access."""
    groups: list[tuple[set[int], set[tuple[int, int]]]] = []

    def join(dims: Iterable[int], variables: set[tuple[int, int]]) -> None:
        joined = set(dims), set(variables)
        for group in [*groups]:
            if group[1] & joined[1] or group[0] & joined[0]:
                joined = group[0] | joined[0], group[1] | joined[1]
                groups.remove(group)
        groups.append(joined)

    for number, accesses in enumerate((left, right)):
        if accesses is not None:
            for dim, expr in enumerate(accesses.map):
                join([dim], {(number, used) for used in expr.used_dims()})
            for condition in accesses.conditions:
                join([], {(number, used) for used in condition.used_dims()})
    if variable is not None:
        join([], {(0, variable), (1, variable)})
    sides = [[{used for number, used in variables if number == side} for side in (0, 1)] for _, variables in groups]
    return [(sorted(dims), mine, theirs) for (dims, _), (mine, theirs) in zip(groups, sides, strict=True)]


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


def _keys(mine: Points, theirs: Points) -> tuple[Numbers, Numbers]:
    """A number for each point of two accesses, equal where all dimensions are."""
    if not mine.values:
        return np.zeros(mine.size, np.int64), np.zeros(theirs.size, np.int64)
    keys: Numbers = np.zeros(mine.size + theirs.size, np.int64)
    for pair in zip(mine.values, theirs.values, strict=True):
        numbers: Numbers = np.unique(np.concatenate(pair), return_inverse=True)[1]
        # Numbered anew, so that they stay as few as there are points.
        keys = np.unique(keys * (int(numbers.max(initial=0)) + 1) + numbers, return_inverse=True)[1]
    return keys[: mine.size], keys[mine.size :]


def _differing(keys: Numbers, first: Numbers, others: Numbers, second: Numbers) -> Meeting | None:
    """Two different values, one of `first` and one of `second`, at points of one key."""
    if not keys.size or not others.size:
        return None
    count = int(max(keys.max(), others.max())) + 1
    ends: list[tuple[Numbers, Numbers]] = []
    for points, values in ((keys, first), (others, second)):
        low, high = np.full(count, 1 << 62), np.full(count, -(1 << 62))
        np.minimum.at(low, points, values)
        np.maximum.at(high, points, values)
        ends.append((low, high))
    (low, high), (least, most) = ends
    common = (low <= high) & (least <= most)
    for mine, theirs in ((low, most), (high, least)):
        places = np.flatnonzero(common & (mine != theirs))
        if places.size:
            return Meeting(int(mine[places[0]]), int(theirs[places[0]]))
    return None
