"""Words of neighbouring bytes, loaded as they lie in memory; a part of tir-lower-intrin."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.affine import linear
from ...dialects.sizes import same
from ...dialects.tir import UNBOUNDED, JoinBytesOp, LoadOp, PrimFuncOp, buffer_of
from ...dialects.tir.index_maps import flat_index
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk
from .analysis.effects import writes

_BYTES = 4


class JoinLoads(RewritePattern):
    """`tir.join_bytes` of loads of four neighbours is a load of a word, of lanes that follow one another, too."""

    reason = "the bytes of each word are neighbours in memory"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: JoinBytesOp, rewriter: PatternRewriter, /) -> None:
        loads = [value.owner for value in op.operands]
        if not _are_neighbours(loads) or _is_written_between(loads, op):
            return
        first = loads[0]
        assert isinstance(first, LoadOp)
        word = LoadOp.make(first.buffer, first.map.data, first.indices, type=op.result.type, stride=first.step)
        rewriter.replace(op, word)
        for load in set(loads):
            if not load.results[0].uses:
                rewriter.erase(load)


def _are_neighbours(loads: Sequence[object]) -> bool:
    first = loads[0]
    if not isinstance(first, LoadOp) or first.guard is not None:
        return False
    if isinstance(first.result.type, VectorType) and first.step != _BYTES:
        return False
    for place, load in enumerate(loads):
        if not isinstance(load, LoadOp) or load.guard is not None or load.buffer is not first.buffer:
            return False
        if list(load.indices) != list(first.indices) or load.step != first.step:
            return False
        ranges = (UNBOUNDED,) * len(load.indices)
        strides = buffer_of(load.buffer).strides
        apart = linear(flat_index(load.map.data.results, strides) - flat_index(first.map.data.results, strides), ranges)
        if apart.terms or not same(apart.constant, place):
            return False
    return True


def _is_written_between(loads: Sequence[Operation], op: JoinBytesOp) -> bool:
    """Return whether the buffer may change between the first of the loads and the word; also if they stand apart."""
    if any(load.parent is not op.parent for load in loads):
        return True
    left = set(loads)
    before = op.prev_op
    while left and before is not None:
        if before not in left and (before.regions or writes(before, loads[0].operands[0])):
            return True
        left.discard(before)
        before = before.prev_op
    return bool(left)


def run(func: PrimFuncOp) -> None:
    """Load words of bytes as such in one kernel, in place."""
    if any(isinstance(op, JoinBytesOp) for op in walk(func)):
        rewrite(func.body, [JoinLoads()], recursive=False)
