"""Pad: an attribute before opset 11, inputs since. Negative widths cut off."""

from __future__ import annotations

from ...dialects.sizes import SizeExpr, proves, size_max
from ..importing.attributes import Word
from ..importing.converter import Converter, Result, convert_all_parts
from ..importing.edges import Widths
from ..importing.rows import row
from ..importing.tensor import Tensor
from ..importing.terms import Term, term
from ..meanings import pads
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


def _value(ctx: Context) -> Term | float:
    if ctx.opset < 11:
        return ctx.float("value", 0.0)
    return term(ctx, 2) if ctx.has(2) else 0.0


def _check(ctx: Context, x: Term, widths: Widths, mode: str) -> None:
    """Have a border repeat elements that there are; one that is reflected each of them once."""
    for extent, (before, after) in zip(x.shape, widths, strict=True):
        most = size_max(before, after)
        if mode == "wrap":
            # Round from the other side comes what is not cut there.
            for width in (before, after):
                if isinstance(width, SizeExpr):
                    ctx.require_least(width, 0, f"whether a pad is {width}")
        if proves(most, "<=", 0):
            continue
        kept = extent - size_max(-before, -after, 0)
        if proves(kept, "==", 0):
            ctx.fail(f"an extent of at least 1 for mode {mode}", f"0, padded by {(before, after)}")
        ctx.require(kept - (size_max(most, 0) + 1 if mode == "reflect" else 1))


def _pad(ctx: Context, x: Term, mode: str) -> Term:
    widths = _widths(ctx, len(x.shape))
    if mode != "constant":
        _check(ctx, x, widths, mode)
    return pads.padded(x, widths, _value(ctx), mode)


_PAD = row(_pad, "data", mode=Word("constant", among=("constant", "edge", "reflect", "wrap")))


def _pad_of_microsoft(ctx: Context) -> Result | tuple[Result, ...]:
    """`Pad`, whose pads may be the one row of a matrix, whatever the model's opset."""
    widths = ctx.tensor(1)
    if len(ctx.shape(1)) == 2:
        widths = Tensor(widths.name, ctx.array(1, "pads").reshape(-1))
    return convert_all_parts(_PAD.convert, ctx.with_inputs([ctx.tensor(0), widths, *ctx.inputs_from(2)], opset=13))


TABLE = {"Pad": _PAD}
MICROSOFT = {"Pad": Converter(_pad_of_microsoft)}
