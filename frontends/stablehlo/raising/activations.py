"""Patterns that raise activations and normalised exponentials."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects.relay.canonicalization.constant_operands import erase_unused
from ....dialects.relay.elementwise import (
    AddOp,
    DivideOp,
    ExpOp,
    LogOp,
    MaximumOp,
    NegativeOp,
    ReluOp,
    SigmoidOp,
    SubtractOp,
)
from ....dialects.relay.logic import WhereOp
from ....dialects.relay.normalization import LogSoftmaxOp, SoftmaxOp
from ....dialects.relay.operator import shape_of
from ....dialects.relay.reduce import MaxOp, SumOp
from ....dialects.sizes import same_shape
from .matching import difference_from, made_by, narrow, number, reduction


@dataclass
class WithLowest(RewritePattern):
    """`maximum(x, -inf)` -> x."""

    module: ModuleOp
    reason: ClassVar[str] = "nothing is less than -inf"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MaximumOp, rewriter: PatternRewriter, /) -> None:
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if number(other, self.module) == -inf and same_shape(shape_of(value), shape_of(op.result)):
                operands = list(op.operands)
                rewriter.replace(op, [], [value])
                erase_unused(operands, rewriter)
                return


@dataclass
class KnownChoice(RewritePattern):
    """`where(true, x, y)` -> x."""

    module: ModuleOp
    reason: ClassVar[str] = "the condition is known"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: WhereOp, rewriter: PatternRewriter, /) -> None:
        condition = number(op.condition, self.module)
        if condition is None:
            return
        value = op.x if condition else op.y
        if same_shape(shape_of(value), shape_of(op.result)):
            operands = list(op.operands)
            rewriter.replace(op, [], [value])
            erase_unused(operands, rewriter)


@dataclass
class ReluOfMaximum(RewritePattern):
    """`maximum(x, 0)` -> `nn.relu(x)`."""

    module: ModuleOp
    reason: ClassVar[str] = "the greater of a number and 0"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MaximumOp, rewriter: PatternRewriter, /) -> None:
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if number(other, self.module) == 0 and same_shape(shape_of(value), shape_of(op.result)):
                operands = list(op.operands)
                rewriter.replace(op, ReluOp(value))
                erase_unused(operands, rewriter)
                return


@dataclass
class SigmoidOfParts(RewritePattern):
    """`1 / (1 + exp(-x))` -> `sigmoid(x)`."""

    module: ModuleOp
    reason: ClassVar[str] = "the definition of a sigmoid"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivideOp, rewriter: PatternRewriter, /) -> None:
        total = made_by(op.rhs, AddOp)
        if total is None or number(op.lhs, self.module) != 1 or not op.rhs.has_one_use():
            return
        for first, power in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
            exponential = made_by(power, ExpOp)
            if exponential is None or number(first, self.module) != 1 or not power.has_one_use():
                continue
            negative = made_by(exponential.data, NegativeOp)
            if negative is None or not same_shape(shape_of(negative.data), shape_of(op.result)):
                continue
            operands = list(op.operands)
            rewriter.replace(op, SigmoidOp(negative.data))
            erase_unused(operands, rewriter)
            return


class SoftmaxOfParts(RewritePattern):
    """`e / sum(e)` with `e = exp(x - max(x))`, along an axis -> `nn.softmax(x)`."""

    reason: ClassVar[str] = "the definition of a softmax"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivideOp, rewriter: PatternRewriter, /) -> None:
        exponential = made_by(op.lhs, ExpOp)
        if exponential is None or (source := difference_from(exponential.data, MaxOp)) is None:
            return
        data, axis = source
        if reduction(op.rhs, SumOp, op.lhs) != axis:
            return
        operands = list(op.operands)
        rewriter.replace(op, SoftmaxOp(data, axis=axis))
        erase_unused(operands, rewriter)


class LogSoftmaxOfParts(RewritePattern):
    """`s - log(sum(exp(s)))` with `s = x - max(x)`, along an axis -> `nn.log_softmax(x)`."""

    reason: ClassVar[str] = "the definition of the logarithm of a softmax"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubtractOp, rewriter: PatternRewriter, /) -> None:
        logarithm = made_by(narrow(op.rhs), LogOp)
        if logarithm is None or (source := difference_from(op.lhs, MaxOp)) is None:
            return
        data, axis = source
        total = made_by(narrow(logarithm.data), SumOp)
        exponential = made_by(total.operands[0], ExpOp) if total is not None else None
        if total is None or exponential is None or exponential.data is not op.lhs:
            return
        kept = tuple(1 if at == axis else extent for at, extent in enumerate(shape_of(data)))
        if SumOp.axes(total.signature) != (axis,) or not same_shape(shape_of(op.rhs), kept):
            return
        operands = list(op.operands)
        rewriter.replace(op, LogSoftmaxOp(data, axis=axis))
        erase_unused(operands, rewriter)
