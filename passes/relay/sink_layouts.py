"""The engine that moves layouts through a graph: transforms to plain layouts go below the operators that read them.

An operator that reads `layout_transform(NCHW16c -> NCHW)`, or one from another order of axes, computes on what that
transform reads, where its trait `Layout` says how (`dialects/relay/layout_traits.py`); a transform follows it. So
transforms move down until they meet one that undoes them. One with several readers stays for those that cannot.
Transforms only move down: so the rewriting ends. Of those between plain layouts only the ones in `permutations` move,
which the passes made themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.core import ConstantOp
from ...dialects.relay.layout_traits import EVERYWHERE, Arrangement, InLayout, Layout, Takes
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.transform import ExpandDimsOp, LayoutTransformOp, SqueezeOp
from ...dialects.sizes import same
from .blocking import SMALLEST_BLOCK, arrangement, in_blocks, largest_divisor, moved, transform
from .canonicalize_ops import BiasAddToAdd


class MergeTransforms(RewritePattern):
    """A -> B -> A is nothing, A -> B -> C is A -> C, and A -> A is nothing."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LayoutTransformOp, rewriter: PatternRewriter, /):
        if op.src_layout == op.dst_layout:
            rewriter.replace(op, [], [op.data])
            return
        inner = op.data.owner
        if not isinstance(inner, LayoutTransformOp) or inner.dst_layout != op.src_layout or op.result.first_use is None:
            return
        if inner.src_layout == op.dst_layout:
            rewriter.replace(op, [], [inner.data])
        else:
            src, dst = inner.src_layout.data, op.dst_layout.data
            rewriter.replace(op, LayoutTransformOp(inner.data, src_layout=src, dst_layout=dst))
        if inner.result.first_use is None:
            rewriter.erase(inner)


class BiasInBlocks(BiasAddToAdd):
    """A bias along channels in blocks is added as `[C, 1, 1]`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BiasAddOp, rewriter: PatternRewriter, /) -> None:
        layout = arrangement(op.data)
        if layout is not None and layout.splits(op.signature.int("axis")):
            super().match_and_rewrite(op, rewriter)


def is_other(op: Operation) -> bool:
    """Return whether an op is an operator other than a layout transform."""
    return isinstance(op, Operator) and not isinstance(op, LayoutTransformOp)


Sources = Mapping[int, LayoutTransformOp]
"""The operands that move -> the transforms that make them."""


@dataclass
class SinkLayouts(RewritePattern):
    """An operator below the transforms that it reads, if it computes on what they read."""

    permutations: set[Operation]
    """The transforms between plain layouts that may move."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operator, rewriter: PatternRewriter, /) -> None:
        trait = EVERYWHERE if op.is_pointwise() else op.get_trait(Layout)
        if trait is None:
            return
        rank = max((len(shape_of(value)) for value in op.operands), default=0)
        blocked: dict[int, LayoutTransformOp] = {}
        permuted: dict[int, LayoutTransformOp] = {}
        for index, value in enumerate(op.operands):
            source = value.owner
            if not isinstance(source, LayoutTransformOp) or len(shape_of(value)) < rank:
                continue
            if arrangement(value) is not None:
                blocked[index] = source
            elif source in self.permutations and source.src_layout.data.isalpha() and source.dst_layout.data.isalpha():
                permuted[index] = source
        for sources in (blocked, permuted):
            if sources and self._sink(op, trait, sources, rewriter):
                return

    def _sink(self, op: Operator, trait: Layout, sources: Sources, rewriter: PatternRewriter) -> bool:
        layout = _common_layout(op, trait, sources)
        step = None if layout is None else trait.rule(op, layout)
        if layout is None or step is None or (ops := _operands(op, trait, sources, layout)) is None:
            return False
        made, operands = ops
        backs = dict.fromkeys(sources.values())
        results = self._moved(op, step, operands, next(iter(backs)), made)
        rewriter.replace(op, made, results)
        for back in backs:
            if back.result.first_use is None:
                self.permutations.discard(back)
                rewriter.erase(back)
        return True

    def _moved(
        self, op: Operator, step: InLayout, operands: Sequence[SSAValue], asked: Operation, made: list[Operation]
    ) -> list[SSAValue | None]:
        """Add the operator in its layout, and transforms of its results, to the new ops; return what results become."""
        if step.kind is None:
            twin = moved(op, *operands, into=None, **step.attributes)
        else:
            twin = step.kind(*operands, location=op.location, **step.attributes)
        made.append(twin)
        values: list[SSAValue | None] = list(twin.results)
        layout = step.result
        if layout is None or layout.stored == layout.plain:
            return values
        for index, (old, value) in enumerate(zip(op.results, twin.results, strict=True)):
            if len(shape_of(value)) != len(layout.axes):
                continue
            if old.first_use is None:
                values[index] = None
                continue
            made.append(back := transform(value, layout.stored, layout.plain, asked))
            self.permutations.add(back)
            if step.squeezed:
                made.append(SqueezeOp(back, axis=step.squeezed, location=op.location))
            values[index] = made[-1].results[0]
        return values


