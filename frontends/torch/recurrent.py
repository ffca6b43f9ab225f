"""LSTM, GRU and RNN of several layers and directions: nn.lstm, nn.gru or nn.rnn for each.

torch has the gates of an LSTM in the order input, forget, cell, output, and those of a GRU reset, update, new; relay's
operators have ONNX's order. The rows of weights and biases are put in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.creation import ZerosOp
from ...dialects.relay.elementwise import AddOp
from ...dialects.relay.matmul import BiasAddOp, DenseOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.recurrent import GRUOp, LSTMOp, RNNOp
from ...dialects.relay.transform import ConcatenateOp, ExpandDimsOp, PadOp, SqueezeOp, TransposeOp
from ..importing.converter import Converter
from ..importing.products import product
from ..importing.recurrent_weights import padded_units, panels
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, places, where
from .context import Context
from .shaping import cut, shaped


@dataclass(frozen=True)
class Kind:
    """A kind of layer: relay's operator, the places of its gates among torch's, and its activations."""

    op: type[Operator]
    order: tuple[int, ...]
    activations: str
    states: int = 1


LSTM = Kind(LSTMOp, (0, 3, 1, 2), "sigmoid tanh tanh", 2)
GRU = Kind(GRUOp, (1, 0, 2), "sigmoid tanh")
RNN_TANH = Kind(RNNOp, (0,), "tanh")
RNN_RELU = Kind(RNNOp, (0,), "relu")


@dataclass
class Direction:
    """One direction of one layer."""

    ctx: Context
    kind: Kind
    weights: Sequence[SSAValue]
    """Of the input, of the state; then the biases of both, if there are any."""
    reverse: bool
    projection: SSAValue | None = None
    """The matrix (results, hidden) that makes results, and the next step's state, of the hidden units."""

    def __post_init__(self) -> None:
        self.gates = len(self.kind.order)
        self.hidden = shape_of(self.weights[1])[0] // self.gates
        self.units = padded_units(self.hidden)

    def ordered(self, rows: SSAValue) -> SSAValue:
        """Rows of torch's gates in relay's order, each with zeros for the units too many."""
        ctx, gates = self.ctx, self.gates
        rest = shape_of(rows)[1:]
        if shape_of(rows)[0] != gates * self.hidden:
            ctx.fail(f"weights of {gates * self.hidden} rows", f"shape {list(shape_of(rows))}")
        if self.kind.order != tuple(range(gates)):
            parts = [cut(ctx, rows, 0, at * self.hidden, (at + 1) * self.hidden) for at in self.kind.order]
            rows = ctx.emit(ConcatenateOp, *parts, axis=0)
        if self.units == self.hidden:
            return rows
        apart = shaped(ctx, rows, (gates, self.hidden, *rest))
        width = [0, 0, 0, self.units - self.hidden, *[0] * (2 * len(rest))]
        wide = ctx.emit(PadOp, apart, ctx.scalar(0.0, apart), pad_width=width)
        return shaped(ctx, wide, (gates * self.units, *rest))

    def wide(self, value: SSAValue) -> SSAValue:
        """Zeros for the units too many in the last axis."""
        if self.units == self.hidden:
            return value
        width = [0] * (2 * len(shape_of(value)))
        width[-1] = self.units - self.hidden
        return self.ctx.emit(PadOp, value, self.ctx.scalar(0.0, value), pad_width=width)

    def biases(self) -> tuple[SSAValue | None, SSAValue | None]:
        """The bias of the products of the input; and for a GRU that of its new gate's product of the state."""
        ctx = self.ctx
        if len(self.weights) < 4:
            if self.kind is not GRU:
                return None, None
            return None, ctx.emit(ZerosOp, shape=(self.units,), dtype=dtype_of(self.weights[0]).name)
        of_input, of_state = (self.ordered(bias) for bias in self.weights[2:4])
        if self.kind is not GRU:
            return ctx.emit(AddOp, of_input, of_state), None
        two = 2 * self.units
        both = ctx.emit(AddOp, cut(ctx, of_input, 0, 0, two), cut(ctx, of_state, 0, 0, two))
        three = 3 * self.units
        bias = ctx.emit(ConcatenateOp, both, cut(ctx, of_input, 0, two, three), axis=0)
        return bias, cut(ctx, of_state, 0, two, three)

    def weight_of_state(self) -> SSAValue:
        """The weight of the hidden units of the step before; with a projection, its product with that."""
        weight = self.weights[1]
        return weight if self.projection is None else product(self.ctx, weight, self.projection)

    def started(self, total: SSAValue, state: SSAValue) -> SSAValue:
        """Products of the input to which the first step's of a projected state are added."""
        ctx, (time, batch, width) = self.ctx, shape_of(total)
        own = Term(ctx, ctx.emit(DenseOp, state, self.ordered(self.weights[1]))).reshape(1, batch, width)
        step = places(ctx, time, 3)
        first = step.equal(float(0)) if not self.reverse else step.equal(step.number(time - 1))
        return (Term(ctx, total) + where(first, own, 0.0)).value

    def projected(self, value: SSAValue) -> SSAValue:
        """Hidden units (.., hidden) as results."""
        if self.projection is None:
            return value
        *outer, hidden = shape_of(value)
        rows = self.ctx.emit(DenseOp, shaped(self.ctx, value, (prod(outer), hidden)), self.projection)
        return shaped(self.ctx, rows, (*outer, shape_of(self.projection)[0]))

    def run(self, data: SSAValue, states: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
        """The results (time, batch, hidden) and last states (batch, hidden) for data (time, batch, features)."""
        ctx, gates, units = self.ctx, self.gates, self.units
        time, batch, features = shape_of(data)
        bias, own = self.biases()
        rows = shaped(ctx, data, (time * batch, features))
        total = ctx.emit(DenseOp, rows, self.ordered(self.weights[0]))
        if bias is not None:
            total = ctx.emit(BiasAddOp, total, bias)
        total = shaped(ctx, total, (time, batch, gates * units))
        if self.projection is not None:
            total = self.started(total, states[0])
            states = [ctx.emit(ZerosOp, shape=(batch, self.hidden), dtype=dtype_of(data).name), *states[1:]]
        weight = panels(ctx, self.ordered(self.weight_of_state()), gates, units)
        operands = [total, weight, *map(self.wide, states)]
        attributes: dict[str, bool | str] = {"reverse": self.reverse, "activations": self.kind.activations}
        if own is not None:
            operands.append(own)
            attributes["linear_before_reset"] = True
        results = ctx.emit_all(self.kind.op, *operands, **attributes)
        if units != self.hidden:
            results = tuple(cut(ctx, result, len(shape_of(result)) - 1, 0, self.hidden) for result in results)
        steps, state, *cells = results
        return self.projected(steps), self.projected(state), *cells


def recurrent(kind: Kind) -> Converter[Context]:
    """The converter of a stack of layers."""

    def convert(ctx: Context) -> tuple[SSAValue, ...]:
        dropout = ctx.float("dropout", 0.0)
        if ctx.flag("train") and dropout > 0:
            ctx.fail("a model in inference mode", "dropout in training mode (call .eval() before torch.export)")
        layers, directions = ctx.int("num_layers"), 2 if ctx.flag("bidirectional") else 1
        weights = ctx.list_of("params")
        each = 4 if ctx.flag("has_biases", True) else 2
        with_projection = kind is LSTM and len(weights) == (each + 1) * layers * directions
        count = each + with_projection
        if len(weights) != count * layers * directions:
            ctx.fail(f"{count * layers * directions} weights", str(len(weights)))
        states = ctx.list_of("hx") if kind.states > 1 else [ctx.of("hx")]
        data = ctx.of("input")
        single = len(shape_of(data)) == 2
        batch_first = ctx.flag("batch_first") and not single
        if single:
            data, states = (
                ctx.emit(ExpandDimsOp, data, axis=1),
                [ctx.emit(ExpandDimsOp, item, axis=1) for item in states],
            )
        if batch_first:
            data = ctx.emit(TransposeOp, data, axes=(1, 0, 2))
        last: list[list[SSAValue]] = [[] for _ in states]
        for layer in range(layers):
            results: list[SSAValue] = []
            for direction in range(directions):
                at = layer * directions + direction
                own = weights[at * count : (at + 1) * count]
                item = Direction(ctx, kind, own[:each], bool(direction), own[each] if with_projection else None)
                first = [ctx.emit(SqueezeOp, cut(ctx, state, 0, at, at + 1), axis=(0,)) for state in states]
                result, *after = item.run(data, first)
                results.append(result)
                for kept, state in zip(last, after, strict=True):
                    kept.append(state)
            data = results[0] if directions == 1 else ctx.emit(ConcatenateOp, *results, axis=2)
        if batch_first:
            data = ctx.emit(TransposeOp, data, axes=(1, 0, 2))
        ends = [ctx.emit(StackOp, *kept, axis=0) for kept in last]
        if single:
            return tuple(ctx.emit(SqueezeOp, value, axis=(1,)) for value in (data, *ends))
        return data, *ends

    return Converter(convert)


TABLE: dict[str, Converter[Context]] = {
    "aten.gru.input": recurrent(GRU),
    "aten.lstm.input": recurrent(LSTM),
    "aten.rnn_relu.input": recurrent(RNN_RELU),
    "aten.rnn_tanh.input": recurrent(RNN_TANH),
}
