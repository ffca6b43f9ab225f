"""Matrix products of relay values, in the fastest form."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.ir import Operation, SSAValue

from ...dialects.relay.core import ConstantOp
from ...dialects.relay.elementwise import MultiplyOp
from ...dialects.relay.matmul import FEW_ROWS, BatchMatmulOp, DenseOp, MatmulOp
from ...dialects.relay.transform import ExpandDimsOp, ReshapeOp, SqueezeOp, TransposeOp
from ...dialects.sizes import broadcast_sizes, holds_zero, proves, same, same_shape
from .context import Context
from .tensor import shape_of

_NEAR = 16
"""The maximal number of operators between a weight and the constants that it is computed from."""


def reshaped(ctx: Context, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    return (
        value
        if same_shape(shape_of(value), shape)
        else ctx.emit(ReshapeOp, value, newshape=shape, allowzero=int(holds_zero(shape)))
    )


def transposed(ctx: Context, value: SSAValue) -> SSAValue:
    """Swap the last two dimensions."""
    rank = len(shape_of(value))
    return ctx.emit(TransposeOp, value, axes=(*range(rank - 2), rank - 1, rank - 2))


def scaled(ctx: Context, value: SSAValue, factor: float) -> SSAValue:
    return value if factor == 1.0 else ctx.emit(MultiplyOp, value, ctx.scalar(factor, value))


def is_constant(value: SSAValue) -> bool:
    """Return whether a value is computed from constants alone, a few operators away."""
    stack: list[SSAValue] = [value]
    for _ in range(_NEAR):
        if not stack:
            return True
        owner = stack.pop().owner
        if not isinstance(owner, Operation) or not (owner.operands or isinstance(owner, ConstantOp)):
            return False
        stack.extend(owner.operands)
    return False


def dense(ctx: Context, data: SSAValue, weight: SSAValue, outputs_first: bool) -> SSAValue:
    """Multiply rows `(m, k)` by a 2-d weight, `(n, k)` if `outputs_first`, else `(k, n)`.

    A constant weight is for nn.dense, transposed if necessary, which packs it at compile time; other weights are
    multiplied in the fastest form.
    """
    ctx.require_equal(shape_of(data)[-1], shape_of(weight)[1 if outputs_first else 0])
    if is_constant(weight):
        return ctx.emit(DenseOp, data, weight if outputs_first else transposed(ctx, weight))
    if outputs_first and proves(shape_of(data)[0], "<=", FEW_ROWS):
        return ctx.emit(DenseOp, data, weight)
    return ctx.emit(MatmulOp, data, transposed(ctx, weight) if outputs_first else weight)


def matrices(ctx: Context, left: SSAValue, right: SSAValue) -> tuple[SSAValue, SSAValue, list[int]]:
    """Return operands of numpy's matmul with at least two dimensions, and the axes that their product has in excess."""
    ranks = len(shape_of(left)), len(shape_of(right))
    if 0 in ranks:
        ctx.fail("operands of at least 1 dimension", f"shapes {list(shape_of(left))} and {list(shape_of(right))}")
    if ranks[0] == 1:
        left = ctx.emit(ExpandDimsOp, left, axis=0)
    if ranks[1] == 1:
        right = ctx.emit(ExpandDimsOp, right, axis=1)
    return left, right, [axis for axis, rank in ((-2, ranks[0]), (-1, ranks[1])) if rank == 1]


def product(ctx: Context, left: SSAValue, right: SSAValue) -> SSAValue:
    """Multiply as numpy's matmul does: by `dense` if the right operand is 2-d, else by nn.batch_matmul."""
    left, right, extra_axes = matrices(ctx, left, right)
    if len(shape_of(right)) == 2:
        *batch, depth = shape_of(left)
        rows = reshaped(ctx, left, (prod(batch), depth))
        result = reshaped(ctx, dense(ctx, rows, right, False), (*batch, shape_of(right)[1]))
    else:
        result = batch_matmul(ctx, left, right)
    return ctx.emit(SqueezeOp, result, axis=extra_axes) if extra_axes else result


def batch_matmul(ctx: Context, left: SSAValue, right: SSAValue) -> SSAValue:
    """Multiply `(.., m, k)` and `(.., k, n)` by nn.batch_matmul, with flat batches unless one broadcasts in part."""
    (*left_batch, m, k), (*right_batch, _, n) = shape_of(left), shape_of(right)
    batch_sizes = broadcast_sizes(left_batch, right_batch)
    if batch_sizes is None:
        ctx.fail("batch dimensions that broadcast", f"{left_batch} and {right_batch}")
    batch = cast("tuple[int, ...]", batch_sizes)
    if all(same(prod(own_batch), 1) or same_shape(own_batch, batch) for own_batch in (left_batch, right_batch)):
        flat = (
            reshaped(ctx, left, (prod(left_batch), m, k)),
            reshaped(ctx, right, (prod(right_batch), *shape_of(right)[-2:])),
        )
        return reshaped(ctx, ctx.emit(BatchMatmulOp, *flat, transpose_b=False), (*batch, m, n))
    operands = [reshaped(ctx, value, (1,) * (3 - len(shape_of(value))) + shape_of(value)) for value in (left, right)]
    return ctx.emit(BatchMatmulOp, *operands, transpose_b=False)
