"""Sums of products of bytes as the one instruction that some machines have for them; a part of tir-lower-intrin."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType, i8
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.tir import CallExternOp, Dot4Op, PrimFuncOp
from ...dialects.tir.lanes import lanes
from ...provenance.rewrite import rewrite

_BITS = {4: 128, 8: 256, 16: 512}
"""Lanes of int32 -> bits of the vectors that the instruction takes."""


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


def run(func: PrimFuncOp) -> None:
    """Let the sums of one kernel use the instruction, in place."""
    if any(isinstance(op, Dot4Op) for op in func.walk()):
        rewrite(func.body, [DotOntoSum()], recursive=False)
