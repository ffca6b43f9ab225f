"""A pattern that has products read transposed operands as they lie in memory."""

from __future__ import annotations

from typing import TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.constant_operands import erase_unused, sole_user
from ...dialects.relay.matmul import FEW_ROWS, LONG_ROW, BatchMatmulOp, MatmulOp
from ...dialects.relay.operator import shape_of
from ...dialects.relay.transform import ReshapeOp, TransposeOp
from ...dialects.sizes import Size, holds_zero, same, same_shape
from ...dialects.sizes.kernel import may_be_one
from .blocking import twin

Product: TypeAlias = MatmulOp | BatchMatmulOp


def _reads_rows(rows: Size, columns: Size, terms: Size) -> bool:
    """Return whether a product is better off with rows of its second operand than with that transposed.

    It is where few rows multiply it, or a row is long. Where calls decide how many rows there are, there may be few:
    those of one token. Rows and columns of one number, as an encoder's attention has, are not few beside each other.
    """
    if isinstance(terms, int) and terms >= LONG_ROW:
        return True
    if isinstance(rows, int):
        return 0 < rows <= FEW_ROWS
    return may_be_one(rows) and not same(rows, columns)


class ReadTransposed(RewritePattern):
    """The second operand of a product is what it was transposed from, maybe with its batches reshaped."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Product, rewriter: PatternRewriter, /) -> None:
        rows, sig = cast(Size, shape_of(op.result)[-2]), op.signature
        columns, terms = shape_of(op.result)[-1], shape_of(op.operands[1])[-2]
        if not _reads_rows(rows, columns, terms) or sig.get("transpose_a") or sig.get("transpose_b"):
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
