"""Operators that read and write at indices which are data, and that find elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...dialects.relay.indexing import ReverseSequenceOp
from ...dialects.relay.scatter import TensorScatterOp
from ..importing.attributes import Int, Word
from ..importing.converter import Converter, Narrowed
from ..importing.rows import row
from ..importing.terms import Term, axis_of
from ..meanings.indices import check_indices, gather_nd, one_hot, points_of, take, take_along, take_true
from ..meanings.scatters import scatter_elements, scatter_nd
from ..meanings.slices import cut
from .context import Context
from .known import filled_value

_MODES = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _scatter(function: Callable[..., Term], **attributes: Any) -> Converter[Context]:
    def computed(x: Term, indices: Term, updates: Term, reduction: str, **options: int) -> Term:
        return function(x, indices, updates, how=_MODES[reduction], rule="from_end", **options)

    return row(computed, "data indices updates", reduction=Word("none", among=tuple(_MODES)), **attributes)


def _tensor_scatter(ctx: Context, cache: Term, update: Term, start: Term | None, axis: int, mode: str) -> Term:
    axis = axis_of(cache, axis)
    room, rows = cache.shape[axis], update.shape[axis]
    ctx.require_least(room, rows, f"whether {rows} rows fit in {room}")
    if start is None:
        start = Term(ctx, filled_value(ctx, np.zeros((), np.int64), cache.shape[:1], "write_indices"))
    elif mode == "linear":
        check_indices(start, [room - rows + 1])
    return cache.apply(TensorScatterOp, update, start, axis=axis, mode=mode)


def _one_hot(indices: Term, depth: int, values: Term, axis: int) -> Term:
    """`one_hot` of numbers of any type; the two values are one input."""
    off, on = (cut(values, 0, at, at + 1) for at in (0, 1))
    return one_hot(indices.to("int64"), depth, on, off, axis, from_end=True)


def _compress(x: Term, condition: Term, axis: int | None) -> Narrowed:
    """The places where the condition, which may be shorter than the axis, holds; without an axis, among all."""
    x, axis = (x.reshape(prod(x.shape)), 0) if axis is None else (x, axis_of(x, axis))
    if condition.shape[0] > x.shape[axis]:
        condition = cut(condition, 0, 0, x.shape[axis])
    return take_true(x, condition, axis)


_GATHER_ND = row(partial(gather_nd, rule="from_end"), "data indices", batch=Int(0, name="batch_dims"))

TABLE = {
    "Compress": row(_compress, "input condition", axis=Int(None)),
    "Gather": row(partial(take, rule="from_end"), "data indices", axis=Int(0)),
    "GatherElements": row(partial(take_along, rule="from_end"), "data indices", axis=Int(0)),
    "GatherND": _GATHER_ND,
    "NonZero": row(partial(points_of, scalar_rank=1, columns=True), "X"),
    "OneHot": row(_one_hot, "indices depth:size values", axis=Int(-1)),
    "ReverseSequence": row(
        ReverseSequenceOp, "input sequence_lens", seq_axis=Int(0, name="time_axis"), batch_axis=Int(1)
    ),
    "Scatter": _scatter(scatter_elements, axis=Int(0)),
    "ScatterElements": _scatter(scatter_elements, axis=Int(0)),
    "ScatterND": _scatter(scatter_nd),
    "TensorScatter": row(
        _tensor_scatter,
        "past_cache update write_indices?",
        axis=Int(-2),
        mode=Word("linear", among=("linear", "circular")),
    ),
}
MICROSOFT = {"GatherND": _GATHER_ND}
