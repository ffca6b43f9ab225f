"""Borders that sizes of the call put on, or cut off: which of the two, no program knows before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.transform import PadOp, StridedSliceOp
from ...dialects.sizes import Size, proves, size_max
from .context import Context
from .tensor import shape_of

Widths = Sequence["tuple[Size, Size]"]
"""Before and after, for each axis; what is below 0 is cut off."""


def with_edges(ctx: Context, data: SSAValue, widths: Widths, value: SSAValue, mode: str = "constant") -> SSAValue:
    """nn.pad as wide as anything may be added, then the part that is wanted: what is cut is not padded.

    Every call is checked: no extent may become negative.
    """
    cut = [(size_max(-before, 0), size_max(-after, 0)) for before, after in widths]
    begin: list[Size] = []
    end: list[Size] = []
    pads: list[Size] = []
    for extent, (before, after), (first, last) in zip(shape_of(data), widths, cut, strict=True):
        whole = extent + before + after
        if not proves(whole, ">=", 0):
            ctx.require(whole)
            whole = size_max(whole, 0)
        pads += [first + before, last + after]
        begin.append(first)
        end.append(first + whole)
    if any(not proves(width, "==", 0) for width in pads):
        data = ctx.emit(PadOp, data, value, pad_width=cast("list[int]", pads), pad_mode=mode)
    return ctx.emit(
        StridedSliceOp, data, begin=cast("list[int]", begin), end=cast("list[int]", end), strides=[1] * len(begin)
    )
