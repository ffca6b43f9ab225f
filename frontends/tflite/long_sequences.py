"""Recurrent layers of floats over long sequences: one operator that loops over the steps, where they have one.

What is written out step by step (`recurrent.py`) takes the longer to compile, the more steps there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import NegativeOp
from ...dialects.relay.nn import BiasAddOp, DenseOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.recurrent import LSTMOp, RNNOp
from ...dialects.relay.transform import ConcatenateOp, PadOp, ReshapeOp, TransposeOp
from ..importing.recurrent_weights import padded_units, panels
from ..importing.tensor import shape_of
from .activations import NONE, RELU, TANH
from .context import Context
from .shaping import cut

SHORT = 8
"""Steps up to which a layer is written out."""
_FUNCTIONS = {NONE: "affine(1, 0)", RELU: "relu", TANH: "tanh"}


def is_long(ctx: Context, weights: Sequence[int]) -> bool:
    """Return whether a sequence is long, and the weights at these inputs are floats."""
    shape = ctx.shape(0)
    known = len(shape) == 3 and shape[0 if ctx.flag("TimeMajor") else 1] > SHORT
    return known and not any(ctx.has(at) and ctx.quantized(at) for at in weights)


def _grown(ctx: Context, value: SSAValue, units: int, axes: Sequence[int]) -> SSAValue:
    """Zeros behind, so that `axes` have so many units."""
    shape = shape_of(value)
    width = [0] * (2 * len(shape))
    for axis in axes:
        width[2 * axis + 1] = units - shape[axis]
    return ctx.emit(PadOp, value, ctx.scalar(0.0, value), pad_width=width) if any(width) else value


def _joined(ctx: Context, parts: Sequence[SSAValue], units: int, axes: Sequence[int] = (0,)) -> SSAValue:
    """The gates' parts, one behind the other, each grown along `axes`."""
    grown = [_grown(ctx, part, units, axes) for part in parts]
    return grown[0] if len(grown) == 1 else ctx.emit(ConcatenateOp, grown, axis=0)


def _projected(ctx: Context, weight: SSAValue, bias: SSAValue) -> SSAValue:
    """The products of all steps' input with the biases, time first."""
    data = ctx.value(0)
    if not ctx.flag("TimeMajor"):
        data = ctx.emit(TransposeOp, data, axes=(1, 0, 2))
    time, batch, features = shape_of(data)
    rows = ctx.emit(ReshapeOp, data, newshape=(time * batch, features))
    product = ctx.emit(BiasAddOp, ctx.emit(DenseOp, rows, weight), bias)
    return ctx.emit(ReshapeOp, product, newshape=(time, batch, shape_of(weight)[0]))


def _finished(ctx: Context, results: Sequence[SSAValue], units: int) -> tuple[SSAValue, ...]:
    """Results of the operator without the units too many, the first as the file has its axes."""
    found = [cut(ctx, result, len(shape_of(result)) - 1, 0, units) for result in results]
    if not ctx.flag("TimeMajor"):
        found[0] = ctx.emit(TransposeOp, found[0], axes=(1, 0, 2))
    return tuple(found)


def long_rnn(ctx: Context, state: SSAValue) -> tuple[SSAValue, ...] | None:
    """`recurrent.sequence_rnn` of a first state (batch, units); None where there is no operator for it."""
    kind = ctx.int("FusedActivationFunction", NONE)
    if not is_long(ctx, (1, 2)) or kind not in _FUNCTIONS:
        return None
    hidden = shape_of(state)[1]
    units = padded_units(hidden)
    data = _projected(ctx, _joined(ctx, [ctx.value(1)], units), _joined(ctx, [ctx.value(3)], units))
    weight = panels(ctx, _joined(ctx, [ctx.value(2)], units, (0, 1)), 1, units)
    first = _grown(ctx, state, units, (1,))
    return _finished(ctx, ctx.emit_all(RNNOp, data, weight, first, None, activations=_FUNCTIONS[kind]), hidden)


def long_lstm(ctx: Context, h: SSAValue, c: SSAValue) -> tuple[SSAValue, ...] | None:
    """`recurrent.sequence_lstm` of first states (batch, units); None where there is no operator for it."""
    plain = ctx.int("FusedActivationFunction", NONE) == TANH and not ctx.float("CellClip", 0.0)
    if not plain or not is_long(ctx, range(1, 12)) or any(ctx.has(at) for at in (16, 17, *range(20, 24))):
        return None
    hidden, coupled = shape_of(c)[1], not ctx.has(1)
    units = padded_units(hidden)

    def gate(at: int) -> SSAValue:
        # An input gate that lets in what the forget gate drops has its weights, negative.
        return ctx.emit(NegativeOp, ctx.value(at + 1)) if coupled and at in (1, 5, 9, 12) else ctx.value(at)

    def gates(first: int) -> list[SSAValue]:
        """In the order of the operator: input, output, forget, cell."""
        return [gate(first), ctx.value(first + 3), ctx.value(first + 1), ctx.value(first + 2)]

    data = _projected(ctx, _joined(ctx, gates(1), units), _joined(ctx, gates(12), units))
    weight = panels(ctx, _joined(ctx, gates(5), units, (0, 1)), 4, units)
    peephole = None
    if ctx.has(10):
        parts = [_grown(ctx, part, units, (0,)) for part in (gate(9), ctx.value(11), ctx.value(10))]
        peephole = ctx.emit(StackOp, parts, axis=0)
    states = [_grown(ctx, state, units, (1,)) for state in (h, c)]
    return _finished(ctx, ctx.emit_all(LSTMOp, data, weight, *states, peephole, None), hidden)
