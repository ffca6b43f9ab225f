"""Recurrent layers: the product of the input for all steps at once, then nn.rnn, nn.gru or nn.lstm per direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ...dialects.relay.attributes import Value
from ...dialects.relay.creation import ZerosOp
from ...dialects.relay.matmul import BiasAddOp, DenseOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.recurrent import GRUOp, LSTMOp, RNNOp
from ...dialects.relay.transform import PadOp, TransposeOp
from ...dialects.sizes import symbols_of
from ..importing.context import Context
from ..importing.terms import Term, constant, sigmoid, tanh
from .moves import concatenate
from .slices import cut

_BLOCK = 16
"""Units that a panel of weights has at most."""
_NARROW = 8
"""Units that a panel has at least; of the last panel some may be too many."""
_MANY = 64
"""From so many units on, a panel is a whole block."""


@dataclass(frozen=True)
class Kind:
    """A kind of layer: its operator, a letter for each gate in the operator's order, its activations."""

    op: type[Operator]
    gates: str
    activations: str
    states: int = 1


LSTM = Kind(LSTMOp, "iofc", "sigmoid tanh tanh", 2)
"""Input, output, forget, cell."""
GRU = Kind(GRUOp, "zrh", "sigmoid tanh")
"""Update, reset, hidden."""
RNN = Kind(RNNOp, "h", "tanh")


def lstm_step(
    cell: Term,
    enter: Term,
    forget: Term,
    new: Term,
    leave: Term,
    *,
    gate: Callable[[Term], Term] = sigmoid,
    bend: Callable[[Term], Term] = tanh,
) -> tuple[Term, Term]:
    """The hidden units and the cell after a step of an LSTM, by what its four gates are given."""
    cell = gate(forget) * cell + gate(enter) * bend(new)
    return gate(leave) * bend(cell), cell


def _zeros(ctx: Context, dtype: np.dtype[np.generic], *shape: int) -> Term:
    if any(map(symbols_of, shape)):
        return Term(ctx, ctx.emit(ZerosOp, shape=shape, dtype=dtype.name))
    return constant(ctx, np.zeros(shape, dtype), "zeros")


@dataclass(frozen=True)
class Direction:
    """One direction of a layer. Weights and biases have a row, or number, for each unit of each gate."""

    kind: Kind
    weight: Term
    """The weights of the input: (gates * hidden, features)."""
    recurrent: Term
    """The weights of the state: (gates * hidden, hidden)."""
    bias: Term | None = None
    recurrent_bias: Term | None = None
    """A bias of the product with the state, beside that of the product with the input."""
    peephole: Term | None = None
    """(3, hidden), of the input, output and forget gate."""
    _: KW_ONLY
    gates: str = ""
    """The order of the gates in weights and biases; that of the operator by default."""
    reverse: bool = False
    activations: str = ""
    """As the operator spells them; those of the kind by default."""
    options: Mapping[str, Value] = field(default_factory=dict[str, Value])
    """Attributes of the operator that only this kind of layer has."""

    @property
    def hidden(self) -> int:
        return self.recurrent.shape[0] // len(self.kind.gates)

    @property
    def units(self) -> int:
        """The units that weights are packed for: panels of other widths are slower than some units too many."""
        width = _BLOCK if self.hidden >= _MANY else _NARROW
        return -(-self.hidden // width) * width

    def _grown(self, x: Term, axis: int) -> Term:
        """Zeros behind an axis of hidden units, for the units too many."""
        width = [0] * (2 * len(x.shape))
        width[2 * axis + 1] = self.units - self.hidden
        return x.apply(PadOp, 0.0, pad_width=width) if any(width) else x

    def ordered(self, rows: Term) -> Term:
        """Rows (gates * hidden, ..) with the gates in the operator's order, each with its units too many."""
        wanted, (count, *rest) = self.kind.gates, rows.shape
        if count != len(wanted) * self.hidden:
            rows.ctx.fail(f"weights of {len(wanted) * self.hidden} rows", f"shape {list(rows.shape)}")
        if self.gates not in ("", wanted):
            at = [self.gates.index(gate) * self.hidden for gate in wanted]
            rows = concatenate(*(cut(rows, 0, begin, begin + self.hidden) for begin in at), axis=0)
        apart = self._grown(rows.reshape(len(wanted), self.hidden, *rest), 1)
        return apart.reshape(len(wanted) * self.units, *rest)

    def _bias_of_input(self) -> Term | None:
        """Return the bias of the products of the input: all but a GRU's for its hidden gate with the state."""
        bias, own = (None if x is None else self.ordered(x) for x in (self.bias, self.recurrent_bias))
        if bias is None or own is None:
            return bias
        if self.kind is not GRU:
            return bias + own
        gates, end = 2 * self.units, 3 * self.units
        return concatenate(cut(bias, 0, 0, gates) + cut(own, 0, 0, gates), cut(bias, 0, gates, end), axis=0)

    def _bias_of_hidden(self) -> Term:
        """The bias of a GRU's hidden gate with the state, which is not added before the reset gate is known."""
        if self.recurrent_bias is None:
            return _zeros(self.weight.ctx, self.weight.dtype, self.units)
        return cut(self.ordered(self.recurrent_bias), 0, 2 * self.units, 3 * self.units)

    def inputs(self, data: Term) -> Term:
        """The products (time, batch, gates * units) of data (time, batch, features), with the biases."""
        time, batch, features = data.shape
        total = data.reshape(time * batch, features).apply(DenseOp, self.ordered(self.weight))
        bias = self._bias_of_input()
        total = total if bias is None else total.apply(BiasAddOp, bias)
        return total.reshape(time, batch, len(self.kind.gates) * self.units)

    def _panels(self) -> Term:
        """The recurrent weights as (units / block, hidden, gates, block)."""
        block = _BLOCK if self.units % _BLOCK == 0 else _NARROW
        shape = len(self.kind.gates), self.units // block, block, self.recurrent.shape[1]
        return self.ordered(self.recurrent).reshape(*shape).apply(TransposeOp, axes=(1, 3, 0, 2))

    def steps(self, total: Term, states: Sequence[Term | None], lengths: Term | None = None) -> tuple[Term, ...]:
        """The results (time, batch, hidden) of the inputs' products, then the last states (batch, hidden).

        states: the first ones; zeros where one is None. lengths: (batch), beyond which results are 0.
        """
        ctx, batch = total.ctx, total.shape[1]
        operands: list[Term | None] = [
            _zeros(ctx, total.dtype, batch, self.units) if state is None else self._grown(state, 1) for state in states
        ]
        if self.kind is GRU:
            operands.append(self._bias_of_hidden())
        if self.kind is LSTM:
            operands.append(None if self.peephole is None else self._grown(self.peephole, 1))
        values = [None if operand is None else operand.value for operand in (total, self._panels(), *operands, lengths)]
        activations = self.activations or self.kind.activations
        results = ctx.emit_all(self.kind.op, *values, reverse=self.reverse, activations=activations, **self.options)
        terms = [Term(ctx, result) for result in results]
        whole = self.units == self.hidden
        return tuple(x if whole else cut(x, len(x.shape) - 1, 0, self.hidden) for x in terms)

    def run(self, data: Term, states: Sequence[Term | None], lengths: Term | None = None) -> tuple[Term, ...]:
        """As `steps`, of data (time, batch, features)."""
        return self.steps(self.inputs(data), states, lengths)
