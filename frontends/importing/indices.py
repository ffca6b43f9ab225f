"""Indices that are data: checked as far as they are known, and counted from the beginning."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import AddOp, CastOp, LessOp, MultiplyOp
from ...runtime.program.index_bounds import IndexBound
from .context import Context
from .tensor import dtype_of


def check_indices(ctx: Context, index: int, extents: Sequence[int], ignored: tuple[int, ...] | None = None) -> None:
    """Complain when input `index`, if it is known, has indices outside of axes of `extents` (one along the last axis).

    ignored: as for `require_indices`. Of an input of the program every call is checked; what the program computes is
    brought to the nearest inside.
    """
    known = ctx.tensor(index).array
    if known is None:
        ctx.require_indices(index, extents, ignored)
        return
    if IndexBound(index, tuple(extents), ignored=ignored).outside(known).any():
        expected = f"[-{list(extents)}, {list(extents)})" if ignored is None else f"[0, {extents[0]})"
        ctx.fail(f"indices in {expected}", f"{known.min()} to {known.max()}")


def wrapped(ctx: Context, indices: SSAValue, extent: int) -> SSAValue:
    """Indices of which those below 0 are counted from the end, in relay operators."""
    if dtype_of(indices).kind == "u":
        return indices
    wraps = ctx.emit(CastOp, ctx.emit(LessOp, indices, ctx.scalar(0, indices)), dtype=dtype_of(indices).name)
    return ctx.emit(AddOp, indices, ctx.emit(MultiplyOp, wraps, ctx.scalar(extent, indices)))
