"""Products of words of integers as the instructions that some machines have for them; a part of tir-lower-intrin."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType, i8, i16
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.tir import CallExternOp, Dot2Op, Dot4Op, PrimFuncOp
from ...dialects.tir.lanes import lanes
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk

_BITS = {4: 128, 8: 256, 16: 512}
"""Lanes of int32 -> bits of the vectors that the instruction takes."""
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
                made: list[Operation] = [*words, call]
                rewriter.replace(op, made, [call.outputs[0]])
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


def run(func: PrimFuncOp, vnni: bool, pmaddwd: int) -> None:
    """Let one kernel use the instructions, in place. pmaddwd: the most lanes of that."""
    kinds = {type(op) for op in walk(func)}
    if vnni and Dot4Op in kinds:
        rewrite(func.body, [DotOntoSum()], recursive=False)
    if pmaddwd and Dot2Op in kinds:
        rewrite(func.body, [DotOfPairs(pmaddwd)], recursive=False)
