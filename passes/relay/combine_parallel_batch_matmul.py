"""relay-combine-parallel-batch-matmul: batched products with the same left operand become one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.relay.nn import BatchMatmulOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.sizes.types import is_open
from .parallel_branches import JoinAlongAxis, combine


@dataclass
class CombineBatchMatmul(JoinAlongAxis):
    """Right operands that differ in the number of columns of the result only."""

    def key(self, op: Operator) -> Hashable | None:
        if not isinstance(op, BatchMatmulOp) or is_open(op.y.type):
            return None
        shape, axis = shape_of(op.y), self.weight_axis(op)
        alike = frozenset(op.properties.items()), frozenset(op.attributes.items())
        return shape[:axis], shape[axis + 1 :], alike, element_of(op.y)

    def axis(self, root: Operator) -> int:
        return len(shape_of(root.results[0])) - 1

    def weight_axis(self, root: Operator) -> int:
        return len(shape_of(root.operands[1])) - (2 if root.signature.get("transpose_b") else 1)


@dataclass(frozen=True)
class CombineParallelBatchMatmulPass(ModulePass):
    """Makes one of `min_num_branches` or more batched products with the same left operand, as TVM's pass (level 4).

    What follows in every branch, operators on each element, becomes one as well.

    Before: any relay module.
    After: no left operand is read by so many `nn.batch_matmul` of equal attributes whose right operands differ in the
    number of columns of the result only. Slices take the branches' results out of the combined one.
    Locations: what is combined gets those of all branches; a slice that of the operator whose result it takes. What
    joins operands is located at those that asked for it.

    min_num_branches: at least 2.

    ```mlir
    // with min_num_branches=2
    %0 = relay.nn.batch_matmul %x, %a : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32> loc("query")
    %1 = relay.nn.batch_matmul %x, %b : (tensor<2x3x4xf32>, tensor<2x6x4xf32>) -> tensor<2x3x6xf32> loc("key")
    // becomes
    %0 = relay.concatenate %a, %b {axis = 1}
          : (tensor<2x5x4xf32>, tensor<2x6x4xf32>) -> tensor<2x11x4xf32> loc(fused["query", "key"])
    %1 = relay.nn.batch_matmul %x, %0 : (tensor<2x3x4xf32>, tensor<2x11x4xf32>) -> tensor<2x3x11xf32>
          loc(fused["query", "key"])
    %2 = relay.strided_slice %1 {begin = [0], end = [5], strides = [1], axes = [2]}
          : (tensor<2x3x11xf32>) -> tensor<2x3x5xf32> loc("query")
    %3 = relay.strided_slice %1 {begin = [5], end = [11], strides = [1], axes = [2]}
          : (tensor<2x3x11xf32>) -> tensor<2x3x6xf32> loc("key")
    ```
    """

    name = "relay-combine-parallel-batch-matmul"
    min_num_branches: int = 3

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        combine(op, CombineBatchMatmul, self.min_num_branches, self.name)
