"""One step of recurrent layers that older graphs have as one operator."""

from __future__ import annotations

from ..importing.attributes import Flag, Float
from ..importing.rows import row
from ..importing.terms import Term, sigmoid, tanh
from ..meanings.moves import concatenate
from ..meanings.products import dense
from ..meanings.slices import split


def _product(left: Term, right: Term, weights: Term, bias: Term) -> Term:
    """Two parts of rows beside each other, times weights, and a bias."""
    return dense(concatenate(left, right, axis=1), weights, outputs_first=False) + bias


def lstm_cell(
    x: Term,
    before: Term,
    state: Term,
    weights: Term,
    of_input: Term,
    of_forget: Term,
    of_output: Term,
    bias: Term,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> tuple[Term, ...]:
    """Gates: input, cell, forget, output; the first, third and fourth have peepholes.

    Results: input gate, cell, forget gate, output gate, candidate, the cell's tanh, state.
    """
    i, candidate, f, o = split(_product(x, state, weights, bias), -1, 4)
    if use_peephole:
        i, f = i + before * of_input, f + before * of_forget
    i, f, candidate = sigmoid(i), sigmoid(f + forget_bias), tanh(candidate)
    cell = candidate * i + before * f
    if cell_clip > 0:
        cell = cell.clip(-cell_clip, cell_clip)
    o = sigmoid(o + cell * of_output if use_peephole else o)
    bent = tanh(cell)
    return i, cell, f, o, candidate, bent, bent * o


def gru_cell(
    x: Term, before: Term, of_gates: Term, of_candidate: Term, gate_bias: Term, candidate_bias: Term
) -> tuple[Term, ...]:
    """Results: reset gate, update gate, candidate, state."""
    r, u = split(sigmoid(_product(x, before, of_gates, gate_bias)), -1, 2)
    candidate = tanh(_product(x, r * before, of_candidate, candidate_bias))
    return r, u, candidate, u * before + (-u + 1.0) * candidate


TABLE = {
    "GRUBlockCell": row(gru_cell, "x h_prev w_ru w_c b_ru b_c"),
    "LSTMBlockCell": row(
        lstm_cell,
        "x cs_prev h_prev w wci wcf wco b",
        forget_bias=Float(1.0),
        cell_clip=Float(3.0),
        use_peephole=Flag(False),
    ),
}
