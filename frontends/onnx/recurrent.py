"""RNN, GRU and LSTM: the product of the input for all steps at once, then nn.rnn, nn.gru or nn.lstm per direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.creation import ZerosOp
from ...dialects.relay.elementwise import AddOp
from ...dialects.relay.nn import BiasAddOp, DenseOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.recurrent import NUMPY, GRUOp, LSTMOp, RNNOp
from ...dialects.relay.transform import (
    ConcatenateOp,
    ExpandDimsOp,
    PadOp,
    ReshapeOp,
    SqueezeOp,
    StridedSliceOp,
    TransposeOp,
)
from ...dialects.sizes import same, symbols_of
from ..importing.converter import Converter
from ..importing.recurrent_weights import padded_units, panels
from ..importing.tensor import shape_of
from .context import Context


@dataclass(frozen=True)
class _Layer:
    """The parts of a kind of layer."""

    op: type[Operator]
    gates: int
    functions: tuple[str, ...]
    """The activations of one direction, if none are given."""


_RNN = _Layer(RNNOp, 1, ("Tanh",))
_GRU = _Layer(GRUOp, 3, ("Sigmoid", "Tanh"))
_LSTM = _Layer(LSTMOp, 4, ("Sigmoid", "Tanh", "Tanh"))


@dataclass
class _Node:
    """A recurrent node, its attributes read."""

    ctx: Context
    layer: _Layer

    def __post_init__(self) -> None:
        ctx = self.ctx
        direction = ctx.word("direction", "forward")
        if direction not in ("forward", "reverse", "bidirectional"):
            ctx.fail("direction forward, reverse or bidirectional", repr(direction))
        self.reversed = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
        self.batch_first = ctx.flag("layout")
        if len(ctx.shape(0)) != 3:
            ctx.fail("a 3-d input (time, batch, features)", f"shape {list(ctx.shape(0))}")
        weight = ctx.shape(2)
        if len(weight) != 3:
            ctx.fail("3-d recurrent weights (directions, gates, units)", f"shape {list(weight)}")
        self.hidden = ctx.int("hidden_size", weight[2])
        wanted = (len(self.reversed), self.layer.gates * self.hidden, self.hidden)
        if weight != wanted:
            by = f", as hidden_size is {self.hidden}" if self.hidden != weight[2] else ""
            ctx.fail(f"recurrent weights of shape {list(wanted)}{by}", str(list(weight)))
        self.units = padded_units(self.hidden)
        rows, count, batch = self.layer.gates * self.hidden, len(self.reversed), ctx.shape(0)[not self.batch_first]
        if (found := ctx.shape(1)) != (count, rows, ctx.shape(0)[2]):
            ctx.fail(f"weights of shape {[count, rows, ctx.shape(0)[2]]}", str(list(found)))
        states = (batch, count, self.hidden) if self.batch_first else (count, batch, self.hidden)
        shapes = {"biases": (count, 2 * rows), "lengths": (batch,), "a first state": states}
        shapes |= {"a first cell": states, "peepholes": (count, 3 * self.hidden)}
        for index, (what, shape) in enumerate(shapes.items(), 3):
            if ctx.has(index):
                ctx.require_shape(index, shape, what)

    def of(self, index: int, direction: int, axis: int = 0) -> SSAValue:
        """Input `index` for one direction, whose axis is gone."""
        value = self.ctx.value(index)
        if len(self.reversed) > 1:
            value = self.cut(value, axis, direction, direction + 1)
        return self.ctx.emit(SqueezeOp, value, axis=(axis,))

    def cut(self, value: SSAValue, axis: int, begin: int, end: int) -> SSAValue:
        return self.ctx.emit(StridedSliceOp, value, begin=(begin,), end=(end,), axes=(axis,))

    def grown(self, value: SSAValue, parts: int = 1, axis: int = 0) -> SSAValue:
        """Zeros for the units too many, along an axis that has the units of `parts` gates."""
        if self.units == self.hidden:
            return value
        shape = list(shape_of(value))
        apart = [*shape[:axis], parts, self.hidden, *shape[axis + 1 :]]
        width = [0] * (2 * len(apart))
        width[2 * (axis + 1) + 1] = self.units - self.hidden
        shape[axis] = parts * self.units
        value = self.ctx.emit(ReshapeOp, value, newshape=apart)
        value = self.ctx.emit(PadOp, value, self.ctx.scalar(0.0, value), pad_width=width)
        return self.ctx.emit(ReshapeOp, value, newshape=shape)

    def activations(self, direction: int) -> str:
        """The functions of a direction, with alpha and beta, as the operators spell them."""
        ctx, count = self.ctx, len(self.layer.functions)
        given = ctx.words("activations", None) or list(self.layer.functions) * len(self.reversed)
        if len(given) != count * len(self.reversed):
            ctx.fail(f"{count * len(self.reversed)} activations", str(given))
        numbers = {
            "alpha": list(ctx.floats("activation_alpha", None) or ()),
            "beta": list(ctx.floats("activation_beta", None) or ()),
        }
        spelled: list[str] = []
        for name in (one.lower() for one in given):
            if name not in NUMPY:
                ctx.fail(f"activations among {', '.join(NUMPY)}", name)
            # Numbers are given to those functions that have them, in order.
            taken = [
                f"{(numbers[which].pop(0) if numbers[which] else default):.9g}"
                for which, default in zip(("alpha", "beta"), NUMPY[name][0], strict=False)
            ]
            spelled.append(f"{name}({', '.join(taken)})" if taken else name)
        return " ".join(spelled[direction * count : (direction + 1) * count])

    def data(self) -> SSAValue:
        """The input, time first."""
        data = self.ctx.value(0)
        return self.ctx.emit(TransposeOp, data, axes=(1, 0, 2)) if self.batch_first else data

    def projected(self, data: SSAValue, direction: int, bias: SSAValue | None) -> SSAValue:
        """The products of all steps' input, with the biases."""
        time, batch, features = shape_of(data)
        empty = int(same(time * batch * features, 0))
        rows = self.ctx.emit(ReshapeOp, data, newshape=(time * batch, features), allowzero=empty)
        gates = self.layer.gates
        product = self.ctx.emit(DenseOp, rows, self.grown(self.of(1, direction), gates))
        if bias is not None:
            product = self.ctx.emit(BiasAddOp, product, self.grown(bias, gates))
        return self.ctx.emit(ReshapeOp, product, newshape=(time, batch, gates * self.units), allowzero=empty)

    def biases(self, direction: int) -> tuple[SSAValue, SSAValue] | None:
        """Those of the input's product and of the state's."""
        if not self.ctx.has(3):
            return None
        both, rows = self.of(3, direction), self.layer.gates * self.hidden
        return self.cut(both, 0, 0, rows), self.cut(both, 0, rows, 2 * rows)

    def packed(self, direction: int) -> SSAValue:
        """The recurrent weights (gates * hidden, hidden) in panels (units / block, hidden, gates, block)."""
        rows = self.grown(self.of(2, direction), self.layer.gates)
        return panels(self.ctx, rows, self.layer.gates, self.units)

    def initial(self, index: int, direction: int) -> SSAValue:
        """The first state (batch, hidden); zeros if it is not given."""
        if self.ctx.has(index):
            return self.grown(self.of(index, direction, axis=1 if self.batch_first else 0), axis=1)
        batch = self.ctx.shape(0)[0 if self.batch_first else 1]
        if symbols_of(batch):
            return self.ctx.emit(ZerosOp, shape=(batch, self.units), dtype=self.ctx.dtype(0).name)
        return self.ctx.constant(np.zeros((batch, self.units), self.ctx.dtype(0)), "zeros")

    def lengths(self) -> SSAValue | None:
        """The lengths of the sequences, unless all are whole."""
        if not self.ctx.has(4):
            return None
        time = self.ctx.shape(0)[1 if self.batch_first else 0]
        known = self.ctx.known(4)
        if known is not None and known.size:
            self.ctx.require_least(time, int(known.max()), f"whether there are {known.max()} of {time} steps")
            if same(int(known.min()), time):
                return None
        return self.ctx.value(4)

    def shared(self, direction: int) -> dict[str, bool | str | float]:
        clip = self.ctx.float("clip", 0.0)
        if clip < 0:
            self.ctx.fail("a clip of at least 0", str(clip))
        return {
            "reverse": self.reversed[direction],
            "activations": self.activations(direction),
            "clip": clip,
        }

    def emit(self, *operands: SSAValue | None, **attributes: bool | str | float) -> tuple[SSAValue, ...]:
        results = self.ctx.emit_all(self.layer.op, *operands, **attributes)
        if self.units == self.hidden:
            return results
        return tuple(self.cut(result, len(shape_of(result)) - 1, 0, self.hidden) for result in results)

    def together(self, directions: Sequence[tuple[SSAValue, ...]]) -> tuple[SSAValue, ...]:
        """The outputs of the node: directions after time, or first, or last but one if the batch is first."""
        found: list[SSAValue] = []
        for index, parts in enumerate(zip(*directions, strict=True)):
            if self.batch_first and index == 0:
                parts = [self.ctx.emit(TransposeOp, part, axes=(1, 0, 2)) for part in parts]
            axis = (2 if self.batch_first else 1) if index == 0 else 1 if self.batch_first else 0
            apart = [self.ctx.emit(ExpandDimsOp, part, axis=axis) for part in parts]
            found.append(apart[0] if len(apart) == 1 else self.ctx.emit(ConcatenateOp, apart, axis=axis))
        return tuple(found)


