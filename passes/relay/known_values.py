"""Patterns for control flow and data whose outcome the program itself tells: ifs, matches, tuples, let-blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from ...dialects.relay.binding import IfOp, resolved
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused
from ...dialects.relay.data_types import (
    ConstructOp,
    ConstructorPattern,
    MatchOp,
    TuplePattern,
    VarPattern,
)
from ...dialects.relay.functions import YieldOp
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from .analysis.variables import free_vars


def take_branch(op: Operation, block: Block, arguments: list[SSAValue], rewriter: PatternRewriter) -> None:
    """Put the ops of a branch or clause in the place of `op`, whose result is what it yields."""
    last = block.last_op
    assert isinstance(last, YieldOp)
    values, read = list(last.values), [*op.operands, *free_vars(op)]
    argument_of = dict(zip(block.args, arguments, strict=True))
    values = [argument_of.get(value, value) if isinstance(value, BlockArgument) else value for value in values]
    rewriter.erase(last)
    rewriter.inline_block(block, InsertPoint.before(op), arguments)
    rewriter.replace(op, [], values)
    erase_unused(read, rewriter)


@dataclass
class IfOnConstant(RewritePattern):
    """An `if` on a constant is one of its branches."""

    module: ModuleOp
    reason: ClassVar[str] = "its condition is constant"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: IfOp, rewriter: PatternRewriter, /) -> None:
        condition = constant_value(resolved(op.condition), self.module)
        if condition is not None:
            branch = op.true_branch if condition.item() else op.false_branch
            take_branch(op, branch.block, [], rewriter)


class MatchOnConstruct(RewritePattern):
    """A match on a value whose constructors are at hand is one of its clauses."""

    reason: ClassVar[str] = "its value is known"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatchOp, rewriter: PatternRewriter, /) -> None:
        for pattern, region in zip(op.patterns, op.clauses, strict=True):
            bound: list[SSAValue] = []
            answer = fits(pattern, op.data, bound)
            if answer and all(is_seen_from(value, op) for value in bound):
                take_branch(op, region.block, bound, rewriter)
            if answer is not False:
                return


def fits(pattern: Attribute, value: SSAValue, bound: list[SSAValue]) -> bool | None:
    """Return whether a value fits a pattern; None where the program does not tell. Adds what that binds to `bound`."""
    if isinstance(pattern, VarPattern):
        bound.append(value)
        return True
    if not isinstance(pattern, ConstructorPattern | TuplePattern):
        return True
    owner = resolved(value).owner
    if isinstance(pattern, ConstructorPattern) and isinstance(owner, ConstructOp):
        if owner.constructor != pattern.constructor:
            return False
        parts = list(owner.arguments)
    elif isinstance(pattern, TuplePattern) and isinstance(owner, TupleOp):
        parts = list(owner.fields)
    else:
        return None
    answers = [fits(inner, part, bound) for inner, part in zip(pattern.patterns, parts, strict=True)]
    return False if False in answers else None if None in answers else True


class GetOfTuple(RewritePattern):
    """A field of a tuple that is at hand is the field."""

    reason: ClassVar[str] = "the tuple is at hand"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TupleGetItemOp, rewriter: PatternRewriter, /) -> None:
        owner = resolved(op.tuple_value).owner
        if isinstance(owner, TupleOp) and is_seen_from(field := owner.fields[op.index.value.data], op):
            tuple_value = op.tuple_value
            rewriter.replace(op, [], [field])
            erase_unused([tuple_value], rewriter)


def is_seen_from(value: SSAValue, op: Operation) -> bool:
    """Return whether a value that is made somewhere before `op` is made in a block around it."""
    block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
    around = op.parent
    while around is not None and around is not block:
        outer = around.parent_op()
        around = outer.parent if outer is not None else None
    return around is not None
