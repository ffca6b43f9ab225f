"""Pad: an attribute before opset 11, inputs since. Negative widths cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.transform import PadOp, ReshapeOp, StridedSliceOp
from ...dialects.sizes import Size, SizeExpr, decide, proves, size_max
from ..importing.converter import Converter, convert_all_parts
from ..importing.edges import with_edges
from ..importing.tensor import Tensor, shape_of
from .context import Context
from .shaping import axis_of


def _widths(ctx: Context, rank: int) -> list[tuple[int, int]]:
    """Before and after, for each axis."""
    given = (ctx.ints_since(11, "pads", 1)) or ()
    axes = tuple(range(rank))
    if ctx.has(3):
        axes = tuple(axis_of(ctx, axis, rank) for axis in ctx.known_ints(3, "axes"))
    if len(given) != 2 * len(axes) or len(set(axes)) != len(axes):
        ctx.fail(f"{2 * len(axes)} pads, for axes that differ", f"{list(given)} for axes {list(axes)}")
    widths = [(0, 0)] * rank
    for axis, before, after in zip(axes, given[: len(axes)], given[len(axes) :], strict=True):
        widths[axis] = before, after
    return widths


def _value(ctx: Context, data: SSAValue) -> SSAValue:
    """Return the padding value, a scalar."""
    if ctx.opset < 11:
        return ctx.scalar(ctx.float("value", 0.0), data)
    if not ctx.has(2):
        return ctx.scalar(0, data)
    value = ctx.value(2)
    return value if shape_of(value) == () else ctx.emit(ReshapeOp, value, newshape=())


def _open(ctx: Context, data: SSAValue, widths: list[tuple[int, int]], mode: str) -> SSAValue:
    """Widths of which the call decides whether they are added or cut off."""
    for extent, (before, after) in zip(shape_of(data), widths, strict=True):
        if mode == "wrap":
            # Round from the other side comes what is not cut there.
            for one in (before, after):
                if isinstance(cast(Size, one), SizeExpr):
                    ctx.require_least(one, 0, f"whether a pad is {one}")
        if mode != "constant" and not proves(size_max(before, after), "<=", 0):
            kept = extent - size_max(-before, -after, 0)
            ctx.require(kept - (size_max(before, after, 0) + 1 if mode == "reflect" else 1))
    return with_edges(ctx, data, widths, _value(ctx, data), mode)


def pad(ctx: Context) -> SSAValue:
    """nn.pad; strided_slice before it where a width is negative."""
    mode = ctx.word("mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        ctx.fail("mode constant, edge, reflect or wrap", repr(mode))
    data, shape = ctx.value(0), ctx.shape(0)
    widths = _widths(ctx, len(shape))
    cuts = [any(decide(0, "<=", one) is not True for one in width) for width in widths]
    for cut, sizes in zip(cuts, zip(shape, *zip(*widths, strict=True), strict=True), strict=True):
        if cut and any(isinstance(size, SizeExpr) for size in cast("Sequence[Size]", sizes)):
            return _open(ctx, data, widths, mode)
    if any(cuts):
        begin = [max(-before, 0) for before, _ in widths]
        end = [extent + min(after, 0) for extent, (_, after) in zip(shape, widths, strict=True)]
        if any(b > e for b, e in zip(begin, end, strict=True)):
            ctx.fail("pads that leave something", f"{widths} of {list(shape)}")
        data = ctx.emit(StridedSliceOp, data, begin=begin, end=end, strides=[1] * len(shape))
    kept = shape_of(data)
    for extent, width in zip(kept, widths, strict=True):
        most = size_max(*width)
        if mode != "constant" and not proves(most, "<=", 0):
            if proves(extent, "==", 0):
                ctx.fail(f"an extent of at least 1 for mode {mode}", f"0, padded by {width}")
            ctx.require(extent - (most + 1 if mode == "reflect" else 1))
    flat = [cast(int, size_max(w, 0)) for width in widths for w in width]
    return ctx.emit(PadOp, data, _value(ctx, data), pad_width=flat, pad_mode=mode)


def pad_of_microsoft(ctx: Context) -> SSAValue:
    """`pad`, whose pads may be the one row of a matrix, whatever the model's opset."""
    widths = ctx.tensor(1)
    if len(ctx.shape(1)) == 2:
        widths = Tensor(widths.name, ctx.array(1, "pads").reshape(-1))
    return convert_all_parts(pad, ctx.with_inputs([ctx.tensor(0), widths, *ctx.inputs_from(2)], opset=13))


TABLE = {
    "Pad": Converter(pad),
}
MICROSOFT = {"Pad": Converter(pad_of_microsoft)}
