"""Floats rounded to integers by one instruction; a part of tir-lower-intrin."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.math import RoundEvenOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.tir import CallExternOp, CastOp, PrimFuncOp
from ...dialects.tir.lanes import lanes, scalar_type
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk


@dataclass
class RoundToIntegers(RewritePattern):
    """`fptosi(roundeven(x))` of vectors of float32 is `cvtps2dq x`, which rounds halves to even as it converts."""

    lanes: int
    reason = "the machine has an instruction for it"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        rounded = op.source.owner
        count = (lanes(op.result.type) or (0,))[0]
        if op.kind.data != "fptosi" or not isinstance(rounded, RoundEvenOp) or not op.source.has_one_use():
            return
        if not 1 < count <= 2 * self.lanes or (scalar_type(op.source.type), scalar_type(op.result.type)) != (f32, i32):
            return
        name = f"llvm.lrint.v{count}i32.v{count}f32"
        call = CallExternOp(name, [rounded.operand], [op.result.type])
        rewriter.replace(op, call, [call.outputs[0]])
        rewriter.erase(rounded)


def run(func: PrimFuncOp, lanes: int) -> None:
    """Round floats of one kernel to integers so, in place. lanes: of a vector of the machine."""
    if any(isinstance(op, RoundEvenOp) for op in walk(func)):
        rewrite(func.body, [RoundToIntegers(lanes)], recursive=False)
