"""Layout names: `NCHW16c` is axes N, C, H, W and a block of 16 channels innermost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .operator import Signature


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


def logical_shape(shape: Sequence[int], axes: Sequence[Axis]) -> dict[str, int]:
    """Letter -> full extent of a tensor of `shape` in the layout `axes`."""
    full = {axis.letter: extent for axis, extent in zip(axes, shape, strict=True) if not axis.factor}
    for axis in axes:
        if axis.factor:
            full[axis.letter] *= axis.factor
    return full


def blocked_shape(sig: Signature, shape: Sequence[int], src_layout: str, dst_layout: str) -> list[int]:
    """The shape of a tensor brought from `src_layout` to `dst_layout`; complains through `sig`."""
    try:
        src, dst = parse_layout(src_layout), parse_layout(dst_layout)
    except ValueError as error:
        sig.fail("layouts such as NCHW and NCHW16c", str(error))
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
