"""LSTM, GRU and RNN of several layers and directions, each an operator of its own; and their cells.

torch has the gates of an LSTM in the order input, forget, cell, output, and those of a GRU reset, update, hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from ...dialects.relay.matmul import DenseOp
from ...dialects.relay.transform import ExpandDimsOp, SqueezeOp
from ..importing.attributes import Flag, Float, Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, places, sigmoid, tanh, where
from ..meanings.moves import concatenate, stack, swap
from ..meanings.products import matmul
from ..meanings.recurrent import GRU, LSTM, RNN, Direction, Kind, lstm_step
from ..meanings.slices import element, split
from .context import Context
from .products import linear


def _products(x: Term, weight: Term) -> Term:
    """Rows (.., features) times a weight (results, features)."""
    *outer, features = x.shape
    return x.reshape(prod(outer), features).apply(DenseOp, weight).reshape(*outer, weight.shape[0])


def _projected_steps(layer: Direction, projection: Term, data: Term, states: Sequence[Term]) -> tuple[Term, ...]:
    """As `layer.run`, where results, and the next step's state, are products of the hidden units and a projection.

    projection: (results, hidden). The hidden units of the step before are then the operator's state; the first step's
    product, of a state that is no hidden units', comes to that of the input.
    """
    ctx, time, (state, *before) = data.ctx, data.shape[0], states
    of_hidden = replace(layer, recurrent=matmul(layer.recurrent, projection))
    total, own = layer.inputs(data), state.apply(DenseOp, layer.ordered(layer.recurrent))
    step = places(ctx, time, 3)
    first = step.equal(step.number(time - 1) if layer.reverse else 0.0)
    total = total + where(first, own.reshape(1, *own.shape), 0.0)
    steps, last, *cells = of_hidden.steps(total, (None, *before))
    return _products(steps, projection), _products(last, projection), *cells


def _recurrent(
    ctx: Context,
    data: Term,
    *,
    kind: Kind,
    fields: Mapping[str, Any],
    num_layers: int,
    bidirectional: bool,
    has_biases: bool,
    batch_first: bool,
    dropout: float,
    train: bool,
) -> tuple[Term, ...]:
    if train and dropout > 0:
        ctx.fail("a model in inference mode", "dropout in training mode (call .eval() before torch.export)")
    directions = 2 if bidirectional else 1
    params = [Term(ctx, value) for value in ctx.list_of("params")]
    count = 4 if has_biases else 2
    projected = kind is LSTM and len(params) == (count + 1) * num_layers * directions
    each = count + projected
    if len(params) != each * num_layers * directions:
        ctx.fail(f"{each * num_layers * directions} weights", str(len(params)))
    states = [Term(ctx, value) for value in (ctx.list_of("hx") if kind.states > 1 else [ctx.of("hx")])]
    single = len(data.shape) == 2
    if single:
        data, *states = (x.apply(ExpandDimsOp, axis=1) for x in (data, *states))
    swaps = batch_first and not single
    data = swap(data, 0, 1) if swaps else data
    ends: list[tuple[Term, ...]] = []
    for _ in range(num_layers):
        results: list[Term] = []
        for reverse in (False, True)[:directions]:
            at = len(ends)
            own = params[at * each : (at + 1) * each]
            layer = Direction(kind, *own[:count], reverse=reverse, **fields)
            first = [element(state, 0, at) for state in states]
            run = partial(_projected_steps, layer, own[count]) if projected else layer.run
            result, *last = run(data, first)
            results.append(result)
            ends.append(tuple(last))
        data = concatenate(*results, axis=2) if bidirectional else results[0]
    data = swap(data, 0, 1) if swaps else data
    stacks = (stack(*kept, axis=0) for kept in zip(*ends, strict=True))
    return tuple(x.apply(SqueezeOp, axis=(1,)) if single else x for x in (data, *stacks))


def _gru_cell(
    ctx: Context, x: Term, state: Term, of_input: Term, of_state: Term, bias: Term | None, state_bias: Term | None
) -> Term:
    """Gates reset, update, hidden, whose part of the state is gated before it is added."""
    r, z, n = split(linear(x, of_input, bias), -1, 3)
    state_r, state_z, state_n = split(linear(state, of_state, state_bias), -1, 3)
    new = tanh(n + sigmoid(r + state_r) * state_n)
    return new + sigmoid(z + state_z) * (state - new)


def _lstm_cell(
    ctx: Context, x: Term, of_input: Term, of_state: Term, bias: Term | None, state_bias: Term | None
) -> tuple[Term, Term]:
    state, cell = (Term(ctx, value) for value in ctx.list_of("hx"))
    return lstm_step(cell, *split(linear(x, of_input, bias) + linear(state, of_state, state_bias), -1, 4))


def _row(kind: Kind, **fields: Any) -> Converter[Any]:
    """The row of a stack of layers; `fields` are those of a Direction."""
    return row(
        partial(_recurrent, kind=kind, fields=fields),
        "input",
        num_layers=Int(),
        bidirectional=Flag(False),
        has_biases=Flag(True),
        batch_first=Flag(False),
        dropout=Float(0.0),
        train=Flag(False),
    )


TABLE: dict[str, Converter[Any]] = {
    "aten.gru_cell.default": row(_gru_cell, "input hx w_ih w_hh b_ih? b_hh?"),
    "aten.lstm_cell.default": row(_lstm_cell, "input w_ih w_hh b_ih? b_hh?"),
    "aten.gru.input": _row(GRU, gates="rzh", options={"linear_before_reset": True}),
    "aten.lstm.input": _row(LSTM, gates="ifco"),
    "aten.rnn_relu.input": _row(RNN, activations="relu"),
    "aten.rnn_tanh.input": _row(RNN),
}
