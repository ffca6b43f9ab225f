"""The pattern that writes out elementary functions."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ....dialects.tir.lanes import scalar_type
from .floats import Floats
from .formulas import FORMULAS


class ExpandIntrin(RewritePattern):
    """An elementary function of floats becomes arithmetic."""

    reason = "LLVM has no vector form of it"

    def __init__(self, flushes: bool = False):
        super().__init__()
        self._flushes = flushes

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (formula := FORMULAS.get(type(op))) is None:
            return
        floats = Floats(op.results[0].type, self._flushes)
        match scalar := scalar_type(op.results[0].type):
            case _ if scalar == f32:
                result = formula.write(floats, *op.operands)
            case _ if scalar in (f16, bf16):
                wide = [floats.widen(operand, f32) for operand in op.operands]
                result = floats.narrow(formula.write(floats, *wide), scalar)
            case _:
                return
        rewriter.replace(op, floats.ops, [result])
