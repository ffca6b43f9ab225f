"""Borders around tensors. Negative widths cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.transform import PadOp
from ...dialects.sizes import Size, proves
from ..importing.converter import Converter
from ..importing.edges import with_edges
from ..importing.tensor import shape_of
from .context import Context
from .promotion import number_term

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def padded(ctx: Context, data: SSAValue, flat: Sequence[int], mode: str) -> SSAValue:
    """nn.pad; `flat` has before and after of the last axis, then of the one before it, and so on."""
    rank = len(shape_of(data))
    if len(flat) % 2 or len(flat) > 2 * rank:
        ctx.fail(f"an even number of widths, at most {2 * rank}", str(list(flat)))
    widths: list[tuple[Size, Size]] = [(0, 0)] * rank
    for at in range(len(flat) // 2):
        widths[rank - 1 - at] = flat[2 * at], flat[2 * at + 1]
    value = number_term(ctx, ctx.number("value", 0) or 0, ctx.dtype_of("self")).value
    if all(proves(item, "==", 0) for width in widths for item in width):
        return ctx.emit(CopyOp, data)
    if all(proves(item, ">=", 0) for width in widths for item in width):
        width = [cast(int, item) for pair in widths for item in pair]
        return ctx.emit(PadOp, data, value, pad_width=width, pad_mode=mode)
    return with_edges(ctx, data, widths, value, mode)


def _pad(ctx: Context) -> SSAValue:
    mode = ctx.word("mode", "constant")
    if mode not in _MODES:
        ctx.fail(f"mode among {', '.join(_MODES)}", repr(mode))
    return padded(ctx, ctx.of("self"), ctx.ints("pad"), _MODES[mode])


def _constant(ctx: Context) -> SSAValue:
    return padded(ctx, ctx.of("self"), ctx.ints("pad"), "constant")


def _of(mode: str) -> Converter[Context]:
    return Converter(lambda ctx: padded(ctx, ctx.of("self"), ctx.ints("padding"), mode))


TABLE: dict[str, Converter[Context]] = {
    "aten.constant_pad_nd.default": Converter(_constant),
    "aten.pad.default": Converter(_pad),
    **{f"aten.reflection_pad{rank}d.default": _of("reflect") for rank in (1, 2, 3)},
    **{f"aten.replication_pad{rank}d.default": _of("edge") for rank in (1, 2, 3)},
}
