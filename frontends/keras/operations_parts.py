"""Operations of `keras.ops` that take tensors apart along given axes, turn them, or put them side by side."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.rearrange import ReverseOp, SplitOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import ConcatenateOp, StridedSliceOp
from ...dialects.sizes import symbols_of
from ..importing.einsum import contraction
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from ..importing.terms import Term, where
from .context import Context
from .nests import items_of, whole
from .operands import argument_term, array_of, operands
from .operations_shape import permuted
from .rows import Row


def _flip(axis: int) -> Row:
    return Row(lambda ctx: ctx.emit(ReverseOp, ctx.data(0, "x"), axis=(axis,)))


def _turn(ctx: Context) -> SSAValue:
    """Quarters of a turn in the plane of two axes."""
    value, turns = ctx.data(0, "array"), ctx.int("k", 1) % 4
    rank = len(shape_of(value))
    first, second = (
        ctx.axis(axis, rank) for axis in (ctx.ints("axes", count=2) if ctx.option("axes") is not None else (0, 1))
    )
    order = list(range(rank))
    order[first], order[second] = second, first
    match turns:
        case 1:
            return permuted(ctx, ctx.emit(ReverseOp, value, axis=(second,)), tuple(order))
        case 2:
            return ctx.emit(ReverseOp, value, axis=tuple(sorted((first, second))))
        case 3:
            return ctx.emit(ReverseOp, permuted(ctx, value, tuple(order)), axis=(second,))
        case _:
            return value


def _append(ctx: Context) -> SSAValue:
    values = [term.value for term in operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))]
    axis = ctx.option("axis")
    if axis is None:
        values, axis = [reshaped(ctx, value, (prod(shape_of(value)),)) for value in values], 0
    return ctx.emit(ConcatenateOp, values, axis=ctx.axis(axis, len(shape_of(values[0]))))


def _deep(ctx: Context) -> SSAValue:
    """Side by side along the third axis."""
    values: list[SSAValue] = []
    for term in operands(ctx, *(items_of(ctx.argument(0, "xs")) or ())):
        shape = (
            (1, *term.shape, 1) if len(term.shape) == 1 else (*term.shape, 1) if len(term.shape) == 2 else term.shape
        )
        values.append(term.reshape(*shape).value)
    return ctx.emit(ConcatenateOp, values, axis=2)


def _split(axis: Callable[[Context, int], int], uneven: bool = False) -> Row:
    """Parts along an axis: as many as a number says, or up to each of several places."""

    def convert(ctx: Context) -> tuple[SSAValue, ...]:
        value, option = ctx.data(0, "x"), ctx.option("indices_or_sections")
        at = axis(ctx, len(shape_of(value)))
        sections, extent = whole(option), shape_of(value)[at]
        if sections is None:
            return ctx.emit_all(SplitOp, value, indices_or_sections=ctx.ints("indices_or_sections"), axis=at)
        if not uneven:
            return ctx.emit_all(SplitOp, value, indices_or_sections=(sections,), sections=True, axis=at)
        if sections < 1 or symbols_of(extent):
            ctx.fail("a known extent, and at least one part", f"{extent} in {sections}")
        ends = np.cumsum([extent // sections + (part < extent % sections) for part in range(sections)])
        return ctx.emit_all(SplitOp, value, indices_or_sections=ends[:-1].tolist(), axis=at)

    return Row(convert)


def _along(axis: int) -> Callable[[Context, int], int]:
    """The axis of hsplit, vsplit and dsplit; a vector has but one."""
    return lambda ctx, rank: 0 if axis == 1 and rank == 1 else ctx.axis(axis, rank)


def _diagonal_of(ctx: Context) -> Term:
    x = argument_term(ctx)
    rank, offset = len(x.shape), ctx.int("offset", 0)
    first, second = (ctx.axis(ctx.int(name, at), rank) for at, name in enumerate(("axis1", "axis2")))
    if first == second:
        ctx.fail("two axes", f"{first} and {second}")
    rows, columns = x.shape[first], x.shape[second]
    if symbols_of(rows) or symbols_of(columns):
        ctx.fail("axes of known sizes", f"{rows} and {columns}")
    begins = (max(-offset, 0), max(offset, 0))
    count = max(min(rows - begins[0], columns - begins[1]), 0)
    ends = tuple(begin + count for begin in begins)
    square = x.apply(StridedSliceOp, begin=begins, end=ends, axes=(first, second))
    letters = ["abcdefgh"[at] for at in range(rank)]
    letters[first] = letters[second] = "z"
    result = "".join(letter for letter in letters if letter != "z")
    return Term(ctx, contraction(ctx, f"{''.join(letters)}->{result}z", [square]))


def _trace(ctx: Context) -> SSAValue:
    x = _diagonal_of(ctx)
    return x.apply(SumOp, axis=(len(x.shape) - 1,), keepdims=False).value


def _select(ctx: Context) -> SSAValue:
    """The value of the first condition that holds, or a default."""
    conditions, values = items_of(ctx.argument(0, "condlist")) or [], items_of(ctx.argument(1, "choicelist")) or []
    if not conditions or len(conditions) != len(values):
        ctx.fail("as many values as conditions", f"{len(values)} and {len(conditions)}")
    *terms, result = operands(ctx, *values, ctx.argument(2, "default", 0))
    for condition, term in reversed(list(zip(conditions, terms, strict=True))):
        (truth,) = operands(ctx, condition)
        result = where(truth.to("bool"), term, result)
    return result.value


def _slice(ctx: Context) -> SSAValue:
    """A part of a shape, from known places on."""
    value = ctx.data(0, "inputs")
    begins, shape = array_of(ctx, ctx.argument(1, "start_indices")), ctx.ints("shape")
    if begins is None or begins.size != len(shape_of(value)) or len(shape) != begins.size:
        ctx.fail("known places, one for each axis", "others")
    begin = begins.reshape(-1).astype(np.int64).tolist()
    end = [
        extent if part == -1 else first + part
        for first, part, extent in zip(begin, shape, shape_of(value), strict=True)
    ]
    return ctx.emit(StridedSliceOp, value, begin=begin, end=end, strides=[1] * len(shape))


def _kron(ctx: Context) -> SSAValue:
    """Each element of one tensor times all of the other."""
    a, b = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    rank = max(len(a.shape), len(b.shape))
    a, b = (term.reshape(*(1,) * (rank - len(term.shape)), *term.shape) for term in (a, b))
    left = a.reshape(*(n for extent in a.shape for n in (extent, 1)))
    right = b.reshape(*(n for extent in b.shape for n in (1, extent)))
    return (left * right).reshape(*(m * n for m, n in zip(a.shape, b.shape, strict=True))).value


TABLE: dict[str, Row] = {
    "Append": Row(_append),
    "ArraySplit": _split(lambda ctx, rank: ctx.axis(ctx.int("axis", 0), rank), uneven=True),
    "Diagonal": Row(lambda ctx: _diagonal_of(ctx).value),
    "Dsplit": _split(_along(2)),
    "Dstack": Row(_deep),
    "Fliplr": _flip(1),
    "Flipud": _flip(0),
    "Hsplit": _split(_along(1)),
    "Kron": Row(_kron),
    "Rot90": Row(_turn),
    "Select": Row(_select),
    "Slice": Row(_slice),
    "Trace": Row(_trace),
    "Vsplit": _split(_along(0)),
}
