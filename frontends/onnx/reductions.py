"""Reductions over axes, the places of extremes, and sums and products of all that comes before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...dialects.relay import reduce
from ...dialects.relay.cumulative import CumprodOp, CumsumOp, Cumulative
from ..importing.attributes import Flag, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import reductions
from .context import Context

_KEEPDIMS = Flag(True, others=False)


def _over(function: Callable[..., Term], since: int = 18, wide: bool = False) -> Converter[Context]:
    """The row of a reduction whose axes are an input from opset `since` on.

    wide: roots and logarithms of integers are of float64, and rounded towards zero.
    """

    def computed(ctx: Context, x: Term, keepdims: bool, noop: bool) -> Term:
        axes = ctx.ints_since(since, "axes", 1) or (() if noop else None)
        number = x.to("float64") if wide and x.dtype.kind in "iu" else x
        return function(number, axes, keepdims).to(x.dtype)

    return row(computed, "data", keepdims=_KEEPDIMS, noop=Flag(False, name="noop_with_empty_axes", others=False))


def _plain(op: type[reduce.Reduce], since: int = 18) -> Converter[Context]:
    return _over(partial(reductions.reduced, op), since)


def _place(op: type[reduce.Reduce]) -> Converter[Context]:
    return row(
        partial(reductions.place, op),
        "data",
        axis=Int(0),
        keepdims=_KEEPDIMS,
        last=Flag(False, name="select_last_index"),
    )


def _running(op: type[Cumulative]) -> Converter[Context]:
    """The row of a sum or product along an axis, which is an input."""
    run = partial(reductions.running, op)
    return row(run, "x axis:size", exclusive=Flag(False, others=None), reverse=Flag(False, others=None))


TABLE = {
    "ArgMax": _place(reduce.ArgMaxOp),
    "ArgMin": _place(reduce.ArgMinOp),
    "CumProd": _running(CumprodOp),
    "CumSum": _running(CumsumOp),
    "ReduceL1": _over(reductions.norm_1),
    "ReduceL2": _over(reductions.norm_2, wide=True),
    "ReduceLogSum": _over(reductions.log_of_sum, wide=True),
    "ReduceLogSumExp": _over(reductions.log_sum_exp, wide=True),
    "ReduceMax": _plain(reduce.MaxOp),
    "ReduceMean": _plain(reduce.MeanOp),
    "ReduceMin": _plain(reduce.MinOp),
    "ReduceProd": _plain(reduce.ProdOp),
    "ReduceSum": _plain(reduce.SumOp, since=13),
    "ReduceSumSquare": _over(reductions.sum_of_squares),
}
