"""Comparisons of indices that the ranges of loop variables decide."""

from __future__ import annotations

from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS, CmpiOp, IndexCastOp
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.affine import Range, linear, linear_bounds
from ....dialects.element_types import bit_width, is_integer
from ....dialects.tir import UNBOUNDED
from ..rewriting.common import Ranges, operands_of


def decided(op: CmpiOp, ranges: Ranges) -> bool | None:
    """Whether a comparison of affine functions of loop variables, or of casts of such, always or never holds.

    None where that depends, and for vectors.
    """
    width = 62 if isinstance(op.lhs.type, IndexType) else bit_width(op.lhs.type) if is_integer(op.lhs.type) else 0
    if not width:
        return None
    operands = operands_of((_index(op.lhs), _index(op.rhs)))
    known = tuple(ranges.get(value, UNBOUNDED) for value in operands.values)
    dims = operands.dims or tuple(AffineExpr.dimension(i) for i in range(2))
    left, right = (linear(dim, known) for dim in dims)
    sides = [linear_bounds(form, known) for form in (left, right)]
    if not all(_fits(ends, width) for ends in sides):
        return None
    apart = linear_bounds(left.plus(right, -1), known)
    predicate = CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate[0] == "u" and min(low for low, _ in sides) < 0:
        return None
    return _holds(predicate.removeprefix("u").removeprefix("s"), *apart)


def _index(value: SSAValue) -> SSAValue:
    """The index that `value` is a cast of, else `value`."""
    match value.owner:
        case IndexCastOp(input=source) if isinstance(source.type, IndexType):
            return source
        case _:
            return value


def _fits(ends: Range, width: int) -> bool:
    """Whether a cast to an integer of `width` bits is exact, and so is the difference of two."""
    limit = 1 << (min(62, width) - 1)
    return -limit <= ends[0] and ends[1] < limit


def _holds(predicate: str, low: int, high: int) -> bool | None:
    """Whether a difference that lies in low..high is as `predicate` says."""
    always, never = {
        "eq": (low == high == 0, low > 0 or high < 0),
        "ne": (low > 0 or high < 0, low == high == 0),
        "lt": (high < 0, low >= 0),
        "le": (high <= 0, low > 0),
        "gt": (low > 0, high <= 0),
        "ge": (low >= 0, high < 0),
    }[predicate]
    return True if always else False if never else None
