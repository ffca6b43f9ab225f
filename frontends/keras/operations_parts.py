"""Operations of `keras.ops` that take tensors apart along given axes, turn them, or put them side by side."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ..importing.attributes import Int, Ints
from ..importing.terms import Term, where
from ..meanings import moves, slices
from ..meanings.linear_algebra import trace
from ..meanings.products import kron
from .context import Context
from .nests import items_of
from .operands import array_of, meeting, operands
from .operations_shape import of_list, split
from .rows import Row, declared


def _append(ctx: Context, axis: int | None) -> Term:
    xs = operands(ctx, ctx.argument(0, "x1"), ctx.argument(1, "x2"))
    return moves.concatenate(*(map(moves.flat, xs) if axis is None else xs), axis=axis or 0)


def _select(ctx: Context) -> SSAValue:
    """The value of the first condition that holds, or a default."""
    conditions, values = items_of(ctx.argument(0, "condlist")) or [], items_of(ctx.argument(1, "choicelist")) or []
    if not conditions or len(conditions) != len(values):
        ctx.fail("as many values as conditions", f"{len(values)} and {len(conditions)}")
    *terms, result = operands(ctx, *values, ctx.argument(2, "default", 0))
    for condition, term in reversed(list(zip(conditions, terms, strict=True))):
        (truth,) = operands(ctx, condition)
        result = where(truth.to("bool"), term, result)
    return result.value


def _slice(ctx: Context, x: Term, shape: tuple[int, ...]) -> Term:
    """A part of a shape, from known places on."""
    begins = array_of(ctx, ctx.argument(1, "start_indices"))
    if begins is None:
        ctx.fail("known places, one for each axis", "others")
    return slices.slice_from(x, begins.reshape(-1).astype(np.int64).tolist(), shape)


_DIAGONAL: Any = {"offset": Int(0), "first": Int(0, name="axis1"), "second": Int(1, name="axis2")}

TABLE: dict[str, Row] = {
    "Append": declared(_append, "", axis=Int(None)),
    "ArraySplit": split(uneven=True),
    "Diagonal": declared(slices.diagonal, "x", **_DIAGONAL),
    "Dsplit": split(2),
    "Dstack": of_list(moves.stacked_in_depth),
    "Fliplr": declared(partial(moves.reverse, axes=(1,)), "x"),
    "Flipud": declared(partial(moves.reverse, axes=(0,)), "x"),
    "Hsplit": split(1),
    "Kron": meeting(kron),
    "Rot90": declared(moves.rotate, "array", turns=Int(1, name="k"), axes=Ints(None, count=2)),
    "Select": Row(_select),
    "Slice": declared(_slice, "inputs", shape=Ints()),
    "Trace": declared(trace, "x", **_DIAGONAL),
    "Vsplit": split(0),
}
