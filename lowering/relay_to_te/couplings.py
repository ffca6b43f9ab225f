"""Computes of probabilities of classes from those of pairs."""

from __future__ import annotations

from ... import te
from ...dialects.relay.couplings import ROUNDS, CoupledProbabilitiesOp
from ...dialects.relay.operator import Operator
from ...te import Expr, Tensor
from . import couplings_scripts as scripts
from .stages import ROWS_APART, dtype_of, rounded, shape, wide


def coupled_probabilities(op: Operator, x: Tensor) -> Tensor:
    number, classes = wide(x.dtype), CoupledProbabilitiesOp.classes(op.signature)

    def widened(pair: Expr) -> Expr:
        return pair.astype(number)

    with te.tag_scope(ROWS_APART):
        one, enough = te.const(1, number), te.const(0.005 / classes, number)
        coupled = scripts.coupled(x, shape(x)[0], classes, number, one, rounds=ROUNDS, enough=enough, wide=widened)
    return rounded(coupled, dtype_of(op))


TABLE = {
    CoupledProbabilitiesOp: coupled_probabilities,
}
