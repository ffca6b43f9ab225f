"""Layout names: `NCHW16c` is axes N, C, H, W and a block of 16 channels innermost.

An axis may have several blocks, as in `OHWI16i64o2i`: those on the right lie within those on the left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True)
class Axis:
    """An axis of a layout: `C` (factor 0) or `16c` (factor 16)."""

    letter: str
    factor: int = 0


@lru_cache(maxsize=1 << 10)
def parse_layout(layout: str) -> tuple[Axis, ...]:
    """Return the axes of a layout name, outermost first; raises ValueError for a malformed name."""
    matches = re.findall(r"(\d+)([a-z])|([A-Z])", layout)
    axes = tuple(Axis(low.upper(), int(factor)) if low else Axis(high) for factor, low, high in matches)
    name = "".join(f"{axis.factor}{axis.letter.lower()}" if axis.factor else axis.letter for axis in axes)
    if name != layout or not axes:
        raise ValueError(f"layout: expected a name such as NCHW or NCHW16c, got {layout!r}")
    letters = [axis.letter for axis in axes if not axis.factor]
    if len(set(letters)) != len(letters) or not {axis.letter for axis in axes} <= set(letters):
        raise ValueError(f"layout: expected each axis once, and blocks of those only, got {layout!r}")
    return axes


def strides(axes: Sequence[Axis]) -> list[int]:
    """Return the stride of each axis in elements of its letter: in `OI16i64o2i`, O has 64, I has 32, and 16i has 2."""
    steps = [1] * len(axes)
    inner: dict[str, int] = {}
    # Whole axes come last: all blocks lie within them, wherever they stand.
    for at in sorted(range(len(axes)), key=lambda at: (not axes[at].factor, -at)):
        axis = axes[at]
        steps[at] = inner.get(axis.letter, 1)
        inner[axis.letter] = steps[at] * (axis.factor or 1)
    return steps


def layout_view(x: npt.NDArray[Any], src_layout: str, dst_layout: str) -> npt.NDArray[Any]:
    """Return `x` in another layout, as a view if the blocks allow it."""
    src, dst = parse_layout(src_layout), parse_layout(dst_layout)
    src_strides, dst_strides = strides(src), strides(dst)
    cuts: dict[str, list[int]] = {}
    for letter in {axis.letter for axis in src}:
        both = zip((*src, *dst), (*src_strides, *dst_strides), strict=True)
        cuts[letter] = sorted({stride for axis, stride in both if axis.letter == letter})
        if any(outer % inner for inner, outer in pairwise(cuts[letter])):
            plain = "".join(axis.letter for axis in src if not axis.factor)
            return layout_view(layout_view(x, src_layout, plain), plain, dst_layout)

    def parts(axis: Axis, stride: int) -> list[tuple[str, int]]:
        """Return the parts of an axis, outermost first: its letter, and the stride of the part."""
        inside = (at for at in cuts[axis.letter] if at >= stride and (not axis.factor or at < stride * axis.factor))
        return [(axis.letter, at) for at in sorted(inside, reverse=True)]

    # Split all axes at the strides of both layouts, permute, merge.
    extents: dict[tuple[str, int], int] = {}
    for axis, stride, extent in zip(src, src_strides, x.shape, strict=True):
        top = extent * stride
        for part in parts(axis, stride):
            extents[part] = top // part[1]
            top = part[1]
    positions = {part: index for index, part in enumerate(extents)}
    groups = [parts(axis, stride) for axis, stride in zip(dst, dst_strides, strict=True)]
    order = [positions[part] for group in groups for part in group]
    shape = [prod(extents[part] for part in group) for group in groups]
    return x.reshape(list(extents.values())).transpose(order).reshape(shape)
