"""Patterns that remove broadcasts from the operands of operators that broadcast by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects.relay.canonicalization.constant_operands import erase_unused
from ....dialects.relay.elementwise import Binary
from ....dialects.relay.logic import WhereOp
from ....dialects.relay.operator import Operator, shape_of
from ....dialects.relay.transform import BroadcastToOp
from ....dialects.sizes import Size, broadcast_sizes, same_shape


def _narrow(operands: Sequence[SSAValue], shape: tuple[int, ...]) -> list[SSAValue] | None:
    """Return the operands, without broadcasts where the shape stays the same; None where all are needed."""
    narrow = list(operands)
    changed = False
    for index, operand in enumerate(operands):
        if not isinstance(op := operand.owner, BroadcastToOp):
            continue
        before, narrow[index] = narrow[index], op.data
        common: Sequence[Size] | None = ()
        for value in narrow:
            common = None if common is None else broadcast_sizes(common, shape_of(value))
        if common is None or not same_shape(cast("tuple[int, ...]", common), shape):
            narrow[index] = before
        else:
            changed = True
    return narrow if changed else None


def _rewritten(op: Operator, rewriter: PatternRewriter) -> None:
    operands = list(op.operands)
    narrow = _narrow(operands, shape_of(op.results[0]))
    if narrow is None:
        return
    new = type(op).create(
        operands=narrow,
        result_types=[result.type for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    rewriter.replace(op, new)
    erase_unused(operands, rewriter)


class ImplicitBinary(RewritePattern):
    """`add(x, broadcast_to(y))` -> `add(x, y)`."""

    reason: ClassVar[str] = "the operator broadcasts by itself"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Binary, rewriter: PatternRewriter, /) -> None:
        _rewritten(op, rewriter)


class ImplicitWhere(RewritePattern):
    """`where(c, x, broadcast_to(y))` -> `where(c, x, y)`."""

    reason: ClassVar[str] = "the operator broadcasts by itself"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: WhereOp, rewriter: PatternRewriter, /) -> None:
        _rewritten(op, rewriter)
