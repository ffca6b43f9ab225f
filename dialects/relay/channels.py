"""The trait `Channels`: where the channels of a convolution or dense are in its data, its weight and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.traits import OpTrait

from .layout import parse_layout
from .operator import Operator

Axes = Callable[[Operator], tuple[int, int] | None]


@dataclass(frozen=True)
class Channels(OpTrait):
    """The operator is a product of its first operand and a weight, the second."""

    output: Axes
    """The channel axis of the result and the weight's axis of the same channels; None in blocked layouts."""
    input: Axes
    """The channel axis of the data and the weight's axis of the same channels; None where the weight has none.

    That is in blocked layouts, and for groups of several channels.
    """


def _axis(layout: str, letter: str) -> int | None:
    axes = parse_layout(layout)
    return None if any(axis.factor for axis in axes) else [axis.letter for axis in axes].index(letter)


def _conv_output(op: Operator) -> tuple[int, int] | None:
    sig = op.signature
    result = _axis(sig.str("out_layout") or sig.str("data_layout"), "C")
    weight = _axis(sig.str("kernel_layout"), "O")
    return None if result is None or weight is None else (result, weight)


def _conv_input(op: Operator) -> tuple[int, int] | None:
    sig = op.signature
    data, groups = _axis(sig.str("data_layout"), "C"), sig.int("groups")
    weight, outputs = (_axis(sig.str("kernel_layout"), letter) for letter in "IO")
    if data is None or weight is None or outputs is None:
        return None
    if groups == 1:
        return data, weight
    depthwise = groups == sig.shape(0)[data] == sig.shape(1)[outputs]
    return (data, outputs) if depthwise else None


CONV_CHANNELS = Channels(_conv_output, _conv_input)
DENSE_CHANNELS = Channels(lambda op: (1, 0), lambda op: (1, 1))
