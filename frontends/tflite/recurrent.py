"""Recurrent layers of floats, written out step by step; their weights may have 8 bits.

A layer gives its outputs, then what its states become.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.qnn_products import DenseOp as QnnDenseOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.transform import ConcatenateOp
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term, sigmoid, sqrt
from ..meanings.moves import concatenate
from ..meanings.products import dense
from ..meanings.recurrent import lstm_step
from ..meanings.slices import cut, split, unstack
from .activations import TANH, fused
from .context import Context
from .hybrid import asymmetric, symmetric
from .long_sequences import long_lstm, long_rnn

_MOST_STEPS = 4096


def times(ctx: Context, x: SSAValue, index: int) -> Term:
    """Rows times the weight (units, columns) in input `index`; for one of 8 bits rows are quantised on the way."""
    if not ctx.quantized(index):
        return dense(Term(ctx, x), Term(ctx, ctx.value(index)), outputs_first=True)
    none, one = ctx.number(0, "int32"), ctx.number(1, "float32")
    if ctx.flag("AsymmetricQuantizeInputs"):
        steps, scale, zero = asymmetric(Term(ctx, x))
        parameters = (zero.to("int32").value, none, one, one)
        total = ctx.emit(QnnDenseOp, steps.to("int8").value, ctx.value(index), *parameters)
    else:
        steps, scale = symmetric(Term(ctx, x))
        total = ctx.emit(QnnDenseOp, steps.value, ctx.value(index), none, none, one, one)
    return Term(ctx, total).to("float32") * (scale * float(ctx.quantization(index).scale[0]))


def real(ctx: Context, index: int) -> Term:
    """Input `index` as floats."""
    value = Term(ctx, ctx.value(index))
    if not ctx.quantized(index):
        return value
    return value.to("float32") * float(ctx.quantization(index).scale[0])


def vector(ctx: Context, index: int, units: int) -> Term:
    """Input `index`, which has a number for each unit."""
    if ctx.shape(index) != (units,):
        ctx.fail(f"{units} numbers as input {index}", f"shape {list(ctx.shape(index))}")
    return Term(ctx, ctx.value(index))


def state_of(ctx: Context, index: int, *shape: int) -> SSAValue:
    """Input `index`, a state that the operator writes to, which has as many numbers as `shape`."""
    info = ctx.info(index)
    if not info.is_variable or prod(ctx.shape(index)) != prod(shape):
        kind = "a variable" if info.is_variable else "no variable"
        ctx.fail(f"a variable of shape {list(shape)} as input {index}", f"{kind} of shape {list(ctx.shape(index))}")
    return ctx.value(index)


def steps_of(ctx: Context, index: int = 0) -> tuple[list[SSAValue], int]:
    """The input of each step, and the axis of time."""
    shape = ctx.shape(index)
    if len(shape) != 3:
        ctx.fail("a 3-d input (time, batch, features)", f"shape {list(shape)}")
    axis = 0 if ctx.flag("TimeMajor") else 1
    if shape[axis] > _MOST_STEPS:
        ctx.fail(f"at most {_MOST_STEPS} steps, which are written out", str(shape[axis]))
    return [step.value for step in unstack(Term(ctx, ctx.value(index)), axis, shape[axis])], axis


def _cell(
    ctx: Context, x: SSAValue, weights: Sequence[int], h: SSAValue, aux: tuple[SSAValue, int] | None = None
) -> SSAValue:
    """The state after a step of a plain layer: inputs' weights, states' weights, bias."""
    total = times(ctx, x, weights[0]) + times(ctx, h, weights[1])
    total = total + vector(ctx, weights[2], total.shape[-1])
    return fused(ctx, (total if aux is None else total + times(ctx, *aux)).value)


def rnn(ctx: Context) -> tuple[SSAValue, ...]:
    h = _cell(ctx, ctx.value(0), (1, 2, 3), ctx.value(4))
    return h, h


def sequence_rnn(ctx: Context) -> tuple[SSAValue, ...]:
    if (outputs := long_rnn(ctx, ctx.value(4))) is not None:
        return outputs
    steps, axis = steps_of(ctx)
    h, states = ctx.value(4), list[SSAValue]()
    for x in steps:
        h = _cell(ctx, x, (1, 2, 3), h)
        states.append(h)
    return ctx.emit(StackOp, states, axis=axis), h


@dataclass(frozen=True)
class Places:
    """The positions of an LSTM's weights among the inputs."""

    inputs: int = 1
    recurrent: int = 5
    peepholes: int = 9
    biases: int = 12
    projection: int = 16
    norms: int | None = 20
    aux: int | None = None


