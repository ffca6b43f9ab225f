"""Patterns that leave out operators which give an operand as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ....support.dtypes import Array
from ..constants import module_of
from ..elementwise import AddOp, SubtractOp
from ..numerics import is_float
from ..operator import Operator
from ..traits import Neutral
from .constant_operands import erase_unused, one_number


def _unsigns(op: Operation, number: Array) -> bool:
    """Return whether a sum or difference of -0.0 and a number is 0.0."""
    if not isinstance(op, AddOp | SubtractOp) or not is_float(number.dtype):
        return False
    return bool(np.signbit(number)) == isinstance(op, SubtractOp)


class DropNoOp(RewritePattern):
    """A reshape, cast, transpose, ... to what is there already."""

    reason: ClassVar[str] = "it leaves its input as it is"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, Operator) and op.leaves_as_is(op.signature):
            rewriter.replace(op, [], [op.operands[0]])


@dataclass
class DropNeutralOperand(RewritePattern):
    """x + 0, x - 0, x * 1 and x / 1, and the commuted forms; the number may be a constant, zeros, ones or full.

    exact: keep an addition that makes 0.0 of -0.0.
    """

    exact: bool = False
    reason: ClassVar[str] = "its constant operand is neutral"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (neutral := op.get_trait(Neutral)) is None:
            return
        left, right = op.operands
        for data, other in ((left, right), (right, left)) if neutral.commutes else ((left, right),):
            value = one_number(other, module_of(op)) if data.type == op.results[0].type else None
            if value is not None and value == neutral.value and not (self.exact and _unsigns(op, value)):
                rewriter.replace(op, [], [data])
                erase_unused([other], rewriter)
                return
