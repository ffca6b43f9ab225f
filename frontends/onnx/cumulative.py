"""Sums and products of all that comes before."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.operator import Operator
from ..importing.converter import Converter
from .context import Context


def cumulative(op: type[Operator]) -> Converter[Context]:
    """The converter of a sum or product along an axis, which is an input."""

    def convert(ctx: Context) -> SSAValue:
        axis = ctx.array(1, "an axis")
        if axis.size != 1 or axis.dtype.kind not in "iu":
            ctx.fail("an axis as one integer", f"{axis.dtype}{list(axis.shape)}")
        return ctx.emit(
            op,
            ctx.value(0),
            axis=int(axis.item()),
            exclusive=ctx.flag("exclusive", others=None),
            reverse=ctx.flag("reverse", others=None),
        )

    return Converter(convert)


TABLE = {"CumProd": cumulative(CumprodOp), "CumSum": cumulative(CumsumOp)}
