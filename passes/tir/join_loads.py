"""Words of bytes that lie side by side, loaded at once; a part of tir-lower-intrin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, VectorType, i8, i64
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.affine import linear
from ...dialects.tir import UNBOUNDED, JoinBytesOp, LoadOp, PrimFuncOp, buffer_of
from ...dialects.tir.index_maps import flat_index
from ...dialects.tir.lanes import lanes
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk
from .analysis.effects import writes

_BYTES = 4


class JoinLoads(RewritePattern):
    """`tir.join_bytes` of loads of four neighbours is a load of a word, of lanes that follow one another, too.

    Of four vectors that are neighbours it is a load of all and a shuffle.
    """

    reason = "the bytes of each word are neighbours in memory"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: JoinBytesOp, rewriter: PatternRewriter, /) -> None:
        loads = [value.owner for value in op.operands if isinstance(value.owner, LoadOp)]
        apart = distance(loads) if len(loads) == _BYTES else None
        if apart is None or _is_written_between(loads, op):
            return
        first = loads[0]
        count = (lanes(op.result.type) or (1,))[0]
        access = first.buffer, first.map.data, first.indices
        if apart == 1 and (count == 1 or first.step == _BYTES):
            rewriter.replace(op, LoadOp.make(*access, type=op.result.type, stride=first.step))
        elif apart == count > 1 and first.step == 1:
            wide = VectorType(i8, [_BYTES * count])
            load = LoadOp.make(*access, type=wide)
            mask = [lane + part * count for lane in range(count) for part in range(_BYTES)]
            shuffled = vector.ShuffleOp.create(
                operands=[load.result, load.result],
                properties={"mask": DenseArrayBase.from_list(i64, mask)},
                result_types=[wide],
            )
            words = vector.BitcastOp(shuffled.results[0], cast("VectorType[IntegerType]", op.result.type))
            rewriter.replace(op, [load, shuffled, words], [words.result])
        else:
            return
        for load in set(loads):
            if not load.results[0].uses:
                rewriter.erase(load)


def distance(loads: Sequence[LoadOp]) -> int | None:
    """Return how far each load is from the one before, in elements; None where they are not alike."""
    first = loads[0]
    strides, distance = buffer_of(first.buffer).strides, None
    for position, load in enumerate(loads):
        if load.guard is not None or load.buffer is not first.buffer:
            return None
        if list(load.indices) != list(first.indices) or load.step != first.step:
            return None
        ranges = (UNBOUNDED,) * len(load.indices)
        apart = linear(flat_index(load.map.data.results, strides) - flat_index(first.map.data.results, strides), ranges)
        if apart.terms or not isinstance(apart.constant, int):
            return None
        if position == 1:
            distance = apart.constant
        if position and apart.constant != position * (distance or 0):
            return None
    return distance


def _is_written_between(loads: Sequence[LoadOp], op: JoinBytesOp) -> bool:
    """Return whether the buffer may change between the first of the loads and the word; also if they stand apart."""
    if any(load.parent is not op.parent for load in loads):
        return True
    left = set[Operation](loads)
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
