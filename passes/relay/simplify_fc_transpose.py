"""relay-simplify-fc-transpose: transposed weights of dense layers are transposed now."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.fold import fold
from ...dialects.relay.nn import DenseOp
from ...dialects.relay.transform import TransposeOp
from ...provenance.rewrite import rewrite


class TransposeWeight(RewritePattern):
    """The transpose of a constant that is a dense layer's weight."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        if any(isinstance(use.operation, DenseOp) and use.index == 1 for use in op.result.uses):
            fold(op, rewriter)


@dataclass(frozen=True)
class SimplifyFCTransposePass(ModulePass):
    """Transposes the constant weights of dense layers at compile time, as TVM's SimplifyFCTranspose (level 0).

    TVM changes the parameters that a list names; here weights are constants, and all of them change.

    Before: any relay module.
    After: no `nn.dense` has the transpose of a constant for its weight.
    Locations: the weight gets the transpose's and the constant's.

    ```mlir
    %w = relay.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> loc("w")
    %0 = relay.transpose %w {axes = [1, 0]} : (tensor<2x2xf32>) -> tensor<2x2xf32> loc("turn")
    %1 = relay.nn.dense %x, %0 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("fc")
    // becomes
    %w = relay.constant dense<[[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
          loc(fused["turn", "w"])
    %0 = relay.nn.dense %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("fc")
    ```
    """

    name = "relay-simplify-fc-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [TransposeWeight()], recursive=False)
