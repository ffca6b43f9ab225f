"""Borders around tensors. Negative widths cut off."""

from __future__ import annotations

from ...dialects.sizes import Size
from ..importing.attributes import Ints, Word
from ..importing.converter import Converter
from ..importing.edges import padded_then_cut
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import pads
from .context import Context
from .promotion import number_term

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad(ctx: Context, x: Term, flat: tuple[int, ...], mode: str = "constant") -> Term:
    """`flat` has before and after of the last axis, then of the one before it, and so on."""
    rank = len(x.shape)
    if len(flat) % 2 or len(flat) > 2 * rank:
        ctx.fail(f"an even number of widths, at most {2 * rank}", str(list(flat)))
    widths: list[tuple[Size, Size]] = [(0, 0)] * rank
    for at in range(len(flat) // 2):
        widths[rank - 1 - at] = flat[2 * at], flat[2 * at + 1]
    value = number_term(ctx, ctx.number("value", 0) or 0, x.dtype)
    # What is cut off may still be reflected.
    function = pads.padded if mode in ("constant", "circular") else padded_then_cut
    return function(x, widths, value, _MODES[mode])


def _of(mode: str) -> Converter[Context]:
    def convert(ctx: Context, x: Term, flat: tuple[int, ...]) -> Term:
        return _pad(ctx, x, flat, mode)

    return row(convert, "self", flat=Ints(name="padding"))


TABLE: dict[str, Converter[Context]] = {
    "aten.constant_pad_nd.default": row(_pad, "self", flat=Ints(name="pad")),
    "aten.pad.default": row(_pad, "self", flat=Ints(name="pad"), mode=Word("constant", among=tuple(_MODES))),
    **{f"aten.reflection_pad{rank}d.default": _of("reflect") for rank in (1, 2, 3)},
    **{f"aten.replication_pad{rank}d.default": _of("replicate") for rank in (1, 2, 3)},
}
