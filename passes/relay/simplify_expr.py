"""relay-simplify-expr: operators that change nothing go, and several in a row that move data become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.traits import Neutral
from ...dialects.relay.transform import BatchFlattenOp, ReshapeOp, Reshaping, TransposeOp
from ...provenance.rewrite import rewrite
from .constant_operands import constant_value, erase_unused, sole_user
from .fold_empty import DropEmptyParts, EvaluateEmpty


class DropNoOp(RewritePattern):
    """A reshape, cast, transpose, ... to what is there already."""

    reason: ClassVar[str] = "it leaves its input as it is"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, Operator) and op.leaves_as_is(op.signature):
            rewriter.replace(op, [], [op.operands[0]])


class MergeReshapes(RewritePattern):
    """The last of several reshapes in a row reshapes the first one's input."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp | BatchFlattenOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(sole_user(op.result), ReshapeOp | BatchFlattenOp):
            return
        base: SSAValue = op.data
        while isinstance(owner := base.owner, Reshaping):
            base = owner.data
        if base is op.data:
            return
        shape = shape_of(op.result)
        made = (
            [] if base.type == op.result.type else [ReshapeOp(base, newshape=shape, allowzero=int(0 in shape) or None)]
        )
        before = op.data
        rewriter.replace(op, made, [made[0].result if made else base])
        erase_unused([before], rewriter)


class MergeTransposes(RewritePattern):
    """The last of several transposes in a row permutes the first one's input."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(sole_user(op.result), TransposeOp):
            return
        base: SSAValue = op.data
        axes = op.order(op.signature)
        while isinstance(owner := base.owner, TransposeOp):
            inner = owner.order(owner.signature)
            axes = tuple(inner[axis] for axis in axes)
            base = owner.data
        if base is op.data:
            return
        made = [] if axes == tuple(range(len(axes))) else [TransposeOp(base, axes=axes)]
        before = op.data
        rewriter.replace(op, made, [made[0].result if made else base])
        erase_unused([before], rewriter)


@dataclass
class DropNeutralOperand(RewritePattern):
    """x + 0, x - 0, x * 1 and x / 1, and the commuted forms."""

    module: ModuleOp
    reason: ClassVar[str] = "its constant operand is neutral"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (neutral := op.get_trait(Neutral)) is None:
            return
        left, right = op.operands
        for data, other in ((left, right), (right, left)) if neutral.commutes else ((left, right),):
            value = constant_value(other, self.module) if data.type == op.results[0].type else None
            if value is not None and value.size and value.flat[0] == neutral.value and (value == neutral.value).all():
                rewriter.replace(op, [], [data])
                erase_unused([other], rewriter)
                return


@dataclass(frozen=True)
class SimplifyExprPass(ModulePass):
    """Drops operators without effect and merges reshapes and transposes, after TVM's SimplifyExpr (level 0).

    Before: any relay module.
    After: no reshape follows another, no transpose another, none of them, nor a cast, slice, broadcast or layout
    transform, leaves its input as it is, and no 0 is added or subtracted, no 1 multiplied or divided by.
    No operator reads or makes a tensor without elements.
    Locations: the one op that several in a row become gets them all, last first; what goes is in the ledger.

    ```mlir
    %0 = relay.reshape %x {newshape = [4, 2]} : (tensor<8xf32>) -> tensor<4x2xf32> loc("a")
    %1 = relay.reshape %0 {newshape = [2, 4]} : (tensor<4x2xf32>) -> tensor<2x4xf32> loc("b")
    // becomes
    %0 = relay.reshape %x {newshape = [2, 4]} : (tensor<8xf32>) -> tensor<2x4xf32> loc(fused["b", "a"])
    ```
    """

    name = "relay-simplify-expr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = [EvaluateEmpty(op), DropEmptyParts(), DropNoOp(), MergeReshapes(), MergeTransposes()]
        rewrite(op, [*patterns, DropNeutralOperand(op)], recursive=False)