def _common_layout(op: Operator, trait: Layout, sources: Sources) -> Arrangement | None:
    """The layout that the operands are brought to."""
    layouts = [Arrangement(source.src_layout.data, source.dst_layout.data) for source in sources.values()]
    first = layouts[0]
    if trait.takes is Takes.FIRST:
        return first if list(sources) == [0] else None
    if not first.blocks:
        return first if all(layout == first for layout in layouts) else None
    channels = [_channels(value, len(first.plain)) for value in op.operands]
    if trait.takes is Takes.BROADCAST:
        extents = {extent for extent in channels if not same(extent, 1)} or {1}
        blocks = [layout.block(1) for index, layout in zip(sources, layouts, strict=True) if channels[index] in extents]
        return Arrangement(in_blocks(first.plain, max(blocks)), first.plain) if blocks else None
    # Parts along the channels need a common block that divides the channels of each.
    block, shared = max(layout.block(1) for layout in layouts), gcd(*channels)
    if shared % block and (block := largest_divisor(shared, block)) < SMALLEST_BLOCK:
        return None
    return Arrangement(in_blocks(first.plain, block), first.plain)


def _channels(value: SSAValue, rank: int) -> int:
    """The extent along axis 1 of a value that broadcasts to a rank."""
    axis = 1 - (rank - len(shape_of(value)))
    return shape_of(value)[axis] if axis >= 0 else 1


def _operands(
    op: Operator, trait: Layout, sources: Sources, layout: Arrangement
) -> tuple[list[Operation], list[SSAValue]] | None:
    """New ops and the operands in a layout, where that takes no more transforms than it saves."""
    made: list[Operation] = []
    if trait.takes is Takes.FIRST:
        return made, [sources[0].data, *op.operands[1:]]
    rank = len(layout.plain)
    others = [value for index, value in enumerate(op.operands) if index not in sources]
    dear = [value for value in others if not _is_cheap(value, _layout_of(value, trait, layout))]
    if len(dear) >= len(set(sources.values())):
        return None
    operands: list[SSAValue] = []
    for index, value in enumerate(op.operands):
        target, stored = _layout_of(value, trait, layout), layout.plain
        if (source := sources.get(index)) is not None:
            value, stored = source.data, source.src_layout.data
        elif all(same(extent, 1) for extent in shape_of(value)):
            target = Arrangement(stored, stored)
        elif missing := rank - len(shape_of(value)):
            made.append(ExpandDimsOp(value, axis=0, num_newaxis=missing, location=op.location))
            value = made[-1].results[0]
        if stored != target.stored:
            made.append(transform(value, stored, target.stored, op))
            value = made[-1].results[0]
        operands.append(value)
    return made, operands


def _layout_of(value: SSAValue, trait: Layout, layout: Arrangement) -> Arrangement:
    """The layout of one operand: what repeats along channels has them in blocks of 1."""
    if layout.blocks and trait.takes is Takes.BROADCAST and same(_channels(value, len(layout.plain)), 1):
        return Arrangement(in_blocks(layout.plain, 1), layout.plain)
    return layout


def _is_cheap(value: SSAValue, layout: Arrangement) -> bool:
    """Return whether another layout of a value costs nothing at run time: it folds, or moves no element."""
    if isinstance(value.owner, ConstantOp):
        return True
    shape = (1,) * (len(layout.plain) - len(shape_of(value))) + shape_of(value)
    several = {letter for letter, extent in zip(layout.plain, shape, strict=True) if not same(extent, 1)}
    stored = [axis.letter for axis in layout.axes if axis.letter in several and axis.factor != 1]
    kept = [letter for at, letter in enumerate(stored) if stored[at - 1 : at] != [letter]]
    return kept == [letter for letter in layout.plain if letter in several]


def sinking(permutations: set[Operation] | None = None) -> tuple[RewritePattern, ...]:
    """The patterns that move blocks of channels, and orders of axes where transforms in `permutations` tell them."""
    return MergeTransforms(), BiasInBlocks(), SinkLayouts(set() if permutations is None else permutations)