class Lstm:
    """An LSTM with everything that the operator may have: no input gate, peepholes, normalisation, projection."""

    def __init__(self, ctx: Context, places: Places):
        self.ctx, self.places = ctx, places
        self.coupled = not ctx.has(places.inputs)
        self.cell_clip, self.projection_clip = ctx.float("CellClip", 0.0), ctx.float("ProjClip", 0.0)

    def gate(self, at: int, x: SSAValue, h: SSAValue, c: Term | None, aux: SSAValue | None) -> Term:
        """Return the input of gate `at`: input, forget, cell or output; `c` is the cell that peepholes look at."""
        ctx, places = self.ctx, self.places
        total = times(ctx, x, places.inputs + at) + times(ctx, h, places.recurrent + at)
        if aux is not None and places.aux is not None:
            total = total + times(ctx, aux, places.aux + at)
        peephole = {0: 0, 1: 1, 3: 2}.get(at)
        if c is not None and peephole is not None and ctx.has(places.peepholes + peephole):
            total = total + c * real(ctx, places.peepholes + peephole)
        bias = vector(ctx, places.biases + at, total.shape[-1])
        if places.norms is not None and ctx.has(places.norms + at):
            axis = len(total.shape) - 1
            centred = total - total.mean(axis)
            total = centred / sqrt((centred * centred).mean(axis) + 1e-8)
            total = total * vector(ctx, places.norms + at, total.shape[-1])
        return total + bias

    def step(self, x: SSAValue, h: SSAValue, c: Term, aux: SSAValue | None = None) -> tuple[SSAValue, Term]:
        """The state and the cell after a step."""
        ctx, projection = self.ctx, self.places.projection
        forget = sigmoid(self.gate(1, x, h, c, aux))
        enter = -forget + 1.0 if self.coupled else sigmoid(self.gate(0, x, h, c, aux))
        new = Term(ctx, fused(ctx, self.gate(2, x, h, None, aux).value))
        c = forget * c + enter * new
        if self.cell_clip > 0:
            c = c.clip(-self.cell_clip, self.cell_clip)
        leave = sigmoid(self.gate(3, x, h, c, aux))
        out = leave * Term(ctx, fused(ctx, c.value))
        if ctx.has(projection):
            out = times(ctx, out.value, projection)
            if ctx.has(projection + 1):
                out = out + vector(ctx, projection + 1, out.shape[-1])
            if self.projection_clip > 0:
                out = out.clip(-self.projection_clip, self.projection_clip)
        return out.value, c


def sizes_of(ctx: Context, places: Places, batch: int) -> tuple[int, int, int]:
    """Batch, units and outputs, as the output gate's weights say."""
    weights = ctx.shape(places.recurrent + 3)
    if len(weights) != 2:
        ctx.fail("a weight (units, outputs)", f"shape {list(weights)}")
    if ctx.has(places.projection) and ctx.shape(places.projection) != weights[::-1]:
        found = list(ctx.shape(places.projection))
        ctx.fail(f"a projection (outputs, units) of shape {list(weights[::-1])}", f"shape {found}")
    return batch, weights[0], weights[1]


_BASIC = 1


def basic_lstm_sizes(ctx: Context) -> tuple[int, int]:
    """Batch and units of the kind of LSTM that has all gates in one product."""
    weights, rank = ctx.shape(2), len(ctx.shape(0))
    if ctx.int("FusedActivationFunction", TANH) != TANH or ctx.float("CellClip", 0.0) or ctx.float("ProjClip", 0.0):
        ctx.fail("an activation TANH, nothing cut off", f"number {ctx.int('FusedActivationFunction', TANH)}")
    if len(ctx.inputs) != 5 or len(ctx.node.outputs) != 4 or rank != 2 or len(weights) != 2 or weights[0] % 4:
        ctx.fail("5 inputs, weights (4 * units, features + units), 4 outputs", f"{len(ctx.inputs)}, {list(weights)}")
    return ctx.shape(0)[0], weights[0] // 4


def is_basic(ctx: Context) -> bool:
    """Return whether an LSTM has all gates in one product."""
    return ctx.int("KernelType", 0) == _BASIC


def _basic_lstm(ctx: Context) -> tuple[SSAValue, ...]:
    """All gates in one product. What they are made of are outputs, too."""
    batch, units = basic_lstm_sizes(ctx)
    before, c = state_of(ctx, 1, batch, units), Term(ctx, state_of(ctx, 4, batch, units))
    both = ctx.emit(ConcatenateOp, [ctx.value(0), before], axis=1)
    gates = times(ctx, both, 2) + vector(ctx, 3, 4 * units)
    enter, new, forget, leave = split(gates, -1, 4)
    h, c = lstm_step(c, enter, forget, new, leave)
    return h.value, c.value, both, gates.value, h.value, c.value


def lstm(ctx: Context) -> tuple[SSAValue, ...]:
    """One step, of the basic kind or another."""
    if is_basic(ctx):
        return _basic_lstm(ctx)
    if len(ctx.node.outputs) != 1:
        ctx.fail("one output", str(len(ctx.node.outputs)))
    out, c = Lstm(ctx, Places()).step(ctx.value(0), ctx.value(18), Term(ctx, ctx.value(19)))
    return out, out, c.value


