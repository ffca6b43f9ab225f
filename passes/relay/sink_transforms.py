"""Patterns that move transforms back to NCHW below their users, until they meet a transform into blocks and cancel.

The same holds of NCW and NCDHW. Each pattern takes an operator that reads `layout_transform(NCHW16c -> NCHW)` and lets
it compute on the blocks. A transform with several readers stays for those that cannot. Transforms only move down, so
the rewriting ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.core import ConstantOp
from ...dialects.relay.elementwise import AddOp
from ...dialects.relay.nn import BiasAddOp, Pool
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.transform import (
    ConcatenateOp,
    ExpandDimsOp,
    LayoutTransformOp,
    PadOp,
    Reduce,
    StridedSliceOp,
)
from .blocking import Sinking, blocked_source, in_blocks, largest_divisor, moved

SMALLEST_BLOCK = 4
"""Blocks below this many channels are not worth bringing operands to."""


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


def _is_cheap(value: SSAValue, shape: Sequence[int]) -> bool:
    """Whether blocking `value`, of full-rank `shape`, costs nothing at run time: it folds, or moves no element."""
    return isinstance(value.owner, ConstantOp) or shape[1] == 1 or prod(shape[2:]) == 1


class SinkThroughElementwise(RewritePattern):
    """Operators on each element; operands that are not blocked must be cheap to block."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if not isinstance(op, Operator) or not op.is_pointwise():
            return
        sources = [blocked_source(value) for value in op.operands]
        result = shape_of(op.results[0])
        if not any(source and len(source.plain) == len(result) for source in sources):
            return
        shapes = [(1,) * (len(result) - len(shape_of(value))) + shape_of(value) for value in op.operands]
        sources = [source if source and len(source.plain) == len(result) else None for source in sources]
        channels = result[1]
        blocks = [s.block for s, shape in zip(sources, shapes, strict=True) if s is not None and shape[1] == channels]
        if not blocks:
            return
        block = max(blocks)
        plain = [(v, shape) for v, s, shape in zip(op.operands, sources, shapes, strict=True) if s is None]
        if not all(prod(shape) == 1 or _is_cheap(value, shape) for value, shape in plain):
            return
        sinking = Sinking(op)
        operands: list[SSAValue] = []
        for value, source, shape in zip(op.operands, sources, shapes, strict=True):
            wanted = block if shape[1] == channels else 1
            if source is not None:
                operands.append(sinking.take(source, wanted))
            else:
                operands.append(value if prod(shape) == 1 else sinking.wrap(value, wanted))
        sinking.finish(moved(op, *operands), block, rewriter)


class SinkThroughBiasAdd(RewritePattern):
    """A bias along the channels becomes an addition of `[1, C, 1, 1]` in blocks."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BiasAddOp, rewriter: PatternRewriter, /):
        source = blocked_source(op.data)
        if source is None or op.signature.int("axis") % len(source.plain) != 1:
            return
        sinking = Sinking(op)
        data = sinking.take(source, source.block)
        trailing = len(source.plain) - 2
        bias = sinking.add(ExpandDimsOp(op.bias, axis=1, num_newaxis=trailing, location=op.location))
        total = AddOp(data, sinking.wrap(bias, source.block), location=op.location)
        sinking.finish(total, source.block, rewriter)


class SinkThroughPool(RewritePattern):
    """Poolings take a layout."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if not isinstance(op, Pool) or (source := blocked_source(op.data)) is None:
            return
        plain, layouts = source.plain, (op.signature.str("layout"), op.signature.str("out_layout"))
        if layouts in ((plain, ""), (plain, plain)):
            sinking = Sinking(op)
            data = sinking.take(source, source.block)
            layout = in_blocks(plain, source.block)
            sinking.finish(moved(op, data, *op.operands[1:], layout=layout, out_layout=""), source.block, rewriter)


class SinkThroughConcatenate(RewritePattern):
    """Along channels the operands need a common block that divides the channels of each."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatenateOp, rewriter: PatternRewriter, /):
        blocks: set[int] = set()
        for value in op.data:
            source = blocked_source(value)
            if source is None and not isinstance(value.owner, ConstantOp):
                return
            if source is not None:
                blocks.add(source.block)
        if not blocks:
            return
        block = max(blocks)
        shared = gcd(*(shape_of(value)[1] for value in op.data))
        if len(blocks) > 1 or shared % block:
            block = largest_divisor(shared, block)
            if block < SMALLEST_BLOCK:
                return
        sinking = Sinking(op)
        operands: list[SSAValue] = []
        for value in op.data:
            source = blocked_source(value)
            operands.append(sinking.wrap(value, block) if source is None else sinking.take(source, block))
        sinking.finish(moved(op, *operands, axis=op.signature.int("axis") % len(shape_of(op.result))), block, rewriter)


class SinkThroughPad(RewritePattern):
    """Padding of anything but channels."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PadOp, rewriter: PatternRewriter, /):
        source, width = blocked_source(op.data), op.signature.ints("pad_width")
        if source is None or any(width[2:4]):
            return
        sinking = Sinking(op)
        data = sinking.take(source, source.block)
        sinking.finish(moved(op, data, op.value, pad_width=[*width, 0, 0]), source.block, rewriter)


class SinkThroughStridedSlice(RewritePattern):
    """Slices forward that take whole blocks."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StridedSliceOp, rewriter: PatternRewriter, /):
        if (source := blocked_source(op.data)) is None:
            return
        block, taken = source.block, StridedSliceOp.ranges(op.signature)
        channels = taken[1]
        if channels.step != 1 or channels.start % block or channels.stop % block or any(r.step < 1 for r in taken):
            return
        taken[1] = range(channels.start // block, channels.stop // block)
        sinking = Sinking(op)
        twin = moved(
            op,
            sinking.take(source, block),
            begin=[r.start for r in taken],
            end=[r.stop for r in taken],
            strides=[r.step for r in taken],
            axes=list(range(len(taken))),
        )
        sinking.finish(twin, block, rewriter)


class SinkThroughReduce(RewritePattern):
    """Reductions of anything but channels; extents of 1 that must not stay go behind the transform."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if not isinstance(op, Reduce) or (source := blocked_source(op.data)) is None:
            return
        axes = op.axes(op.signature)
        if 1 in axes:
            return
        sinking = Sinking(op)
        operands: list[SSAValue] = []
        for value in op.operands:  # the data, and the mean that some take
            blocked = blocked_source(value)
            operands.append(sinking.take(blocked, source.block) if blocked else sinking.wrap(value, source.block))
        twin = moved(op, *operands, axis=axes, keepdims=True, exclude=False)
        sinking.finish(twin, source.block, rewriter, squeeze=() if op.signature.get("keepdims") else axes)


SINKING: tuple[RewritePattern, ...] = (
    MergeTransforms(),
    SinkThroughElementwise(),
    SinkThroughBiasAdd(),
    SinkThroughPool(),
    SinkThroughConcatenate(),
    SinkThroughPad(),
    SinkThroughStridedSlice(),
    SinkThroughReduce(),
)
