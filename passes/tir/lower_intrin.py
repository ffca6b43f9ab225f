"""tir-lower-intrin: elementary functions as arithmetic, where LLVM would call the C library lane by lane."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.tir import PrimFuncOp
from ...dialects.tir_lanes import scalar_type
from ...provenance.rewrite import rewrite
from .common import prim_funcs
from .intrin_floats import Floats
from .intrin_formulas import FORMULAS


class ExpandIntrin(RewritePattern):
    reason = "LLVM has no vector form of it"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (formula := FORMULAS.get(type(op))) is None or scalar_type(op.results[0].type) != f32:
            return
        floats = Floats(op.results[0].type)
        result = formula(floats, op.operands[0])
        rewriter.replace(op, floats.ops, [result])


def run(func: PrimFuncOp) -> None:
    """Expand the functions of one kernel, in place."""
    rewrite(func.body, [ExpandIntrin()], recursive=False)


@dataclass(frozen=True)
class TirLowerIntrinPass(ModulePass):
    """Writes out acos, acosh, asin, asinh, atan, atanh, cbrt, cosh, expm1, log1p, sinh and tan of f32.

    Before: any kernels. After: none of these ops is left on f32, or on vectors of it: each stands as arithmetic,
    comparisons and roots, which have vector forms everywhere. Other types, and exp, tanh and erf, which
    `convert-tir-to-llvm` expands, stay.
    Locations: all ops of a function are located at it.

    ```mlir
    %0 = tir.load %a[0] : !tir.buffer<4xf32> -> f32
    %1 = math.asin %0 : f32
    tir.store %1, %b[0] : f32, !tir.buffer<4xf32>
    // becomes
    %0 = tir.load %a[0] : !tir.buffer<4xf32> -> f32
    %magnitude = math.absf %0 : f32
    ..
    %1 = math.copysign %arc, %0 : f32
    tir.store %1, %b[0] : f32, !tir.buffer<4xf32>
    ```
    """

    name = "tir-lower-intrin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
