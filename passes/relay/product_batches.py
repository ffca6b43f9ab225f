"""A pattern that has batched products keep the batch dimensions that their readers ask for."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.constant_operands import erase_unused, sole_user
from ...dialects.relay.matmul import BatchMatmulOp
from ...dialects.relay.operator import shape_of
from ...dialects.relay.transform import ReshapeOp, Reshaping
from ...dialects.sizes import Size, holds_zero, product, same, same_shape
from .blocking import twin


class KeepBatches(RewritePattern):
    """A reshape that takes the batch of a product apart, after others put those of its operands together, goes.

    A kernel of a product ends with it, so that such a reshape would be a copy; those before are the operands' own.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        dense = op.data.owner
        if not isinstance(dense, BatchMatmulOp) or sole_user(op.data) is not op:
            return
        flat, whole = shape_of(op.data), shape_of(op.result)
        if len(flat) != 3 or len(whole) < 4:
            return
        *batch, rows, columns = whole
        if not same_shape(flat[-2:], (rows, columns)):
            return
        if any(not isinstance(value.owner, Reshaping) for value in dense.operands):
            return
        made: list[Operation] = []
        operands: list[SSAValue] = []
        for value in dense.operands:
            count, *matrix = shape_of(value)
            mine: list[Size] = [1] * len(batch) if same(count, 1) and not same(product(batch), 1) else list(batch)
            shape = cast("tuple[int, ...]", (*mine, *matrix))
            if DYNAMIC_INDEX in shape or holds_zero(shape):
                return
            made.append(ReshapeOp(value, newshape=shape))
            operands.append(made[-1].results[0])
        made.append(twin(dense, *operands))
        before = op.data
        rewriter.replace(op, made, made[-1].results)
        erase_unused([before], rewriter)