def sequence_lstm(ctx: Context) -> tuple[SSAValue, ...]:
    if ctx.flag("DiagonalRecurrentTensors"):
        ctx.fail("whole recurrent weights", "diagonals of them")
    layer, shape = Lstm(ctx, Places()), ctx.shape(0)
    axis = 0 if ctx.flag("TimeMajor") else 1
    batch, units, outputs = sizes_of(ctx, layer.places, shape[1 - axis] if len(shape) == 3 else 0)
    h, c = state_of(ctx, 18, batch, outputs), Term(ctx, state_of(ctx, 19, batch, units))
    if (found := long_lstm(ctx, h, c.value)) is not None:
        return found
    steps, axis = steps_of(ctx)
    states: list[SSAValue] = []
    for x in steps:
        h, c = layer.step(x, h, c)
        states.append(h)
    return ctx.emit(StackOp, states, axis=axis), h, c.value


Run = Callable[[SSAValue, SSAValue | None], SSAValue]
"""One step of a direction: what it gives for an input and an auxiliary one."""


def _both(ctx: Context, runs: Sequence[Run], aux: int, aux_weights: int) -> list[SSAValue]:
    """Forward and backward over the steps. An auxiliary input without weights is what the second direction gets."""
    steps, axis = steps_of(ctx)
    beside: Sequence[SSAValue | None] = [None] * len(steps)
    inputs = [steps, steps]
    if ctx.has(aux):
        given = steps_of(ctx, aux)[0]
        if ctx.has(aux_weights):
            beside = given
        else:
            inputs[1] = given
    forward = [runs[0](x, extra) for x, extra in zip(inputs[0], beside, strict=True)]
    backward = [runs[1](x, extra) for x, extra in zip(inputs[1][::-1], beside[::-1], strict=True)][::-1]
    outputs = [ctx.emit(StackOp, part, axis=axis) for part in (forward, backward)]
    return [ctx.emit(ConcatenateOp, outputs, axis=2)] if ctx.flag("MergeOutputs") else outputs


def bidirectional_rnn(ctx: Context) -> tuple[SSAValue, ...]:
    states = [ctx.value(4), ctx.value(8)]

    def run(at: int) -> Run:
        def step(x: SSAValue, extra: SSAValue | None) -> SSAValue:
            first = 1 + 4 * at
            aux = None if extra is None else (extra, 10 + at)
            states[at] = _cell(ctx, x, (first, first + 1, first + 2), states[at], aux)
            return states[at]

        return step

    return *_both(ctx, (run(0), run(1)), 9, 10), *states


_DIRECTIONS = (Places(norms=None, aux=40), Places(18, 22, 26, 29, 33, None, 44))


def bidirectional_lstm(ctx: Context) -> tuple[SSAValue, ...]:
    states = [ctx.value(35), ctx.value(37)]
    cells = [Term(ctx, ctx.value(36)), Term(ctx, ctx.value(38))]
    layers = [Lstm(ctx, places) for places in _DIRECTIONS]

    def run(at: int) -> Run:
        def step(x: SSAValue, extra: SSAValue | None) -> SSAValue:
            states[at], cells[at] = layers[at].step(x, states[at], cells[at], extra)
            return states[at]

        return step

    outputs = _both(ctx, (run(0), run(1)), 39, 41)
    return *outputs, states[0], cells[0].value, states[1], cells[1].value


def remembered(ctx: Context, new: Term, memory: int) -> Term:
    """The state (batch, filters, memory) of an SVDF without its oldest entries, and with new ones (batch, filters)."""
    batch, filters = new.shape
    old = Term(ctx, ctx.value(4)).reshape(batch, filters, memory)
    return concatenate(cut(old, 2, 1, memory), new.reshape(batch, filters, 1), axis=2)


def svdf_shape(ctx: Context) -> tuple[int, int, int, int]:
    """Batch, units, rank and memory."""
    rank, features, memory = ctx.int("Rank", 0), ctx.shape(1), ctx.shape(2)
    if rank < 1 or len(features) != 2 or len(memory) != 2 or features[0] % rank or memory[1] < 1:
        ctx.fail("weights (units * rank, features) and (units * rank, memory)", f"{features}, {memory}, rank {rank}")
    batch = shape_of(ctx.value(0))[0]
    state_of(ctx, 4, batch, features[0] * memory[1])
    return batch, features[0] // rank, rank, memory[1]


def svdf(ctx: Context) -> tuple[SSAValue, ...]:
    """A filter over features, then one over what the last steps gave."""
    batch, units, rank, memory = svdf_shape(ctx)
    state = remembered(ctx, times(ctx, ctx.value(0), 1), memory)
    result = (state * real(ctx, 2).reshape(1, units * rank, memory)).sum(2)
    total = result.reshape(batch, units, rank).sum(2).reshape(batch, units)
    if ctx.has(3):
        total = total + vector(ctx, 3, units)
    return fused(ctx, total.value), state.reshape(*ctx.shape(4)).value


TABLE = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": Converter(bidirectional_lstm),
    "BIDIRECTIONAL_SEQUENCE_RNN": Converter(bidirectional_rnn),
    "LSTM": Converter(lstm),
    "RNN": Converter(rnn),
    "SVDF": Converter(svdf),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Converter(sequence_lstm),
    "UNIDIRECTIONAL_SEQUENCE_RNN": Converter(sequence_rnn),
}
