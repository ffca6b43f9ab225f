"""Comparisons, minima and maxima of indices that the ranges of loop variables decide."""

from __future__ import annotations

from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS, CmpiOp, IndexCastOp, MaxSIOp, MinSIOp
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.affine import Range, hull, linear, linear_bounds
from ....dialects.element_types import bit_width, is_integer
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import at_least, negative
from ....dialects.tir import UNBOUNDED
from ....dialects.tir.index_maps import Ranges, operands_of


def decided(op: CmpiOp, ranges: Ranges) -> bool | None:
    """Return whether a comparison of affine functions of loop variables, or of casts of such, always or never holds.

    None where that depends, and for vectors.
    """
    ends = _ends(op.lhs, op.rhs, ranges)
    if ends is None:
        return None
    *sides, apart = ends
    predicate = CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate[0] == "u" and not all(at_least(low, 0) for low, _ in sides):
        return None
    return _holds(predicate.removeprefix("u").removeprefix("s"), *apart)


def least_or_most(op: MinSIOp | MaxSIOp, ranges: Ranges) -> SSAValue | None:
    """The operand that a minimum or maximum of such always is; None where that depends, and for vectors."""
    ends = _ends(op.lhs, op.rhs, ranges)
    if ends is None:
        return None
    first, second = (op.lhs, op.rhs) if isinstance(op, MinSIOp) else (op.rhs, op.lhs)
    if _holds("le", *ends[2]):
        return first
    return second if _holds("ge", *ends[2]) else None


def ends_of(op: MinSIOp | MaxSIOp, ranges: Ranges) -> Range | None:
    """Between which numbers a minimum or maximum of indices lies; None for other numbers."""
    ends = _ends(op.lhs, op.rhs, ranges) if isinstance(op.result.type, IndexType) else None
    if ends is None:
        return None
    (a, b), (c, d) = map(hull, ends[:2])
    return (min(a, c), min(b, d)) if isinstance(op, MinSIOp) else (max(a, c), max(b, d))


def _ends(lhs: SSAValue, rhs: SSAValue, ranges: Ranges) -> tuple[Range, Range, Range] | None:
    """Between which numbers both lie, and their difference; None for what is no index or may be no exact cast of it."""
    width = 62 if isinstance(lhs.type, IndexType) else bit_width(lhs.type) if is_integer(lhs.type) else 0
    if not width:
        return None
    operands = operands_of((_index(lhs), _index(rhs)))
    operand_ranges = tuple(ranges.get(value, UNBOUNDED) for value in operands.values)
    dims = operands.dims or tuple(AffineExpr.dimension(i) for i in range(2))
    left, right = (linear(dim, operand_ranges) for dim in dims)
    left_range, right_range = linear_bounds(left, operand_ranges), linear_bounds(right, operand_ranges)
    if not (_fits(left_range, width) and _fits(right_range, width)):
        return None
    return left_range, right_range, linear_bounds(left.plus(right, -1), operand_ranges)


def _index(value: SSAValue) -> SSAValue:
    """The index that `value` is a cast of, else `value`."""
    match value.owner:
        case IndexCastOp(input=source) if isinstance(source.type, IndexType):
            return source
        case _:
            return value


def _fits(ends: Range, width: int) -> bool:
    """Return whether a cast to an integer of `width` bits is exact, and so is the difference of two; indices are."""
    limit = 1 << (min(62, width) - 1)
    low, high = hull(ends)
    if width == 62 and not (isinstance(ends[0], int) and isinstance(ends[1], int)):
        return True
    return -limit <= low and high < limit


def _holds(predicate: str, low: Size, high: Size) -> bool | None:
    """Return whether a difference that lies in low..high is as `predicate` says."""
    above, under = at_least(low, 1), negative(high)
    zero = same(low, 0) and same(high, 0)
    always, never = {
        "eq": (zero, above or under),
        "ne": (above or under, zero),
        "lt": (under, at_least(low, 0)),
        "le": (negative(high - 1), above),
        "gt": (above, negative(high - 1)),
        "ge": (at_least(low, 0), under),
    }[predicate]
    return True if always else False if never else None
