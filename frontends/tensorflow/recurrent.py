"""One step of recurrent layers that older graphs have as one operator."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.transform import ConcatenateOp, StridedSliceOp
from ..importing import products
from ..importing.converter import Converter
from ..importing.terms import Term, sigmoid, tanh, term
from .context import Context


def _product(ctx: Context, left: Term, right: Term, weights: int, bias: int) -> Term:
    """Two parts of rows beside each other, times weights, and a bias."""
    rows = ctx.emit(ConcatenateOp, [left.value, right.value], axis=1)
    return Term(ctx, products.dense(ctx, rows, ctx.value(weights), False)) + term(ctx, bias)


def _gates(ctx: Context, whole: Term, count: int) -> list[Term]:
    units = whole.shape[1] // count
    return [
        Term(ctx, ctx.emit(StridedSliceOp, whole.value, begin=(k * units,), end=(k * units + units,), axes=(1,)))
        for k in range(count)
    ]


def lstm_cell(ctx: Context) -> tuple[SSAValue, ...]:
    """Inputs: x, cell and state before, weights, three peepholes, a bias; gates: input, cell, forget, output.

    Results: input gate, cell, forget gate, output gate, candidate, the cell's tanh, state.
    """
    before = term(ctx, 1)
    i, candidate, f, o = _gates(ctx, _product(ctx, term(ctx, 0), term(ctx, 2), 3, 7), 4)
    peephole = ctx.flag("use_peephole")
    if peephole:
        i, f = i + before * term(ctx, 4), f + before * term(ctx, 5)
    i, f, candidate = sigmoid(i), sigmoid(f + ctx.float("forget_bias", 1.0)), tanh(candidate)
    cell = candidate * i + before * f
    if (bound := ctx.float("cell_clip", 3.0)) > 0:
        cell = cell.clip(-bound, bound)
    o = sigmoid(o + cell * term(ctx, 6) if peephole else o)
    bent = tanh(cell)
    return tuple(part.value for part in (i, cell, f, o, candidate, bent, bent * o))


def gru_cell(ctx: Context) -> tuple[SSAValue, ...]:
    """Inputs: x, the state before, weights of the gates and of the candidate, and biases of both.

    Results: reset gate, update gate, candidate, state.
    """
    x, before = term(ctx, 0), term(ctx, 1)
    r, u = _gates(ctx, sigmoid(_product(ctx, x, before, 2, 4)), 2)
    candidate = tanh(_product(ctx, x, r * before, 3, 5))
    state = u * before + (-u + 1.0) * candidate
    return r.value, u.value, candidate.value, state.value


_PEEPHOLES: dict[str, str] = dict.fromkeys(("wci", "wcf", "wco"), "read with use_peephole only")

TABLE = {
    "GRUBlockCell": Converter(gru_cell),
    "LSTMBlockCell": Converter(lstm_cell, unread=_PEEPHOLES),
}
