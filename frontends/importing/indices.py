"""Indices in tensors: checks of known ones, and conversion of negative ones."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, CastOp, LessOp, MultiplyOp
from ...runtime.program.index_bounds import IndexBound
from .context import Context
from .tensor import dtype_of


def check_indices(ctx: Context, index: int, extents: Sequence[int], ignored: tuple[int, ...] | None = None) -> None:
    """Raise FrontendError if input `index` is known and has indices beyond `extents`, one for each axis or one for all.

    ignored: as for `require_indices`. Every call checks inputs of the program; computed indices are clipped.
    """
    known = ctx.tensor(index).array
    if known is None:
        ctx.require_indices(index, extents, ignored)
        return
    if IndexBound(index, tuple(extents), ignored=ignored).outside(known).any():
        expected = f"[-{list(extents)}, {list(extents)})" if ignored is None else f"[0, {extents[0]})"
        ctx.fail(f"indices in {expected}", f"{known.min()} to {known.max()}")


def wrapped(ctx: Context, indices: SSAValue, extent: int) -> SSAValue:
    """Return indices from 0 on for indices that may count from the end, in relay operators."""
    if dtype_of(indices).kind == "u":
        return indices
    is_negative = ctx.emit(CastOp, ctx.emit(LessOp, indices, ctx.scalar(0, indices)), dtype=dtype_of(indices).name)
    return ctx.emit(AddOp, indices, ctx.emit(MultiplyOp, is_negative, ctx.scalar(extent, indices)))
