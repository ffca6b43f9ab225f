"""The result of an If whose condition depends on the call's sizes: both branches run, one gives the elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.creation import SizesOp
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.logic import WhereOp
from ...dialects.relay.size_arithmetic import LIMIT, WHOLE, objects, settled
from ...dialects.sizes import Size, same_shape
from ...dialects.sizes.decisions import chosen
from ...provenance.diagnostics import message
from .context import Context
from .converter import Result
from .edges import with_edges
from .sizes import counted
from .tensor import Tensor, Undecided, dtype_of, shape_of


def joined(ctx: Context, condition: Size, then: Tensor, other: Tensor) -> Result:
    """The output of the branch that is taken: sizes as sizes, else where both values meet.

    Outputs whose extents differ are brought to the extents of the one that is taken. Raises Undecided where their ranks
    or dtypes differ, or one is no tensor.
    """
    if then is other:
        return then
    if not (then.plain and other.plain) or then.narrowed or other.narrowed or then.dtype != other.dtype:
        _differ(ctx, condition, "tensors of one dtype")
    if then.array is not None and other.array is not None and then.array.shape == other.array.shape:
        if then.array.size <= LIMIT and then.dtype is not None and then.dtype in WHOLE:
            pairs = zip(then.array.reshape(-1).tolist(), other.array.reshape(-1).tolist(), strict=True)
            sizes = objects([chosen(condition, a, b) for a, b in pairs], then.array.shape)
            return counted(replace(ctx, read=[then, other]), settled(sizes, then.dtype), then.dtype)
    sides = [tensor.materialise(ctx.builder, ctx.module) for tensor in (then, other)]
    shapes: list[Sequence[Size]] = [shape_of(side) for side in sides]
    if len(shapes[0]) != len(shapes[1]):
        _differ(ctx, condition, "outputs of one rank")
    if not same_shape(*shapes):
        wanted = [chosen(condition, a, b) for a, b in zip(*shapes, strict=True)]
        sides = [_brought(ctx, side, wanted) for side in sides]
    holds = ctx.emit(SizesOp, values=cast("list[int]", [condition]), shape=(), dtype="int64")
    return ctx.emit(WhereOp, ctx.emit(CastOp, holds, dtype="bool"), *sides)


def _brought(ctx: Context, value: SSAValue, wanted: Sequence[Size]) -> SSAValue:
    """A value with other extents: what is too much cut off, zeros behind."""
    widths: list[tuple[Size, Size]] = [(0, new - old) for new, old in zip(wanted, shape_of(value), strict=True)]
    zero = ctx.constant(np.zeros((), dtype_of(value)), "zero")
    return with_edges(ctx, value, widths, zero)


def _differ(ctx: Context, condition: Size, wanted: str) -> NoReturn:
    text = message(ctx.op_type, f"{wanted} from both branches", "others", ctx.leaf)
    raise Undecided(text, None, (condition, 1))
