"""Patterns that have products read an operand that several of their batches share once, as grouped queries do keys."""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.constant_operands import erase_unused, sole_user
from ...dialects.relay.matmul import BatchMatmulOp
from ...dialects.relay.normalization import SoftmaxOp
from ...dialects.relay.operator import Operator, OpPattern, shape_of
from ...dialects.relay.transform import BroadcastToOp, Reshaping, TransposeOp
from ...dialects.relay.transform import ReshapeOp as Reshape
from ...dialects.sizes import Size, holds_zero, product, same, same_shape
from .blocking import twin

_CHAIN = 8
"""Operators between scores and their softmax, at most: scales and masks."""


class ShareOperand(RewritePattern):
    """A product whose second operand is repeated for batches that share it broadcasts over them instead.

    Its batch then has an axis of its own for those that share, along which the second operand has extent 1.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchMatmulOp, rewriter: PatternRewriter, /) -> None:
        if op.signature.get("transpose_a"):
            return
        right = op.y
        turn = right.owner if isinstance(right.owner, TransposeOp) else None
        rank = len(shape_of(right))
        if turn is not None:
            *kept, last = range(rank)
            if turn.order(turn.signature) != (*kept[:-1], last, kept[-1]):
                return
            right = turn.data
        repeated = right
        while isinstance(owner := repeated.owner, Reshaping):
            repeated = owner.data
        if repeated is right or not isinstance(spread := repeated.owner, BroadcastToOp):
            return
        wide, narrow = shape_of(repeated), shape_of(spread.data)
        narrow = (*[1] * (len(wide) - len(narrow)), *narrow)
        batch, matrix = wide[:-2], wide[-2:]
        # The product's own batch, which the second operand does not broadcast to, in the parts of the repeated one.
        whole = same_shape(shape_of(right)[-2:], matrix) and same_shape(narrow[-2:], matrix)
        if not whole or len(batch) < 2 or not same(product(shape_of(op.x)[:-2]), product(batch)):
            return
        shapes = [(*batch, *shape_of(op.x)[-2:]), narrow, shape_of(op.result)]
        if any(DYNAMIC_INDEX in shape or holds_zero(shape) for shape in shapes):
            return
        left, shared = Reshape(op.x, newshape=shapes[0]), Reshape(spread.data, newshape=shapes[1])
        made: list[Operation] = [left, shared]
        if turn is not None:
            count = len(wide)
            made.append(TransposeOp(shared, axes=(*range(count - 2), count - 1, count - 2)))
        made.append(dense := twin(op, left, made[-1].results[0]))
        made.append(Reshape(dense, newshape=shapes[2]))
        before = op.y
        rewriter.replace(op, made, made[-1].results)
        erase_unused([before], rewriter)


class _Joined(NamedTuple):
    """A reshape that joins two axes of scores."""

    reshape: Reshape
    axis: int
    """The axis that it makes of `parts`."""
    parts: tuple[Size, Size]


class JoinLater(RewritePattern):
    """Scales, masks and the softmax of the scores of such a product come before its axes are joined again.

    So they are part of the product's kernel, and the next product reads the scores' axes as they are.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or len(op.results) != 1 or not op.operands:
            return
        softmax = isinstance(op, SoftmaxOp)
        shape = shape_of(op.results[0])
        if softmax:
            if op.signature.int("axis") % len(shape) != len(shape) - 1:
                return
        elif not op.is_pointwise() or op.pattern() > OpPattern.BROADCAST:
            return
        joined = next((found for value in op.operands if (found := _joined(value, shape)) is not None), None)
        if joined is None:
            return
        made: list[Operation] = []
        operands: list[SSAValue] = []
        for value in op.operands:
            if value is joined.reshape.result:
                operands.append(joined.reshape.data)
                continue
            apart = _apart(shape_of(value), joined, len(shape))
            if apart is not None:
                if DYNAMIC_INDEX in apart or holds_zero(apart):
                    return
                made.append(Reshape(value, newshape=apart))
                value = made[-1].results[0]
            operands.append(value)
        copy = twin(op, *operands, axis=-1) if softmax else twin(op, *operands)
        made += [copy, Reshape(copy, newshape=shape)]
        before = joined.reshape.result
        rewriter.replace(op, made, made[-1].results)
        erase_unused([before], rewriter)


def _joined(value: SSAValue, shape: tuple[Size, ...]) -> _Joined | None:
    """The reshape that makes a value, if it joins two axes of the scores of a product that shares its operand."""
    reshape = value.owner
    if not isinstance(reshape, Reshape) or sole_user(value) is None or not same_shape(shape_of(value), shape):
        return None
    apart = shape_of(reshape.data)
    if len(apart) != len(shape) + 1 or len(shape) < 3 or not _of_shared(reshape.data):
        return None
    for axis in range(len(shape) - 2):
        ends = same_shape(apart[:axis], shape[:axis]) and same_shape(apart[axis + 2 :], shape[axis + 1 :])
        if ends and same(product(apart[axis : axis + 2]), shape[axis]):
            return _Joined(reshape, axis, (apart[axis], apart[axis + 1]))
    return None


def _of_shared(value: SSAValue) -> bool:
    """Return whether a value is scores of a product whose second operand broadcasts over its batch."""
    shape = shape_of(value)
    for _ in range(_CHAIN):
        owner = value.owner
        if isinstance(owner, BatchMatmulOp):
            batch = shape_of(owner.y)[:-2]
            return any(same(mine, 1) and not same(whole, 1) for mine, whole in zip(batch, shape, strict=False))
        if not isinstance(owner, Operator):
            return False
        like = [operand for operand in owner.operands if same_shape(shape_of(operand), shape)]
        if len(like) != 1:
            return False
        value = like[0]
    return False


def _apart(shape: tuple[Size, ...], joined: _Joined, rank: int) -> tuple[int, ...] | None:
    """The shape of another operand beside the axes taken apart; None if it broadcasts as it is."""
    axis = joined.axis - (rank - len(shape))
    if axis < 0:
        return None
    parts: tuple[Size, ...] = (1, 1) if same(shape[axis], 1) else joined.parts
    return cast("tuple[int, ...]", (*shape[:axis], *parts, *shape[axis + 1 :]))
