"""Borders whose widths are sizes of the call: only a call decides whether they are padded or cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.transform import PadOp, StridedSliceOp
from ...dialects.sizes import Size, proves, size_max
from .context import Context
from .tensor import shape_of

Widths = Sequence["tuple[Size, Size]"]
"""The widths before and after, for each axis; a negative width is cut off."""


def with_edges(ctx: Context, data: SSAValue, widths: Widths, value: SSAValue, mode: str = "constant") -> SSAValue:
    """Pad an array by the positive widths, then cut off the negative ones.

    Every call checks that no extent becomes negative.
    """
    cut = [(size_max(-before, 0), size_max(-after, 0)) for before, after in widths]
    begin: list[Size] = []
    end: list[Size] = []
    pads: list[Size] = []
    for extent, (before, after), (first, last) in zip(shape_of(data), widths, cut, strict=True):
        extent_after = extent + before + after
        if not proves(extent_after, ">=", 0):
            ctx.require(extent_after)
            extent_after = size_max(extent_after, 0)
        pads += [first + before, last + after]
        begin.append(first)
        end.append(first + extent_after)
    if any(not proves(width, "==", 0) for width in pads):
        data = ctx.emit(PadOp, data, value, pad_width=cast("list[int]", pads), pad_mode=mode)
    return ctx.emit(
        StridedSliceOp, data, begin=cast("list[int]", begin), end=cast("list[int]", end), strides=[1] * len(begin)
    )
