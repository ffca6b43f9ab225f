"""Layers of several inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay.norms import L2NormalizeOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.transform import ConcatenateOp, TransposeOp
from ..importing.products import batch_matmul, reshaped, scaled
from ..importing.tensor import shape_of
from .context import Context
from .nests import whole, wholes
from .rows import Row


def _inputs(ctx: Context, least: int = 2) -> list[SSAValue]:
    """The inputs, of one rank: axes of 1 after the batch."""
    values = ctx.operands()
    if len(values) < least:
        ctx.fail(f"a list of at least {least} tensors", str(len(values)))
    rank = max(len(shape_of(value)) for value in values)
    grown: list[SSAValue] = []
    for value in values:
        batch, *rest = shape_of(value) or (1,)
        grown.append(reshaped(ctx, value, (batch, *(1,) * (rank - 1 - len(rest)), *rest)) if rank else value)
    return grown


def merged(op: type[Operator]) -> Callable[[Context], SSAValue]:
    return lambda ctx: reduce(lambda a, b: ctx.emit(op, a, b), _inputs(ctx))


def subtract(ctx: Context) -> SSAValue:
    values = _inputs(ctx)
    if len(values) != 2:
        ctx.fail("two tensors", str(len(values)))
    return ctx.emit(ew.SubtractOp, *values)


def average(ctx: Context) -> SSAValue:
    values = _inputs(ctx)
    return scaled(ctx, reduce(lambda a, b: ctx.emit(ew.AddOp, a, b), values), 1 / len(values))


def concatenate(ctx: Context) -> SSAValue:
    values = ctx.operands()
    if not values:
        ctx.fail("a list of tensors", "none")
    return ctx.emit(ConcatenateOp, values, axis=ctx.axis(ctx.int("axis", -1), len(shape_of(values[0]))))


def dot(ctx: Context) -> SSAValue:
    """The product of two tensors along one axis of each, for each of the batch."""
    values = ctx.operands()
    if len(values) != 2 or any(len(shape_of(value)) < 2 for value in values):
        ctx.fail("two tensors of at least 2 dimensions", str([list(shape_of(value)) for value in values]))
    ranks = [len(shape_of(value)) for value in values]
    option = ctx.option("axes")
    pair = [option, option] if whole(option) is not None else wholes(option)
    if pair is None or len(pair) != 2:
        ctx.fail("'axes' as one number or two", repr(option))
    axes = [ctx.axis(axis, rank) for axis, rank in zip(pair, ranks, strict=True)]
    if 0 in axes:
        ctx.fail("axes after the batch", str(axes))
    if ctx.bool("normalize", False):
        values = [
            ctx.emit(L2NormalizeOp, value, axis=(axis,), eps=1e-12) for value, axis in zip(values, axes, strict=True)
        ]
    left, right = values
    ctx.require_equal(shape_of(left)[axes[0]], shape_of(right)[axes[1]])
    depth = shape_of(left)[axes[0]]
    batch = shape_of(left)[0]
    rows = [at for at in range(1, ranks[0]) if at != axes[0]]
    columns = [at for at in range(1, ranks[1]) if at != axes[1]]
    outer = [shape_of(left)[at] for at in rows], [shape_of(right)[at] for at in columns]
    left = reshaped(ctx, _ordered(ctx, left, (0, *rows, axes[0])), (batch, prod(outer[0]), depth))
    right = reshaped(ctx, _ordered(ctx, right, (0, axes[1], *columns)), (batch, depth, prod(outer[1])))
    shape = (batch, *outer[0], *outer[1])
    return reshaped(ctx, batch_matmul(ctx, left, right), shape if len(shape) > 1 else (batch, 1))


def _ordered(ctx: Context, value: SSAValue, axes: tuple[int, ...]) -> SSAValue:
    return value if axes == tuple(range(len(axes))) else ctx.emit(TransposeOp, value, axes=axes)


TABLE = {
    "Add": Row(merged(ew.AddOp)),
    "Average": Row(average),
    "Concatenate": Row(concatenate),
    "Dot": Row(dot),
    "Maximum": Row(merged(ew.MaximumOp)),
    "Minimum": Row(merged(ew.MinimumOp)),
    "Multiply": Row(merged(ew.MultiplyOp)),
    "Subtract": Row(subtract),
}
