"""Layouts in type rules: the axes that attributes name, and the shapes that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...runtime.values.layouts import Axis as Axis
from ...runtime.values.layouts import layout_view as layout_view
from ...runtime.values.layouts import parse_layout as parse_layout
from ...runtime.values.layouts import strides as strides
from .signature import Signature


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


def shape_in(sig: Signature, full: Mapping[str, int], axes: Sequence[Axis]) -> list[int]:
    """The shape in the layout `axes` of a tensor of these full extents; complains of odd blocks through `sig`."""
    spans = [stride * (axis.factor or 1) for axis, stride in zip(axes, strides(axes), strict=True)]
    for axis, count in zip(axes, spans, strict=True):
        if full[axis.letter] % count:
            sig.fail(f"axis {axis.letter} divisible by {count}", f"extent {full[axis.letter]}")
    return [axis.factor or full[axis.letter] // count for axis, count in zip(axes, spans, strict=True)]


def blocked_shape(sig: Signature, shape: Sequence[int]) -> list[int]:
    """The shape of a tensor brought from `src_layout` to `dst_layout`; complains through `sig`."""
    src_layout, dst_layout = sig.str("src_layout"), sig.str("dst_layout")
    src, dst = axes_of(sig, "src_layout"), axes_of(sig, "dst_layout")
    if len(src) != len(shape):
        sig.fail(f"a {len(src)}-d operand for layout {src_layout}", str(sig.types[0]))
    if {axis.letter for axis in src} != {axis.letter for axis in dst}:
        sig.fail("layouts of the same axes", f"{src_layout} and {dst_layout}")
    return shape_in(sig, logical_shape(shape, src), dst)
