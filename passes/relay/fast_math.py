"""relay-fast-math: elementary functions become the operators that may approximate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay.elementwise import ErfOp, ExpOp, TanhOp
from ...dialects.relay.fast_math import FastErfOp, FastExpOp, FastSoftmaxOp, FastTanhOp
from ...dialects.relay.nn import SoftmaxOp
from ...dialects.relay.operator import Operator
from ...provenance.rewrite import rewrite
from .blocking import twin

_FAST: dict[type[Operator], type[Operator]] = {
    ExpOp: FastExpOp,
    ErfOp: FastErfOp,
    TanhOp: FastTanhOp,
    SoftmaxOp: FastSoftmaxOp,
}


class UseFast(RewritePattern):
    """An operator of the table by the one beside it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (fast := _FAST.get(cast(type[Operator], type(op)))) is not None and isinstance(op, Operator):
            rewriter.replace(op, twin(op, *op.operands, into=fast))


@dataclass(frozen=True)
class FastMathPass(ModulePass):
    """Names exp, erf, tanh and softmax by the operators that TVM has for their approximations (level 4).

    Here those are as exact as the ordinary ones, and take as long: what is computed does not change.

    Before: any relay module.
    After: `exp`, `erf`, `tanh` and `nn.softmax` are `fast_exp`, `fast_erf`, `fast_tanh` and `nn.fast_softmax`.
    Locations: kept.

    ```mlir
    %0 = relay.nn.softmax %x {axis = 1} : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("prob")
    %1 = relay.tanh %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("act")
    // becomes
    %0 = relay.nn.fast_softmax %x {axis = 1} : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("prob")
    %1 = relay.fast_tanh %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("act")
    ```
    """

    name = "relay-fast-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [UseFast()], recursive=False)
