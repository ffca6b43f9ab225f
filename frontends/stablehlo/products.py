"""Products of tensors, over any of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import Float64Type
from xdsl.ir import SSAValue

from ...dialects.relay.matmul import BatchMatmulOp
from ...dialects.relay.transform import TransposeOp
from ...dialects.sizes import decide, same
from ..importing.converter import Converter
from ..importing.products import dense, is_constant, reshaped
from ..importing.tensor import shape_of
from ..importing.terms import Term
from .context import Context


def _ordered(ctx: Context, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    return value if list(axes) == sorted(axes) else ctx.emit(TransposeOp, value, axes=axes)


def _dot_general(ctx: Context) -> SSAValue:
    """Both sides as batches of matrices; the batch axes come first in the result, then those of the left side."""
    ranks = [len(ctx.shape(index)) for index in (0, 1)]
    names = ("lhs", "rhs")
    batch = [ctx.axes(f"{side}_batching_dimensions", rank) for side, rank in zip(names, ranks, strict=True)]
    inner = [ctx.axes(f"{side}_contracting_dimensions", rank) for side, rank in zip(names, ranks, strict=True)]
    if len(batch[0]) != len(batch[1]) or len(inner[0]) != len(inner[1]):
        ctx.fail("as many dimensions of both sides", f"{batch} and {inner}")
    if any(set(b) & set(c) for b, c in zip(batch, inner, strict=True)):
        ctx.fail("batch dimensions that are not contracted", f"{batch} and {inner}")
    for kind in (batch, inner):
        for left, right in zip(kind[0], kind[1], strict=True):
            a, b = ctx.shape(0)[left], ctx.shape(1)[right]
            if decide(a, "==", b) is False:
                ctx.fail("dimensions of one extent", f"{a} and {b}")
            ctx.require_equal(a, b)
    if isinstance(ctx.stated("accumulation_type"), Float64Type) and ctx.result_dtype().itemsize < 8:
        ctx.fail(f"sums in {ctx.result_dtype().name}", "f64")
    free = [
        [axis for axis in range(rank) if axis not in b and axis not in c]
        for rank, b, c in zip(ranks, batch, inner, strict=True)
    ]
    shapes = [ctx.shape(0), ctx.shape(1)]
    outer = [tuple(shapes[side][axis] for axis in free[side]) for side in (0, 1)]
    groups = tuple(shapes[0][axis] for axis in batch[0])
    depth = prod(shapes[0][axis] for axis in inner[0])
    result = (*groups, *outer[0], *outer[1])
    wanted = ctx.result_dtype()
    left, right = (ctx.term(index) for index in (0, 1))
    left, right = (side.to(wanted) for side in (left, right))
    if not inner[0]:
        return _outer(ctx, left, right, batch, free, result).value
    data = _ordered(ctx, left.value, (*batch[0], *free[0], *inner[0]))
    m, n = prod(outer[0]), prod(outer[1])
    if not groups or same(prod(groups), 1):
        first = free[1] and inner[1] and _flat(right.value, batch[1], free[1], inner[1])
        order = (*batch[1], *free[1], *inner[1]) if first else (*batch[1], *inner[1], *free[1])
        weight = _ordered(ctx, right.value, order)
        rows = reshaped(ctx, data, (m, depth))
        weight = reshaped(ctx, weight, (n, depth) if first else (depth, n))
        return reshaped(ctx, dense(ctx, rows, weight, outputs_first=bool(first)), result)
    weight = _ordered(ctx, right.value, (*batch[1], *inner[1], *free[1]))
    # Transposed is what a product may take as it is.
    by_rows = _in_order((*batch[1], *free[1], *inner[1])) and not is_constant(right.value)
    if by_rows:
        weight = right.value
    flat = (prod(groups), n, depth) if by_rows else (prod(groups), depth, n)
    operands = reshaped(ctx, data, (prod(groups), m, depth)), reshaped(ctx, weight, flat)
    return reshaped(ctx, ctx.emit(BatchMatmulOp, *operands, transpose_b=by_rows), result)


def _in_order(axes: Sequence[int]) -> bool:
    return list(axes) == sorted(axes)


def _flat(value: SSAValue, batch: Sequence[int], free: Sequence[int], inner: Sequence[int]) -> bool:
    """Return whether a side stands as (.., outputs, depth) already."""
    return len(shape_of(value)) > 1 and _in_order((*batch, *free, *inner)) and not _in_order((*batch, *inner, *free))


def _outer(
    ctx: Context,
    left: Term,
    right: Term,
    batch: Sequence[Sequence[int]],
    free: Sequence[Sequence[int]],
    result: tuple[int, ...],
) -> Term:
    """The product of each with each, where nothing is summed."""
    x = Term(ctx, _ordered(ctx, left.value, (*batch[0], *free[0])))
    y = Term(ctx, _ordered(ctx, right.value, (*batch[1], *free[1])))
    count = len(batch[0])
    x = x.reshape(*x.shape, *[1] * len(free[1]))
    y = y.reshape(*y.shape[:count], *[1] * len(free[0]), *y.shape[count:])
    return Term(ctx, reshaped(ctx, (x * y).value, result))


def _dot(ctx: Context) -> SSAValue:
    """Of vectors and matrices, over the last axis of the left and the first of the right side."""
    left, right = ctx.shape(0), ctx.shape(1)
    if not 1 <= len(left) <= 2 or not 1 <= len(right) <= 2:
        ctx.fail("vectors and matrices", f"shapes {list(left)} and {list(right)}")
    m, n = prod(left[:-1]), prod(right[1:])
    rows = reshaped(ctx, ctx.value(0), (m, left[-1]))
    weight = reshaped(ctx, ctx.value(1), (right[0], n))
    return reshaped(ctx, dense(ctx, rows, weight, outputs_first=False), (*left[:-1], *right[1:]))


_ROUNDED = "operands and products that may be rounded, and are not"
_ALGORITHM: dict[str, str] = dict.fromkeys(
    (
        *("lhs_precision_type", "rhs_precision_type", "lhs_component_count", "rhs_component_count"),
        *("num_primitive_operations", "allow_imprecise_accumulation"),
    ),
    _ROUNDED,
)

TABLE: dict[str, Converter[Context]] = {
    "dot": Converter(_dot),
    "dot_general": Converter(_dot_general, unread=_ALGORITHM),
}
