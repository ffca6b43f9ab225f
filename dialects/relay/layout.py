"""Layout names: `NCHW16c` is axes N, C, H, W and a block of 16 channels innermost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from .numerics import AnyArray
from .signature import Signature


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


def axes_of(sig: Signature, attribute: str, letters: str = "") -> tuple[Axis, ...]:
    """The axes of the layout that an attribute names, which must be `letters` if given; complains through `sig`."""
    layout = sig.str(attribute)
    try:
        axes = parse_layout(layout)
    except ValueError:
        example = letters or "NCHW"
        sig.fail(f"{attribute} such as {example} or {example}16{example[1].lower()}", repr(layout))
    if letters and {axis.letter for axis in axes} != set(letters):
        sig.fail(f"{attribute} of the axes {', '.join(letters)}", repr(layout))
    return axes


def logical_shape(shape: Sequence[int], axes: Sequence[Axis]) -> dict[str, int]:
    """Letter -> full extent of a tensor of `shape` in the layout `axes`."""
    full = {axis.letter: extent for axis, extent in zip(axes, shape, strict=True) if not axis.factor}
    for axis in axes:
        if axis.factor:
            full[axis.letter] *= axis.factor
    return full


def blocked_shape(sig: Signature, shape: Sequence[int]) -> list[int]:
    """The shape of a tensor brought from `src_layout` to `dst_layout`; complains through `sig`."""
    src_layout, dst_layout = sig.str("src_layout"), sig.str("dst_layout")
    src, dst = axes_of(sig, "src_layout"), axes_of(sig, "dst_layout")
    if len(src) != len(shape):
        sig.fail(f"a {len(src)}-d operand for layout {src_layout}", str(sig.types[0]))
    if {axis.letter for axis in src} != {axis.letter for axis in dst}:
        sig.fail("layouts of the same axes", f"{src_layout} and {dst_layout}")
    full = logical_shape(shape, src)
    factors = {axis.letter: axis.factor for axis in dst if axis.factor}
    for letter, factor in factors.items():
        if full[letter] % factor:
            sig.fail(f"axis {letter} divisible by {factor}", f"extent {full[letter]}")
    return [axis.factor or full[axis.letter] // factors.get(axis.letter, 1) for axis in dst]


def layout_view(x: AnyArray, src_layout: str, dst_layout: str) -> AnyArray:
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
