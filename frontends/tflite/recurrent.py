"""Recurrent layers of floats, written out step by step; their state begins as zeros at every call."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.transform import SqueezeOp
from ..importing.converter import Converter
from ..importing.products import dense
from ..importing.tensor import shape_of
from ..importing.terms import Term, sigmoid, sqrt
from .activations import fused
from .context import Context
from .shaping import cut


def _times(ctx: Context, x: SSAValue, index: int) -> Term:
    """Rows times the weight (units, columns) in input `index`."""
    return Term(ctx, dense(ctx, x, ctx.value(index), True))


def _steps(ctx: Context, index: int = 0) -> tuple[list[SSAValue], int]:
    """The input of each step, and the axis of time."""
    shape = ctx.shape(index)
    if len(shape) != 3:
        ctx.fail("a 3-d input (time, batch, features)", f"shape {list(shape)}")
    axis = 0 if ctx.option("TimeMajor", False) else 1
    value = ctx.value(index)
    return [ctx.emit(SqueezeOp, cut(ctx, value, axis, at, at + 1), axis=(axis,)) for at in range(shape[axis])], axis


def _cell(ctx: Context, x: SSAValue, weights: Sequence[int], h: SSAValue) -> SSAValue:
    """The state after a step of a plain layer: inputs' weights, states' weights, bias."""
    total = _times(ctx, x, weights[0]) + _times(ctx, h, weights[1]) + Term(ctx, ctx.value(weights[2]))
    return fused(ctx, total.value)


def rnn(ctx: Context) -> SSAValue:
    return _cell(ctx, ctx.value(0), (1, 2, 3), ctx.value(4))


def sequence_rnn(ctx: Context) -> SSAValue:
    steps, axis = _steps(ctx)
    h, states = ctx.value(4), list[SSAValue]()
    for x in steps:
        h = _cell(ctx, x, (1, 2, 3), h)
        states.append(h)
    return ctx.emit(StackOp, states, axis=axis)


class _Lstm:
    """An LSTM with everything that the operator may have: no input gate, peepholes, normalisation, projection."""

    def __init__(self, ctx: Context):
        self.ctx = ctx
        self.coupled = not ctx.has(1)
        self.cell_clip, self.projection_clip = ctx.option("CellClip", 0.0), ctx.option("ProjClip", 0.0)

    def gate(self, at: int, x: SSAValue, h: SSAValue, c: Term | None) -> Term:
        """What goes into gate `at`: input, forget, cell or output; `c` is the cell that peepholes look at."""
        ctx = self.ctx
        total = _times(ctx, x, 1 + at) + _times(ctx, h, 5 + at)
        peephole = {0: 9, 1: 10, 3: 11}.get(at)
        if c is not None and peephole is not None and ctx.has(peephole):
            total = total + c * Term(ctx, ctx.value(peephole))
        bias = Term(ctx, ctx.value(12 + at))
        if ctx.has(20 + at):
            axis = len(total.shape) - 1
            centred = total - total.mean(axis)
            total = centred / sqrt((centred * centred).mean(axis) + 1e-8) * Term(ctx, ctx.value(20 + at))
        return total + bias

    def step(self, x: SSAValue, h: SSAValue, c: Term) -> tuple[SSAValue, Term]:
        """The state and the cell after a step."""
        ctx = self.ctx
        forget = sigmoid(self.gate(1, x, h, c))
        enter = -forget + 1.0 if self.coupled else sigmoid(self.gate(0, x, h, c))
        new = Term(ctx, fused(ctx, self.gate(2, x, h, None).value))
        c = forget * c + enter * new
        if self.cell_clip > 0:
            c = c.clip(-self.cell_clip, self.cell_clip)
        leave = sigmoid(self.gate(3, x, h, c))
        out = leave * Term(ctx, fused(ctx, c.value))
        if ctx.has(16):
            out = _times(ctx, out.value, 16)
            if ctx.has(17):
                out = out + Term(ctx, ctx.value(17))
            if self.projection_clip > 0:
                out = out.clip(-self.projection_clip, self.projection_clip)
        return out.value, c


def sequence_lstm(ctx: Context) -> SSAValue:
    if ctx.option("DiagonalRecurrentTensors", False):
        ctx.fail("whole recurrent weights", "diagonals of them")
    steps, axis = _steps(ctx)
    layer, h, c = _Lstm(ctx), ctx.value(18), Term(ctx, ctx.value(19))
    states: list[SSAValue] = []
    for x in steps:
        h, c = layer.step(x, h, c)
        states.append(h)
    return ctx.emit(StackOp, states, axis=axis)


def svdf(ctx: Context) -> SSAValue:
    """A filter over features, then one over time, of which all but the last element meet a state of zeros."""
    rank, features = ctx.option("Rank", 1), ctx.shape(1)
    memory = ctx.shape(2)[1]
    if rank < 1 or features[0] % rank:
        ctx.fail(f"a rank that divides {features[0]} filters", str(rank))
    last = ctx.emit(SqueezeOp, cut(ctx, ctx.value(2), 1, memory - 1, memory), axis=(1,))
    found = _times(ctx, ctx.value(0), 1) * Term(ctx, last)
    batch = shape_of(ctx.value(0))[0]
    total = found.reshape(batch, features[0] // rank, rank).sum(2).reshape(batch, features[0] // rank)
    if ctx.has(3):
        total = total + Term(ctx, ctx.value(3))
    return fused(ctx, total.value)


TABLE = {
    "RNN": Converter(rnn),
    "SVDF": Converter(svdf),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Converter(sequence_lstm),
    "UNIDIRECTIONAL_SEQUENCE_RNN": Converter(sequence_rnn),
}
