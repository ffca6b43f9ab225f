"""The result of an If whose condition depends on the call's sizes: both branches run, and one gives the elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, cast

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
from .edges import padded_then_cut
from .sizes import counted
from .tensor import Tensor, Undecided, shape_of
from .terms import Term


def joined(ctx: Context, condition: Size, then: Tensor, otherwise: Tensor) -> Result:
    """Return the output of the branch that the condition selects, as sizes or by `where`.

    Outputs whose extents differ are cut or padded to those of the selected one. Raises Undecided if their ranks or
    dtypes differ, or if one is no tensor.
    """
    if then is otherwise:
        return then
    if not (then.plain and otherwise.plain) or then.narrowed or otherwise.narrowed or then.dtype != otherwise.dtype:
        _differ(ctx, condition, "tensors of one dtype")
    if then.array is not None and otherwise.array is not None and then.array.shape == otherwise.array.shape:
        if then.array.size <= LIMIT and then.dtype is not None and then.dtype in WHOLE:
            pairs = zip(then.array.reshape(-1).tolist(), otherwise.array.reshape(-1).tolist(), strict=True)
            sizes = objects([chosen(condition, a, b) for a, b in pairs], then.array.shape)
            return counted(replace(ctx, read=[then, otherwise]), settled(sizes, then.dtype), then.dtype)
    sides = [tensor.materialise(ctx.builder, ctx.module) for tensor in (then, otherwise)]
    shapes: list[Sequence[Size]] = [shape_of(side) for side in sides]
    if len(shapes[0]) != len(shapes[1]):
        _differ(ctx, condition, "outputs of one rank")
    if not same_shape(*shapes):
        extents = [chosen(condition, a, b) for a, b in zip(*shapes, strict=True)]
        sides = [_fitted(ctx, side, extents) for side in sides]
    holds = ctx.emit(SizesOp, values=cast("list[int]", [condition]), shape=(), dtype="int64")
    return ctx.emit(WhereOp, ctx.emit(CastOp, holds, dtype="bool"), *sides)


def _fitted(ctx: Context, value: SSAValue, extents: Sequence[Size]) -> SSAValue:
    """Cut or pad a value with zeros at the ends of its axes, to these extents."""
    widths: list[tuple[Size, Size]] = [(0, new - old) for new, old in zip(extents, shape_of(value), strict=True)]
    return padded_then_cut(Term(ctx, value), widths).value


def _differ(ctx: Context, condition: Size, expected: str) -> NoReturn:
    text = message(ctx.op_type, f"{expected} from both branches", "others", ctx.leaf)
    raise Undecided(text, None, (condition, 1))
