"""relay-combine-parallel-dense: dense layers of the same data become one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.elementwise import AddOp
from ...dialects.relay.nn import BatchMatmulOp, BiasAddOp, DenseOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.rearrange import SplitOp, StackOp
from ...dialects.relay.transform import ExpandDimsOp, SqueezeOp
from ...dialects.sizes.types import is_open
from .parallel_branches import CombineBranches, JoinAlongAxis, Made, combine


@dataclass
class CombineFlat(JoinAlongAxis):
    """Weights that differ in the number of rows only, one after the other."""

    def key(self, op: Operator) -> Hashable | None:
        if not isinstance(op, DenseOp) or is_open(op.weight.type):
            return None
        alike = frozenset(item for item in op.properties.items() if item[0] != "units")
        return shape_of(op.weight)[1], alike, frozenset(op.attributes.items()), element_of(op.weight)

    def axis(self, root: Operator) -> int:
        return 1

    def weight_axis(self, root: Operator) -> int:
        return 0


@dataclass
class CombineToBatch(CombineBranches):
    """Weights of one shape, each a matrix of a batch."""

    def key(self, op: Operator) -> Hashable | None:
        if not isinstance(op, DenseOp) or is_open(op.weight.type):
            return None
        return op.weight.type, frozenset(op.properties.items()), frozenset(op.attributes.items())

    def combined(self, roots: Sequence[Operator], made: Made) -> SSAValue:
        data = made.add(StackOp(*(root.operands[0] for root in roots), axis=0), *roots)
        weights = made.add(StackOp(*(root.operands[1] for root in roots), axis=0), *roots)
        product = BatchMatmulOp(data, weights, out_dtype=roots[0].signature.str("out_dtype"))
        return made.add(product, *roots)

    def joined(self, values: Sequence[SSAValue], branches: Sequence[Operator], made: Made) -> SSAValue | None:
        if all(value is values[0] for value in values):
            return values[0]
        if any(value.type != values[0].type or is_open(value.type) for value in values):
            return None
        missing = 2 - len(shape_of(values[0]))
        parts = [
            made.add(ExpandDimsOp(value, axis=0, num_newaxis=missing), op) if missing else value
            for value, op in zip(values, branches, strict=True)
        ]
        return made.add(StackOp(*parts, axis=0), *branches)

    def biased(self, data: SSAValue, ops: Sequence[BiasAddOp], made: Made) -> SSAValue | None:
        if ops[0].signature.int("axis") % 2 != 1 or (bias := self.joined([op.bias for op in ops], ops, made)) is None:
            return None
        return made.add(AddOp(data, bias), *ops)

    def parted(self, value: SSAValue, lasts: Sequence[Operator], made: Made) -> list[SSAValue]:
        split = SplitOp(value, indices_or_sections=[len(lasts)], sections=True, axis=0)
        made.add(split, *lasts)
        return [made.add(SqueezeOp(part, axis=[0]), last) for part, last in zip(split.parts, lasts, strict=True)]


@dataclass(frozen=True)
class CombineParallelDensePass(ModulePass):
    """Makes one of `min_num_branches` or more dense layers that read the same data, as TVM's pass (level 4).

    What follows in every branch, operators on each element and `nn.bias_add`, becomes one as well.

    Before: any relay module.
    After: no data is read by so many `nn.dense` of equal attributes, whose weights have one shape (`to_batch`) or
    differ in rows only. They are one `nn.batch_matmul` of stacked operands, split at the end, or one dense layer of
    joined weights, with slices.
    Locations: what is combined gets those of all branches; what takes a branch's result out of the combined one that
    of the operator which made it. What joins operands is located at those that asked for it.

    min_num_branches: at least 2.
    to_batch: make a batched product, which needs equal shapes, not a wider layer.

    ```mlir
    // with min_num_branches=2 to_batch=false
    %0 = relay.nn.dense %x, %a : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32> loc("left")
    %1 = relay.nn.dense %x, %b : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32> loc("right")
    // becomes
    %0 = relay.concatenate %a, %b : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32> loc(fused["left", "right"])
    %1 = relay.nn.dense %x, %0 : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32> loc(fused["left", "right"])
    %2 = relay.strided_slice %1 {begin = [0], end = [3], strides = [1], axes = [1]}
          : (tensor<2x8xf32>) -> tensor<2x3xf32> loc("left")
    %3 = relay.strided_slice %1 {begin = [3], end = [8], strides = [1], axes = [1]}
          : (tensor<2x8xf32>) -> tensor<2x5xf32> loc("right")
    ```
    """

    name = "relay-combine-parallel-dense"
    min_num_branches: int = 3
    to_batch: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        combine(op, CombineToBatch if self.to_batch else CombineFlat, self.min_num_branches, self.name)
