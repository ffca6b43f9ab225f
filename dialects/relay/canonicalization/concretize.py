"""A pattern that frees operators of the tensors whose shape or dtype alone they read, `zeros_like` for example."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, cast

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...element_types import dtype_name
from ...sizes import holds_zero
from ...sizes.types import is_open
from ..collapse import CollapseSumLikeOp, CollapseSumToOp
from ..creation import FullLikeOp, FullOp, OnesOp, ZerosOp
from ..elementwise import CastLikeOp, CastOp, OnesLikeOp, ZerosLikeOp
from ..operator import Operator, element_of, shape_of
from ..rearrange import BroadcastToLikeOp, ReshapeLikeOp
from ..transform import BroadcastToOp, ReshapeOp
from .constant_operands import erase_unused

_CONCRETE: dict[type[Operator], tuple[type[Operator], tuple[int, ...], str, bool]] = {
    ZerosLikeOp: (ZerosOp, (), "shape", True),
    OnesLikeOp: (OnesOp, (), "shape", True),
    FullLikeOp: (FullOp, (1,), "shape", True),
    ReshapeLikeOp: (ReshapeOp, (0,), "newshape", False),
    CollapseSumLikeOp: (CollapseSumToOp, (0,), "shape", False),
    BroadcastToLikeOp: (BroadcastToOp, (0,), "shape", False),
    CastLikeOp: (CastOp, (0,), "", True),
}
"""Operator -> what it becomes, the operands that this keeps, its attribute of the shape, and whether it has a dtype."""


class Concretize(RewritePattern):
    """TVM's Concretize..Like: the shape and dtype are known, and need no operand to tell them."""

    reason: ClassVar[str] = "the shape and dtype of its operand are known"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        row = _CONCRETE.get(cast(type[Operator], type(op)))
        if row is None or (row[2] and is_open(op.results[0].type)):
            return
        operator, kept, shaped, typed = row
        (result,), shape = op.results, shape_of(op.results[0])
        attributes: dict[str, str | tuple[int, ...] | int] = {"dtype": dtype_name(element_of(result))} if typed else {}
        if shaped:
            attributes[shaped] = shape
        if operator is ReshapeOp and holds_zero(shape):
            attributes["allowzero"] = 1
        operands = list(op.operands)
        build: Callable[..., Operator] = operator
        # The same layer, told otherwise: not one of those that made the operand which now goes.
        rewriter.replace(op, build(*(operands[i] for i in kept), location=op.location, **attributes))
        erase_unused([operand for i, operand in enumerate(operands) if i not in kept], rewriter)
