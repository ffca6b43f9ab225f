"""The smallest and largest value that integers of a kernel can have."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, Signedness
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Operation, SSAValue

from ....dialects.affine import Range, bounds, hull
from ....dialects.element_types import bit_width, is_integer
from ....dialects.tir import UNBOUNDED, ForOp, IndexOp, PrimFuncOp
from ....dialects.tir import lanes as tir_lanes
from ....dialects.tir.index_maps import Ranges, view
from ....dialects.tir.lanes import lanes, scalar_type


def kind_of(op: Operation) -> str:
    """Return the kind of a conversion, whether arith or tir spells it; for others the name of the op."""
    return op.kind.data if isinstance(op, tir_lanes.CastOp) else op.name.removeprefix("arith.").removeprefix("tir.")


def numbers_of(op: arith.ConstantOp) -> list[int]:
    """The integers of a constant vector; one where all are equal."""
    assert isinstance(op.value, DenseIntOrFPElementsAttr)
    return list(cast("DenseIntOrFPElementsAttr[IntegerType]", op.value).get_values())


def integer_ranges(func: PrimFuncOp) -> Ranges:
    """The range of each value of the kernel that is an integer or index; `UNBOUNDED` where nothing is known."""
    ranges: Ranges = {}
    for op in func.walk():
        if isinstance(op, ForOp):
            ranges[op.var] = hull(op.bounds)
        for result in op.results:
            ranges[result] = _fit(_range(op, ranges), _of_type(result))
    return ranges


def _of_type(value: SSAValue) -> Range:
    """Return the range that the type allows. More than 62 bits count as unbounded."""
    scalar = scalar_type(value.type)
    if not is_integer(scalar) or (width := bit_width(scalar)) > 62:
        return UNBOUNDED
    if width == 1:
        return (0, 1)
    if cast(IntegerType, scalar).signedness.data is Signedness.UNSIGNED:
        return (0, (1 << width) - 1)
    return (-(1 << width - 1), (1 << width - 1) - 1)


def _fit(computed: Range | None, allowed: Range) -> Range:
    """Return the range of the result, unless it may have wrapped around; then all that its type allows."""
    if computed is None or computed[0] < allowed[0] or computed[1] > allowed[1]:
        return allowed
    return computed


def _range(op: Operation, ranges: Ranges) -> Range | None:
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return (number.data, number.data)
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr()) if is_integer(scalar_type(op.result.type)):
            numbers = numbers_of(op)
            return (min(numbers), max(numbers))
        case IndexOp():
            seen = view(op, ranges)
            low, high = hull(bounds(seen.map[0], seen.ranges))
            (count,) = lanes(op.result.type) or (1,)
            span = op.stride.value.data * (count - 1)
            return (low + min(0, span), high + max(0, span))
        case BroadcastOp():
            return ranges.get(op.source)
        case _:
            operand_ranges = [ranges.get(operand, UNBOUNDED) for operand in op.operands]
            return _computed(kind_of(op), operand_ranges)


def _computed(kind: str, operand_ranges: list[Range]) -> Range | None:
    match kind, operand_ranges:
        case (("index_cast" | "extsi" | "trunci"), [source]):
            return source
        case "extui", [(low, high)] if low >= 0:
            return (low, high)
        case "addi", [(a, b), (c, d)]:
            return (a + c, b + d)
        case "subi", [(a, b), (c, d)]:
            return (a - d, b - c)
        case "muli", [(a, b), (c, d)]:
            products = [a * c, a * d, b * c, b * d]
            return (min(products), max(products))
        case "minsi", [(a, b), (c, d)]:
            return (min(a, c), min(b, d))
        case "maxsi", [(a, b), (c, d)]:
            return (max(a, c), max(b, d))
        case "select", [_, (a, b), (c, d)]:
            return (min(a, c), max(b, d))
        case (("divsi" | "divui" | "floordivsi"), [(a, b), (c, d)]) if a >= 0 and c > 0:
            return (a // d, b // c)
        case (("remsi" | "remui"), [(a, b), (c, d)]) if a >= 0 and c > 0:
            return (0, min(b, d - 1))
        case _:
            return None