def rnn(ctx: Context) -> tuple[SSAValue, ...]:
    node = _Node(ctx, _RNN)
    data = node.data()
    results: list[tuple[SSAValue, ...]] = []
    for direction in range(len(node.reversed)):
        bias = _summed(ctx, node.biases(direction))
        operands = node.projected(data, direction, bias), node.packed(direction), node.initial(5, direction)
        results.append(node.emit(*operands, node.lengths(), **node.shared(direction)))
    return node.together(results)


def _summed(ctx: Context, biases: tuple[SSAValue, SSAValue] | None) -> SSAValue | None:
    return None if biases is None else ctx.emit(AddOp, *biases)


def gru(ctx: Context) -> tuple[SSAValue, ...]:
    node = _Node(ctx, _GRU)
    data, hidden = node.data(), node.hidden
    results: list[tuple[SSAValue, ...]] = []
    for direction in range(len(node.reversed)):
        biases, bias = node.biases(direction), None
        if biases is None:
            own = ctx.constant(np.zeros(node.units, ctx.dtype(0)), "zeros")
        else:
            # The hidden gate's bias of the state's product is not added before the reset gate is known.
            of_input, of_state = biases
            own = node.grown(node.cut(of_state, 0, 2 * hidden, 3 * hidden))
            gates = ctx.emit(AddOp, node.cut(of_input, 0, 0, 2 * hidden), node.cut(of_state, 0, 0, 2 * hidden))
            bias = ctx.emit(ConcatenateOp, [gates, node.cut(of_input, 0, 2 * hidden, 3 * hidden)], axis=0)
        operands = node.projected(data, direction, bias), node.packed(direction), node.initial(5, direction), own
        linear = ctx.flag("linear_before_reset")
        results.append(node.emit(*operands, node.lengths(), **node.shared(direction), linear_before_reset=linear))
    return node.together(results)


def lstm(ctx: Context, quantized_state: bool = False) -> tuple[SSAValue, ...]:
    """With `quantized_state` each product takes the state in the 256 steps of its rows' ranges."""
    node = _Node(ctx, _LSTM)
    data = node.data()
    results: list[tuple[SSAValue, ...]] = []
    for direction in range(len(node.reversed)):
        bias = _summed(ctx, node.biases(direction))
        operands = node.projected(data, direction, bias), node.packed(direction), node.initial(5, direction)
        peephole = None
        if ctx.has(7):
            peephole = node.grown(ctx.emit(ReshapeOp, node.of(7, direction), newshape=(3, node.hidden)), axis=1)
        coupled = ctx.flag("input_forget")
        results.append(
            node.emit(
                *operands,
                node.initial(6, direction),
                peephole,
                node.lengths(),
                **node.shared(direction),
                input_forget=coupled,
                quantized_state=quantized_state,
            )
        )
    return node.together(results)


_OLDER = {"output_sequence": "before opset 7 said that the first output is wanted, which its name shows"}

TABLE = {
    "GRU": Converter(gru, unread=_OLDER),
    "LSTM": Converter(lstm, unread=_OLDER),
    "RNN": Converter(rnn, unread=_OLDER),
}
