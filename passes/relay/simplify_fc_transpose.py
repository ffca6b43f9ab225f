"""relay-simplify-fc-transpose: transposed weights of dense layers are transposed now."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.nn import DenseOp
from ...dialects.relay.transform import TransposeOp
from ...provenance.rewrite import replace_with_constant, rewrite


@dataclass
class TransposeWeight(RewritePattern):
    """The transpose of a constant that is a dense layer's weight."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        value, constant = constant_value(op.data, self.module), op.data.owner
        if value is None or not isinstance(constant, ConstantOp) or op.order(op.signature) != (1, 0):
            return
        if not any(isinstance(use.operation, DenseOp) and use.index == 1 for use in op.result.uses):
            return
        data = op.data
        replace_with_constant(op, [ConstantOp.of(value.T.copy(), self.module, constant.hint)], rewriter)
        erase_unused([data], rewriter)


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
    %const = relay.constant dense<[[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
          loc(fused["turn", "w"])
    %0 = relay.nn.dense %x, %const : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc("fc")
    ```
    """

    name = "relay-simplify-fc-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [TransposeWeight(op)], recursive=False)
