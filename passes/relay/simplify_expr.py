"""relay-simplify-expr: operators that change nothing go, and several in a row become one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from ...dialects.relay.canonicalization.casts import MergeCasts
from ...dialects.relay.canonicalization.concretize import Concretize
from ...dialects.relay.canonicalization.empty import DropEmptyParts, EvaluateEmpty
from ...dialects.relay.canonicalization.identities import DropNeutralOperand, DropNoOp
from ...dialects.relay.canonicalization.moves import MergeReshapes, MergeTransposes
from ...provenance.rewrite import rewrite
from .dequantized_order import OrderBeforeDequantize
from .product_batches import KeepBatches
from .shared_operands import JoinLater, ShareOperand
from .simplify_arithmetic import (
    DoubleOnce,
    MergeConstants,
    MultiplyByRsqrt,
    MultiplyFirst,
    SquareOfSum,
    UseOneNumber,
)


def patterns(module: ModuleOp, exact: bool = False) -> list[RewritePattern]:
    """In TVM's order, but for those that TVM does not know: on tensors without elements, and of products' batches.

    exact: without those that round otherwise.
    """
    rounding = (MultiplyByRsqrt, MultiplyFirst, MergeConstants, SquareOfSum)
    every: list[RewritePattern] = [
        EvaluateEmpty(),
        DropEmptyParts(),
        DropNoOp(),
        Concretize(),
        DoubleOnce(module),
        MultiplyByRsqrt(),
        DropNeutralOperand(exact),
        KeepBatches(),
        ShareOperand(),
        JoinLater(),
        MergeReshapes(),
        MergeTransposes(),
        MergeCasts(),
        UseOneNumber(module),
        MultiplyFirst(module),
        MergeConstants(module),
        OrderBeforeDequantize(module),
        SquareOfSum(module),
    ]
    return [pattern for pattern in every if not (exact and isinstance(pattern, rounding))]


@dataclass(frozen=True)
class SimplifyExprPass(ModulePass):
    """Rewrites expressions into simpler ones until none is left to, after TVM's SimplifyExpr (level 0).

    exact: only rewrites after which each float is the same, as compilations at level 0 have it: no arithmetic of
    constants is done in another order, and y / sqrt(x), (x + a) * b, and -0.0 + 0.0 stay as they are.

    Before: any relay module.
    After:
    - no operator reads a tensor for its shape or dtype alone: `zeros_like` is `zeros`, and so for ones, full, reshape,
      collapse_sum, broadcast_to and cast;
    - x + x is 2 * x, and y / sqrt(x) is y * rsqrt(x);
    - no 0 is added or subtracted, no 1 multiplied or divided by, whether a constant or made by zeros, ones or full;
    - no reshape follows another, and no transpose or layout transform another that one op could do with it; none of
      them, nor a cast, clip, slice or broadcast, leaves its input as it is;
    - no reshape takes the batch of a product apart that others put together for it;
    - no second operand of a product is repeated for batches that share it: the product broadcasts;
    - no cast follows one that keeps every number that it meets, by its types or as they were clipped before;
    - an operand of zeros, ones or full of the result's shape is a scalar;
    - (x + a) * b is x * b + a * b, and constants that are multiplied or added one after the other are one;
    - argmax, argmin and argsort read quantised numbers, not what these stand for, under one positive scale;
    - a * a + 2 * a * b + b * b is (a + b) * (a + b).

    No operator reads or makes a tensor without elements.
    In floats the rewrites of arithmetic may round otherwise. Where TVM would lose more, nothing happens: casts to types
    that cannot hold all numbers stay (TVM drops int32 -> float32), as do constants whose product or sum is not finite,
    or smaller than a normal number. What other operators read, too, is not computed twice, and no constant gets larger
    than those it is made of.
    Locations: the one op that several in a row become gets them all, last first; what goes is in the ledger. Of
    (x + a) * b the product stands for the multiplication, the sum for the addition, and a * b for both.

    ```mlir
    %0 = relay.reshape %x {newshape = [4, 2]} : (tensor<8xf32>) -> tensor<4x2xf32> loc("a")
    %1 = relay.reshape %0 {newshape = [2, 4]} : (tensor<4x2xf32>) -> tensor<2x4xf32> loc("b")
    // becomes
    %0 = relay.reshape %x {newshape = [2, 4]} : (tensor<8xf32>) -> tensor<2x4xf32> loc(fused["b", "a"])
    ```

    ```mlir
    %a = relay.constant dense<3.0> : tensor<f32> loc("a")
    %b = relay.constant dense<2.0> : tensor<f32> loc("b")
    %0 = relay.add %x, %a : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("shift")
    %1 = relay.multiply %0, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("scale")
    // becomes
    %b = relay.constant dense<2.000000e+00> : tensor<f32> loc("b")
    %0 = relay.multiply %x, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("scale")
    %const = relay.constant dense<6.000000e+00> : tensor<f32> loc(fused["scale", "shift", "b", "a"])
    %1 = relay.add %0, %const : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("shift")
    ```

    ```mlir
    %c = relay.constant dense<1.0> : tensor<f32> loc("c")
    %0 = relay.sqrt %x : (tensor<4xf32>) -> tensor<4xf32> loc("root")
    %1 = relay.divide %c, %0 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32> loc("inverse")
    // becomes
    %0 = relay.rsqrt %x : (tensor<4xf32>) -> tensor<4xf32> loc(fused["inverse", "root"])
    ```
    """

    name = "relay-simplify-expr"
    exact: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, patterns(op, self.exact))
