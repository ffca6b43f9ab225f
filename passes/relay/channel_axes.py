"""Where the channels of a convolution or dense are: in its data, its weight and its result."""

from __future__ import annotations

from typing import TypeAlias

from ...dialects.relay.layout import parse_layout
from ...dialects.relay.nn import Conv2DOp, DenseOp
from ...dialects.relay.operator import shape_of

Anchor: TypeAlias = Conv2DOp | DenseOp


def letter_axis(layout: str, letter: str) -> int | None:
    """The position of an axis in a layout, None in a blocked one."""
    axes = parse_layout(layout)
    return None if any(axis.factor for axis in axes) else [axis.letter for axis in axes].index(letter)


def is_along(shape: tuple[int, ...], rank: int, axis: int) -> bool:
    """Whether a tensor of `shape`, broadcast to `rank` dimensions, varies along `axis` at most."""
    skipped = rank - len(shape)
    return skipped >= 0 and all(extent == 1 or i + skipped == axis for i, extent in enumerate(shape))


def output_axes(anchor: Anchor) -> tuple[int, int] | None:
    """The channel axis of the result and the weight's axis of the same channels; None in blocked layouts."""
    if isinstance(anchor, DenseOp):
        return 1, 0
    sig = anchor.signature
    result = letter_axis(sig.str("out_layout") or sig.str("data_layout"), "C")
    weight = letter_axis(sig.str("kernel_layout"), "O")
    return None if result is None or weight is None else (result, weight)


def input_axes(anchor: Anchor) -> tuple[int, int] | None:
    """The channel axis of the data and the weight's axis of the same channels.

    None in blocked layouts, and for groups of several channels, whose weights have no such axis.
    """
    if isinstance(anchor, DenseOp):
        return 1, 1
    sig = anchor.signature
    data, groups = letter_axis(sig.str("data_layout"), "C"), sig.int("groups")
    weight, outputs = (letter_axis(sig.str("kernel_layout"), letter) for letter in "IO")
    if data is None or weight is None or outputs is None:
        return None
    if groups == 1:
        return data, weight
    depthwise = groups == shape_of(anchor.data)[data] == shape_of(anchor.weight)[outputs]
    return (data, outputs) if depthwise else None
