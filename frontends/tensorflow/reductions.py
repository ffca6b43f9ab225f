"""Reductions, sums along an axis, and what looks for the largest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...dialects.relay import reduce
from ...dialects.relay.cumulative import CumprodOp, CumsumOp
from ...dialects.relay.operator import Operator
from ..importing.attributes import Element, Flag
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import reductions
from .context import Context
from .indexing import picked_rows


def _over(function: Callable[..., Term]) -> Converter[Context]:
    return row(function, "input axes:ints", keepdims=Flag(False, name="keep_dims"))


def _plain(op: type[Operator]) -> Converter[Context]:
    return _over(partial(reductions.reduced, op))


def _l2_loss(x: Term) -> Term:
    """Half the sum of the squares of all elements."""
    return (x * x).apply(reduce.SumOp) * 0.5


def _place(op: type[Operator]) -> Converter[Context]:
    def computed(x: Term, axis: int, output_type: np.dtype[np.generic]) -> Term:
        return reductions.place(op, x, axis, dtype=output_type.name)

    return row(computed, "input dimension:size", output_type=Element(np.dtype("int64")))


def _running(op: type[Operator]) -> Converter[Context]:
    return row(partial(reductions.running, op), "x axis:size", exclusive=Flag(False), reverse=Flag(False))


def _in_top_k(ctx: Context, predictions: Term, targets: Term, k: int) -> Term:
    """True where fewer than k predictions are above that of the target."""
    above = (predictions > picked_rows(ctx, predictions, targets)).to("int32")
    return above.apply(reduce.SumOp, axis=(1,), keepdims=False) < k


TABLE: dict[str, Converter[Context]] = {
    "L2Loss": row(_l2_loss, "t"),
    "All": _plain(reduce.AllOp),
    "Any": _plain(reduce.AnyOp),
    "ArgMax": _place(reduce.ArgMaxOp),
    "ArgMin": _place(reduce.ArgMinOp),
    "Cumprod": _running(CumprodOp),
    "Cumsum": _running(CumsumOp),
    "CumulativeLogsumexp": row(
        reductions.running_log_sum_exp, "x axis:size", exclusive=Flag(False), reverse=Flag(False)
    ),
    "EuclideanNorm": _over(reductions.norm_2),
    "InTopKV2": row(_in_top_k, "predictions targets k:size"),
    "Max": _plain(reduce.MaxOp),
    "Mean": _plain(reduce.MeanOp),
    "Min": _plain(reduce.MinOp),
    "Prod": _plain(reduce.ProdOp),
    "Sum": _plain(reduce.SumOp),
    "TopKV2": row(reductions.top_k, "input k:size", dtype=Element(np.dtype("int32"), name="index_type")),
}
