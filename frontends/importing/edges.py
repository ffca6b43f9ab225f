"""Borders whose widths are sizes of the call: only a call decides whether they are padded or cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.transform import PadOp, ReshapeOp, StridedSliceOp
from ...dialects.sizes import Size, proves, size_max
from .terms import Term

Widths = Sequence["tuple[Size, Size]"]
"""The widths before and after, for each axis; a negative width is cut off."""


def none_of(widths: Widths) -> bool:
    return all(proves(width, "==", 0) for pair in widths for width in pair)


def grown(x: Term, widths: Widths, value: Term | float, mode: str) -> Term:
    if none_of(widths):
        return x.apply(CopyOp)
    if isinstance(value, Term) and value.shape:
        value = value.apply(ReshapeOp, newshape=())
    flat = cast("list[int]", [width for pair in widths for width in pair])
    return x.apply(PadOp, value, pad_width=flat, pad_mode=mode)


def padded_then_cut(x: Term, widths: Widths, value: Term | float = 0.0, mode: str = "constant") -> Term:
    """A tensor padded by the positive widths, then without the negative ones: borders may repeat what is cut off.

    Every call checks that no extent becomes negative.
    """
    cut = [(size_max(-before, 0), size_max(-after, 0)) for before, after in widths]
    begin: list[Size] = []
    end: list[Size] = []
    pads: list[tuple[Size, Size]] = []
    for extent, (before, after), (first, last) in zip(x.shape, widths, cut, strict=True):
        extent_after = extent + before + after
        if not proves(extent_after, ">=", 0):
            x.ctx.require(extent_after)
            extent_after = size_max(extent_after, 0)
        pads.append((first + before, last + after))
        begin.append(first)
        end.append(first + extent_after)
    wide = x if none_of(pads) else grown(x, pads, value, mode)
    return wide.apply(
        StridedSliceOp, begin=cast("list[int]", begin), end=cast("list[int]", end), strides=[1] * len(begin)
    )
