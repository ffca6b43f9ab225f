"""Products of words of integers as the instructions that some machines have for them; a part of tir-lower-intrin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, VectorType, i8, i16, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.tir import CallExternOp, CastOp, Dot2Op, Dot4Op, PrimFuncOp
from ...dialects.tir.lanes import lanes, scalar_type
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk
from .analysis.identities import number_of
from .rewriting.constants import constant

_BITS = {4: 128, 8: 256, 16: 512}
"""Lanes of int32 -> bits of the vectors that the instruction takes."""
_DROPPED = 31
"""Bits that a product of numbers between -1 and 1 has too many."""
_PMADDWD = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}


class DotOntoSum(RewritePattern):
    """`sum + tir.dot4 a, b` is `vpdpbusd sum, a, b`."""

    reason = "the machine has an instruction for it"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /) -> None:
        for total, product in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            dot = product.owner
            count = (lanes(product.type) or (0,))[0]
            if isinstance(dot, Dot4Op) and product.has_one_use() and count in _BITS:
                words = [vector.BitcastOp(word, VectorType(i8, [4 * count])) for word in (dot.first, dot.second)]
                arguments: list[SSAValue] = [total, *(word.result for word in words)]
                call = CallExternOp(f"llvm.x86.avx512.vpdpbusd.{_BITS[count]}", arguments, [product.type])
                ops: list[Operation] = [*words, call]
                rewriter.replace(op, ops, [call.outputs[0]])
                rewriter.erase(dot)
                return


@dataclass
class DotOfPairs(RewritePattern):
    """`tir.dot2 a, b` of vectors is `pmaddwd a, b`. LLVM finds it too, but not where some lanes are not used."""

    lanes: int
    reason = DotOntoSum.reason

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Dot2Op, rewriter: PatternRewriter, /) -> None:
        count = (lanes(op.result.type) or (0,))[0]
        if count > self.lanes or count not in _PMADDWD:
            return
        words = [vector.BitcastOp(word, VectorType(i16, [2 * count])) for word in (op.first, op.second)]
        call = CallExternOp(f"llvm.x86.{_PMADDWD[count]}", [word.result for word in words], [op.result.type])
        rewriter.replace(op, [*words, call], [call.outputs[0]])


class HighProduct(RewritePattern):
    """`(a * b + c) >> 31` of words, computed in 64 bits, has the products of every other lane, which lie in place.

    LLVM has those of one half and of the other, whose lanes it widens, and narrows again.
    """

    reason = DotOntoSum.reason

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        chain: list[Operation] = [op]
        for kind in (arith.ShRSIOp, arith.AddiOp, arith.MuliOp):
            inner = chain[-1].operands[0]
            if not isinstance(inner.owner, kind) or not inner.has_one_use():
                return
            chain.append(inner.owner)
        _, shifted, total, product = chain
        casts = [value.owner for value in product.operands if isinstance(value.owner, CastOp)]
        words = [cast.source for cast in casts if cast.kind.data == "extsi"]
        narrow = op.result.type
        count = (lanes(narrow) or (0,))[0]
        if count not in _BITS or number_of(shifted.operands[1]) != _DROPPED:
            return
        if [word.type for word in words] != [narrow, narrow] or scalar_type(narrow) != i32:
            return
        wide = VectorType(i64, [count // 2])
        ops: list[Operation] = []

        def add(kind: Callable[..., Operation], *operands: Any) -> SSAValue:
            ops.append(kind(*operands))
            return ops[-1].results[0]

        def number(value: int) -> SSAValue:
            ops.append(constant(IntegerAttr(value, i64), wide, op.location))
            return ops[-1].results[0]

        def every_other(value: SSAValue, start: int) -> SSAValue:
            mask = DenseArrayBase.from_list(i64, range(start, count, 2))
            ops.append(vector.ShuffleOp.create(operands=[value] * 2, properties={"mask": mask}, result_types=[wide]))
            return ops[-1].results[0]

        word = number(i32.bitwidth)
        pairs = [add(vector.BitcastOp, each, wide) for each in words]
        low = [add(arith.ShRSIOp, add(arith.ShLIOp, pair, word), word) for pair in pairs]
        high = [add(arith.ShRSIOp, pair, word) for pair in pairs]
        added = number_of(total.operands[1])
        halves = (
            [number(int(added))] * 2 if added is not None else [every_other(total.operands[1], at) for at in (0, 1)]
        )
        low_sum, high_sum = (
            add(arith.AddiOp, add(arith.MuliOp, *side), half) for side, half in zip((low, high), halves, strict=True)
        )
        parts = [
            add(vector.BitcastOp, add(kind, side, number(by)), narrow)
            for kind, side, by in (
                (arith.ShRUIOp, low_sum, _DROPPED),
                (arith.ShLIOp, high_sum, i32.bitwidth - _DROPPED),
            )
        ]
        places = [lane + count * (lane % 2) for lane in range(count)]
        ops.append(
            vector.ShuffleOp.create(
                operands=parts, properties={"mask": DenseArrayBase.from_list(i64, places)}, result_types=[narrow]
            )
        )
        rewriter.replace(op, ops, ops[-1].results)
        for old in chain[1:]:
            rewriter.erase(old)


def run(func: PrimFuncOp, vnni: bool, pmaddwd: int) -> None:
    """Let one kernel use the instructions, in place. pmaddwd: the most lanes of that."""
    kinds = {type(op) for op in walk(func)}
    if pmaddwd and arith.MuliOp in kinds:
        rewrite(func.body, [HighProduct()], recursive=False)
    if vnni and Dot4Op in kinds:
        rewrite(func.body, [DotOntoSum()], recursive=False)
    if pmaddwd and Dot2Op in kinds:
        rewrite(func.body, [DotOfPairs(pmaddwd)], recursive=False)
