"""Layout names: `NCHW16c` is axes N, C, H, W and a block of 16 channels innermost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True)
class Axis:
    """One axis of a layout: `C` (factor 0) or `16c` (factor 16)."""

    letter: str
    factor: int = 0


def parse_layout(layout: str) -> tuple[Axis, ...]:
    """The axes of a layout name, outermost first; raises ValueError for a malformed name."""
    found = re.findall(r"(\d+)([a-z])|([A-Z])", layout)
    axes = tuple(Axis(low.upper(), int(factor)) if low else Axis(high) for factor, low, high in found)
    spelled = "".join(f"{axis.factor}{axis.letter.lower()}" if axis.factor else axis.letter for axis in axes)
    if spelled != layout or not axes:
        raise ValueError(f"layout: expected a name such as NCHW or NCHW16c, got {layout!r}")
    letters = [axis.letter for axis in axes if not axis.factor]
    blocks = [axis.letter for axis in axes if axis.factor]
    if len(set(letters)) != len(letters) or len(set(blocks)) != len(blocks) or not set(blocks) <= set(letters):
        raise ValueError(f"layout: expected each axis once, and at most one block of it, got {layout!r}")
    return axes


def layout_view(x: npt.NDArray[Any], src_layout: str, dst_layout: str) -> npt.NDArray[Any]:
    """`x` brought from one layout to another, as a view if the blocks allow it."""
    src, dst = parse_layout(src_layout), parse_layout(dst_layout)
    in_src = {axis.letter: axis.factor for axis in src if axis.factor}
    in_dst = {axis.letter: axis.factor for axis in dst if axis.factor}
    if any(in_src[letter] != in_dst[letter] for letter in in_src.keys() & in_dst.keys()):
        plain = "".join(axis.letter for axis in src if not axis.factor)
        return layout_view(layout_view(x, src_layout, plain), plain, dst_layout)
    # Split what becomes blocked, permute, merge what was blocked.
    shape: list[int] = []
    names: list[Axis] = []
    for axis, extent in zip(src, x.shape, strict=True):
        factor = in_dst.get(axis.letter, 0)
        if not axis.factor and factor and axis.letter not in in_src:
            shape += [extent // factor, factor]
            names += [axis, Axis(axis.letter, factor)]
        else:
            shape.append(extent)
            names.append(axis)
    order: list[int] = []
    merged: list[int] = []
    for axis in dst:
        parts = [names.index(axis)]
        if not axis.factor and axis.letter in in_src and axis.letter not in in_dst:
            parts.append(names.index(Axis(axis.letter, in_src[axis.letter])))
        order += parts
        merged.append(prod(shape[part] for part in parts))
    return x.reshape(shape).transpose(order).reshape(merged)
