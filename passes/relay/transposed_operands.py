"""A pattern that has products read transposed operands as they lie in memory."""

from __future__ import annotations

from typing import TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.constant_operands import erase_unused, sole_user
from ...dialects.relay.matmul import FEW_ROWS, BatchMatmulOp, MatmulOp
from ...dialects.relay.operator import shape_of
from ...dialects.relay.transform import ReshapeOp, TransposeOp
from ...dialects.sizes import Size, holds_zero, same, same_shape
from ...dialects.sizes.kernel import at_least
from .blocking import twin

Product: TypeAlias = MatmulOp | BatchMatmulOp


def _may_be_few(rows: Size, columns: Size) -> bool:
    """Return whether a product has few rows: those of one token, where calls decide how many tokens there are.

    Rows and columns of one number, as an encoder's attention has, are not few beside each other.
    """
    if isinstance(rows, int):
        return 0 < rows <= FEW_ROWS
    return not at_least(rows, 2) and not same(rows, columns)


class ReadTransposed(RewritePattern):
    """The second operand of a product of few rows is what it was transposed from, maybe with its batches reshaped."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Product, rewriter: PatternRewriter, /) -> None:
        rows, sig = cast(Size, shape_of(op.result)[-2]), op.signature
        if not _may_be_few(rows, shape_of(op.result)[-1]) or sig.get("transpose_a") or sig.get("transpose_b"):
            return
        left, right = op.operands
        reshape = right.owner if isinstance(right.owner, ReshapeOp) else None
        moved = right if reshape is None else reshape.data
        turn = moved.owner
        if not isinstance(turn, TransposeOp) or any(sole_user(value) is None for value in (right, moved)):
            return
        *batch, k, n = shape_of(right)
        *kept, last = range(len(shape_of(moved)))
        if turn.order(turn.signature) != (*kept[:-1], last, kept[-1]):
            return
        made: list[Operation] = []
        if reshape is not None:
            shape = (*batch, n, k)
            if not same_shape(shape_of(moved)[-2:], (k, n)) or DYNAMIC_INDEX in shape or holds_zero(shape):
                return
            made.append(ReshapeOp(turn.data, newshape=shape))
        product = twin(op, left, made[0].results[0] if made else turn.data, transpose_b=True)
        rewriter.replace(op, [*made, product], product.results)
        erase_unused([right], rewriter)
