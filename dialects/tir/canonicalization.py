"""The patterns of xDSL's `canonicalize` for tir: indices under the ranges of loops, and what they decide.

`tir-simplify` does more: it also knows what guards around an op say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import HasCanonicalizationPatternsTrait, HasFolder

from ...provenance.rewrite import Located
from ..sizes import same
from .access import INDEX, IndexOp, LoadOp, index_ranges
from .control import ForOp, IfOp
from .index_maps import LEADING, Mapped, SimplifiedMaps, View, simplify_maps, update, view
from .lanes import SelectOp, lanes


def _simplified(op: Mapped | IfOp) -> tuple[View, SimplifiedMaps]:
    seen = view(op, {})
    return seen, simplify_maps(seen.map, seen.guard, tuple(index_ranges(seen.values)))


class SimplifyIndices(RewritePattern):
    """Maps become linear over the values that they use; guards that always hold go."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Mapped | IfOp):
            return
        seen, simplified = _simplified(op)
        before = tuple(op.operands), dict(op.properties)
        if simplified.never:
            return
        update(op, seen.values, simplified)
        if (tuple(op.operands), dict(op.properties)) != before:
            rewriter.notify_op_modified(op)


class NeverRead(RewritePattern):
    """A load whose guard never holds is its else value."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, LoadOp) and op.otherwise is not None and _simplified(op)[1].never:
            value = ConstantOp.create(result_types=[op.result.type], properties={"value": op.otherwise})
            rewriter.replace(op, value)


class DecidedIf(RewritePattern):
    """The branch that is sure to be taken stands for an `if`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IfOp):
            return
        simplified = _simplified(op)[1]
        if simplified.never:
            _inline(op, op.orelse, rewriter)
        elif simplified.guard is None:
            _inline(op, op.body, rewriter)


class EmptyLoop(RewritePattern):
    """A loop of extent 0 goes."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ForOp) and same(op.trip_count, 0):
            rewriter.erase(op)


class UnitLoop(RewritePattern):
    """The body of a loop of extent 1 stands for it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ForOp) and same(op.trip_count, 1) and not op.attributes:
            zero = ConstantOp(IntegerAttr(0, INDEX))
            rewriter.insert(zero, InsertPoint.before(op))
            _inline(op, op.body, rewriter, zero.result)


class DecidedIndex(RewritePattern):
    """A `tir.index` that its operands decide is a constant."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IndexOp) or (simplified := _simplified(op)[1]).kept or simplified.map.data.num_symbols:
            return
        (first,) = simplified.map.data.eval([], [])
        value: Attribute = IntegerAttr(first, INDEX)
        if shape := lanes(op.result.type):
            numbers = [first + op.stride.value.data * lane for lane in range(shape[0])]
            value = DenseIntOrFPElementsAttr.from_list(cast(VectorType[IndexType], op.result.type), numbers)
        rewriter.replace(op, ConstantOp.create(result_types=[op.result.type], properties={"value": value}))


def _inline(op: Operation, region: Region | None, rewriter: PatternRewriter, *arguments: SSAValue) -> None:
    if region is not None:
        rewriter.inline_block(region.block, InsertPoint.before(op), arguments)
    rewriter.erase(op)


class _Patterns(HasCanonicalizationPatternsTrait):
    """The patterns of the ops that hold index maps, and of loops and branches."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (_LOCATED,)


_LOCATED = Located((EmptyLoop(), UnitLoop(), DecidedIf(), NeverRead(), DecidedIndex(), SimplifyIndices()))


class SelectFolder(HasFolder):
    """A `tir.select` of equal values, or by a condition that is the same known number in all lanes, is one of them."""

    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute] | None:
        assert isinstance(op, SelectOp)
        if op.first is op.second:
            return [op.first]
        match op.condition.owner:
            case ConstantOp(value=IntegerAttr(value=number)):
                return [op.first if number.data else op.second]
            case ConstantOp(value=DenseIntOrFPElementsAttr() as numbers) if numbers.is_splat():
                return [op.first if numbers.get_values()[0] else op.second]
            case _:
                return None


for _type in (*LEADING, ForOp):
    _type.traits.add_trait(_Patterns())
SelectOp.traits.add_trait(SelectFolder())
