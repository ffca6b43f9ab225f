"""Reductions, sums along an axis, and what looks for the largest."""

from __future__ import annotations

from functools import partial

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay import reduce
from ...dialects.relay.cumulative import CumsumOp
from ...dialects.relay.operator import Operator
from ..importing.attributes import Flag, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import reductions
from .context import Context
from .values import DTYPES


def _over(op: type[Operator]) -> Converter[Context]:
    return row(partial(reductions.reduced, op), "input axes:ints", keepdims=Flag(False, name="KeepDims"))


_PLACES = {2: "int32", 4: "int64"}
"""The element types of positions, by their numbers in options."""


def _place(op: type[Operator], ctx: Context, x: Term, axis: int, stated: int) -> Term:
    dtype = DTYPES.get(ctx.out().type, np.dtype(np.int32)).name
    if _PLACES.get(stated, dtype) != dtype:
        ctx.fail(f"an output of {_PLACES[stated]}, as the options say", dtype)
    return reductions.place(op, x, axis, dtype=dtype)


def _extreme(op: type[Operator]) -> Converter[Context]:
    return row(partial(_place, op), "input axis:size", stated=Int(0, name="OutputType"))


def _top_k(ctx: Context, x: Term, k: int) -> tuple[SSAValue, ...]:
    return reductions.top_k(x, k, dtype=DTYPES.get(ctx.out(1).type, np.dtype(np.int32)))


TABLE = {
    "ARG_MAX": _extreme(reduce.ArgMaxOp),
    "ARG_MIN": _extreme(reduce.ArgMinOp),
    "CUMSUM": row(
        partial(reductions.running, CumsumOp),
        "input axis:size",
        exclusive=Flag(False, name="Exclusive"),
        reverse=Flag(False, name="Reverse"),
    ),
    "MEAN": _over(reduce.MeanOp),
    "REDUCE_ALL": _over(reduce.AllOp),
    "REDUCE_ANY": _over(reduce.AnyOp),
    "REDUCE_MAX": _over(reduce.MaxOp),
    "REDUCE_MIN": _over(reduce.MinOp),
    "REDUCE_PROD": _over(reduce.ProdOp),
    "SUM": _over(reduce.SumOp),
    "TOPK_V2": row(_top_k, "input k:size"),
}
