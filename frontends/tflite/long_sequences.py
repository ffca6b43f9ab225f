"""Recurrent layers of floats over long sequences: one operator that loops over the steps, where they have one.

What is written out step by step (`recurrent.py`) takes the longer to compile, the more steps there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ..importing.terms import Term
from ..meanings.moves import concatenate, stack, swap
from ..meanings.recurrent import LSTM, RNN, Direction
from .activations import NONE, RELU, TANH
from .context import Context

SHORT = 8
"""Steps up to which a layer is written out."""
_FUNCTIONS = {NONE: "affine(1, 0)", RELU: "relu", TANH: "tanh"}


def is_long(ctx: Context, weights: Sequence[int]) -> bool:
    """Return whether a sequence is long, and the weights at these inputs are floats."""
    shape = ctx.shape(0)
    known = len(shape) == 3 and shape[0 if ctx.flag("TimeMajor") else 1] > SHORT
    return known and not any(ctx.has(at) and ctx.quantized(at) for at in weights)


def _run(ctx: Context, layer: Direction, states: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
    """The results of a layer, in the file's order of axes, and its states at the end."""
    data, major = Term(ctx, ctx.value(0)), ctx.flag("TimeMajor")
    steps, *last = layer.run(data if major else swap(data, 0, 1), [Term(ctx, state) for state in states])
    return (steps if major else swap(steps, 0, 1)).value, *(state.value for state in last)


def long_rnn(ctx: Context, state: SSAValue) -> tuple[SSAValue, ...] | None:
    """`recurrent.sequence_rnn` of a first state (batch, units); None where there is no operator for it."""
    kind = ctx.int("FusedActivationFunction", NONE)
    if not is_long(ctx, (1, 2)) or kind not in _FUNCTIONS:
        return None
    layer = Direction(RNN, *(Term(ctx, ctx.value(at)) for at in (1, 2, 3)), activations=_FUNCTIONS[kind])
    return _run(ctx, layer, [state])


def long_lstm(ctx: Context, h: SSAValue, c: SSAValue) -> tuple[SSAValue, ...] | None:
    """`recurrent.sequence_lstm` of first states (batch, units); None where there is no operator for it."""
    plain = ctx.int("FusedActivationFunction", NONE) == TANH and not ctx.float("CellClip", 0.0)
    if not plain or not is_long(ctx, range(1, 12)) or any(ctx.has(at) for at in (16, 17, *range(20, 24))):
        return None
    coupled = not ctx.has(1)

    def gate(at: int) -> Term:
        # An input gate that lets in what the forget gate drops has its weights, negative.
        return -Term(ctx, ctx.value(at + 1)) if coupled and at in (1, 5, 9, 12) else Term(ctx, ctx.value(at))

    weight, recurrent, bias = (concatenate(*(gate(first + at) for at in (0, 3, 1, 2)), axis=0) for first in (1, 5, 12))
    peephole = None
    if ctx.has(10):
        peephole = stack(*(gate(at) for at in (9, 11, 10)), axis=0)
    return _run(ctx, Direction(LSTM, weight, recurrent, bias, peephole=peephole), [h, c])
