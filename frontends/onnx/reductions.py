"""Reductions over axes: of what each element contributes, and what becomes of the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.relay import elementwise as ew
from ...dialects.relay import reduce
from ...dialects.relay.operator import Operator
from ..importing.converter import Converter
from ..importing.terms import Term, absolute, exp, log, sqrt, term, wide_term
from ..meanings.formulas import log_sum_exp
from .context import Context

_Function = Callable[[Term], Term]


def _itself(x: Term) -> Term:
    return x


def _square(x: Term) -> Term:
    return x * x


@dataclass(frozen=True)
class Reduction:
    """`after` of the reduction of `before` of the elements; whose axes are an input from opset `since` on."""

    op: type[Operator] = reduce.SumOp
    before: _Function = _itself
    after: _Function = _itself
    since: int = 18

    def __call__(self, ctx: Context) -> SSAValue:
        own = ctx.dtype(0)
        plain = self.before is _itself and self.after is _itself
        data = term(ctx, 0) if plain else wide_term(ctx, 0)
        if own.kind in "iu" and self.after is not _itself:
            # Roots and logarithms are of floats, and rounded towards zero.
            data = data.to("float64")
        axes, noop = ctx.ints_since(self.since, "axes", 1), ctx.is_one("noop_with_empty_axes")
        keepdims = ctx.is_one("keepdims", True)
        if noop and not axes:
            same = self.after(self.before(data)).to(own)
            return same.value if same.value is not ctx.value(0) else ctx.emit(ew.CopyOp, same.value)
        return self.reduced(data, axes or None, keepdims).to(own).value

    def reduced(self, data: Term, axes: tuple[int, ...] | None, keepdims: bool) -> Term:
        return self.after(self.before(data).apply(self.op, axis=axes, keepdims=keepdims))


class LogSumExp(Reduction):
    """One that is computed as a whole, so that nothing overflows on the way."""

    def reduced(self, data: Term, axes: tuple[int, ...] | None, keepdims: bool) -> Term:
        return log_sum_exp(data, axes, keepdims)


def arg_reduction(op: type[Operator]) -> Converter[Context]:
    """The converter of the place of an extreme along an axis, an int64."""

    def convert(ctx: Context) -> SSAValue:
        found = term(ctx, 0).apply(
            op,
            axis=[ctx.int("axis", 0)],
            keepdims=ctx.is_one("keepdims", True),
            select_last_index=ctx.flag("select_last_index"),
        )
        return found.to("int64").value

    return Converter(convert)


TABLE = {
    "ArgMax": arg_reduction(reduce.ArgMaxOp),
    "ArgMin": arg_reduction(reduce.ArgMinOp),
    "ReduceL1": Converter(Reduction(before=absolute)),
    "ReduceL2": Converter(Reduction(before=_square, after=sqrt)),
    "ReduceLogSum": Converter(Reduction(after=log)),
    "ReduceLogSumExp": Converter(LogSumExp(before=exp, after=log)),
    "ReduceMax": Converter(Reduction(reduce.MaxOp)),
    "ReduceMean": Converter(Reduction(reduce.MeanOp)),
    "ReduceMin": Converter(Reduction(reduce.MinOp)),
    "ReduceProd": Converter(Reduction(reduce.ProdOp)),
    "ReduceSum": Converter(Reduction(since=13)),
    "ReduceSumSquare": Converter(Reduction(before=_square)),
}
