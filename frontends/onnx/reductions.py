"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ...dialects.relay import transform as tr
from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.operator import Operator
from .context import Context
from .converter import Converter


def reduction(op: type[Operator], since: int) -> Callable[[Context], SSAValue]:
    """The converter of a reduction whose axes are an input from opset `since` on."""

    def convert(ctx: Context) -> SSAValue:
        axes = ctx.ints_since(since, "axes", 1)
        if not axes and ctx.int("noop_with_empty_axes", 0):
            return ctx.emit(CopyOp, ctx.value(0))
        return ctx.emit(op, ctx.value(0), axis=axes or None, keepdims=bool(ctx.int("keepdims", 1)))

    return convert


TABLE = {
    "ReduceMax": Converter(reduction(tr.MaxOp, 18)),
    "ReduceMean": Converter(reduction(tr.MeanOp, 18)),
    "ReduceMin": Converter(reduction(tr.MinOp, 18)),
    "ReduceSum": Converter(reduction(tr.SumOp, 13)),
}
