"""Patterns that leave out operators which give an operand as it is."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ..constants import module_of
from ..operator import Operator
from ..traits import Neutral
from .constant_operands import erase_unused, one_number


class DropNoOp(RewritePattern):
    """A reshape, cast, transpose, ... to what is there already."""

    reason: ClassVar[str] = "it leaves its input as it is"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, Operator) and op.leaves_as_is(op.signature):
            rewriter.replace(op, [], [op.operands[0]])


class DropNeutralOperand(RewritePattern):
    """x + 0, x - 0, x * 1 and x / 1, and the commuted forms; the number may be a constant, zeros, ones or full."""

    reason: ClassVar[str] = "its constant operand is neutral"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (neutral := op.get_trait(Neutral)) is None:
            return
        left, right = op.operands
        for data, other in ((left, right), (right, left)) if neutral.commutes else ((left, right),):
            value = one_number(other, module_of(op)) if data.type == op.results[0].type else None
            if value is not None and value == neutral.value:
                rewriter.replace(op, [], [data])
                erase_unused([other], rewriter)
                return
