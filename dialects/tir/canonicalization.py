"""What xDSL's `canonicalize` does to the ops of tir: indices under the ranges of loops, and what they decide.

`tir-simplify` does more: it also knows what guards around an op say, and it keeps a ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import HasCanonicalizationPatternsTrait, HasFolder

from .access import INDEX, IndexOp, LoadOp, StoreOp, index_ranges
from .control import ForOp, IfOp
from .index_maps import Mapped, SimplifiedMaps, View, simplify_maps, update, view
from .lanes import SelectOp, lanes
from .masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from .prefetch import PrefetchOp


def _simplified(op: Mapped | IfOp) -> tuple[View, SimplifiedMaps]:
    seen = view(op, {})
    return seen, simplify_maps(seen.map, seen.guard, tuple(index_ranges(seen.values)))


class SimplifyIndices(RewritePattern):
    """Maps become linear over the values that they use; guards that always hold go."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, Mapped | IfOp)
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
        assert isinstance(op, IfOp)
        _, simplified = _simplified(op)
        if simplified.never:
            _inline(op, op.orelse, rewriter)
        elif simplified.guard is None:
            _inline(op, op.body, rewriter)


class EmptyLoop(RewritePattern):
    """A loop of extent 0 goes."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ForOp) and not op.trip_count:
            rewriter.erase(op)


class UnitLoop(RewritePattern):
    """The body of a loop of extent 1 stands for it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ForOp) and op.trip_count == 1 and not op.attributes:
            zero = ConstantOp(IntegerAttr(0, INDEX))
            rewriter.insert(zero, InsertPoint.before(op))
            op.var.replace_all_uses_with(zero.result)
            _inline(op, op.body, rewriter)


def _inline(op: Operation, region: Region | None, rewriter: PatternRewriter) -> None:
    for inner in list(region.block.ops) if region is not None else ():
        inner.detach()
        rewriter.insert(inner, InsertPoint.before(op))
    rewriter.erase(op)


class _Patterns(HasCanonicalizationPatternsTrait):
    """The patterns of the ops that hold index maps."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return NeverRead(), SimplifyIndices()


class _IfPatterns(HasCanonicalizationPatternsTrait):
    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return DecidedIf(), SimplifyIndices()


class _ForPatterns(HasCanonicalizationPatternsTrait):
    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return EmptyLoop(), UnitLoop()


class IndexFolder(HasFolder):
    """A `tir.index` that its operands decide is a constant."""

    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute] | None:
        assert isinstance(op, IndexOp)
        _, simplified = _simplified(op)
        if simplified.kept:
            return None
        (first,) = simplified.map.data.eval([], [])
        if not (shape := lanes(op.result.type)):
            return [IntegerAttr(first, INDEX)]
        numbers = [first + op.stride.value.data * lane for lane in range(shape[0])]
        return [DenseIntOrFPElementsAttr.from_list(cast(VectorType[IndexType], op.result.type), numbers)]


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


class TirConstants(ConstantMaterializationInterface):
    """Constants of tir are those of arith."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation:
        return ConstantOp.create(result_types=[type], properties={"value": value})


for _type in (LoadOp, StoreOp, MaskedLoadOp, MaskedStoreOp, MaskOp, PrefetchOp, IndexOp):
    _type.traits.add_trait(_Patterns())
IfOp.traits.add_trait(_IfPatterns())
ForOp.traits.add_trait(_ForPatterns())
IndexOp.traits.add_trait(IndexFolder())
SelectOp.traits.add_trait(SelectFolder())
