"""relay-canonicalize-ops: bias_add becomes a plain addition."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.elementwise import AddOp
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.operator import shape_of
from ...dialects.relay.transform import ExpandDimsOp
from ...provenance.rewrite import rewrite


class BiasAddToAdd(RewritePattern):
    """The bias gets an axis for each axis of the data after its own, and then broadcasts."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BiasAddOp, rewriter: PatternRewriter, /) -> None:
        rank = len(shape_of(op.data))
        trailing = rank - 1 - op.signature.int("axis") % rank
        ops: list[Operation] = []
        bias: SSAValue = op.bias
        if trailing:
            ops.append(expanded := ExpandDimsOp(bias, axis=1, num_newaxis=trailing))
            bias = expanded.result
        rewriter.replace(op, [*ops, AddOp(op.data, bias)])


@dataclass(frozen=True)
class CanonicalizeOpsPass(ModulePass):
    """Turns `nn.bias_add` into `expand_dims` and `add`, as TVM's CanonicalizeOps (level 3).

    Before: any relay module.
    After: no bias_add.
    Locations: both new ops get the bias_add's.

    ```mlir
    %0 = relay.nn.bias_add %x, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32> loc("bias")
    // becomes
    %0 = relay.expand_dims %b {axis = 1, num_newaxis = 2} : (tensor<4xf32>) -> tensor<4x1x1xf32> loc("bias")
    %1 = relay.add %x, %0 : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32> loc("bias")
    ```
    """

    name = "relay-canonicalize-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [BiasAddToAdd()], recursive=False)
