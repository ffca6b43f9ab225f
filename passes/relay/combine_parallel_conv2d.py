"""relay-combine-parallel-conv2d: convolutions of the same data become one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.relay.channels import CONV_CHANNELS
from ...dialects.relay.nn import Conv2DOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.sizes.types import is_open
from .parallel_branches import JoinAlongAxis, combine


@dataclass
class CombineConv2D(JoinAlongAxis):
    """Weights that differ in output channels only; groups have channels of their own."""

    def key(self, op: Operator) -> Hashable | None:
        if (
            not isinstance(op, Conv2DOp)
            or is_open(op.weight.type)
            or op.signature.int("groups") != 1
            or (axes := CONV_CHANNELS.output(op)) is None
        ):
            return None
        shape, axis = shape_of(op.weight), axes[1]
        alike = frozenset(item for item in op.properties.items() if item[0] != "channels")
        return shape[:axis], shape[axis + 1 :], alike, frozenset(op.attributes.items()), element_of(op.weight)

    def axis(self, root: Operator) -> int:
        return self._axes(root)[0]

    def weight_axis(self, root: Operator) -> int:
        return self._axes(root)[1]

    def _axes(self, root: Operator) -> tuple[int, int]:
        axes = CONV_CHANNELS.output(root)
        assert axes is not None
        return axes


@dataclass(frozen=True)
class CombineParallelConv2DPass(ModulePass):
    """Makes one of `min_num_branches` or more 2-d convolutions that read the same data, as TVM's pass of that name.

    What follows in every branch, operators on each element and `nn.bias_add`, becomes one as well (level 4).

    Before: any relay module.
    After: no data is read by so many convolutions of one group, plain layouts and equal attributes, whose weights
    differ in output channels only. Slices take the branches' results out of the combined one.
    Locations: what is combined gets those of all branches; a slice that of the operator whose result it takes. What
    joins weights and operands is located at those that asked for it.

    min_num_branches: at least 2.

    ```mlir
    // with min_num_branches=2
    %0 = relay.nn.conv2d %x, %a : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32> loc("left")
    %1 = relay.nn.conv2d %x, %b : (tensor<1x4x8x8xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x8x8xf32> loc("right")
    %2 = relay.nn.relu %0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> loc("act")
    // becomes
    %0 = relay.concatenate %a, %b : (tensor<2x4x1x1xf32>, tensor<6x4x1x1xf32>) -> tensor<8x4x1x1xf32>
          loc(fused["left", "right"])
    %1 = relay.nn.conv2d %x, %0 : (tensor<1x4x8x8xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x8x8xf32> loc(fused["left",
          "right"])
    %2 = relay.strided_slice %1 {begin = [0], end = [2], strides = [1], axes = [1]}
          : (tensor<1x8x8x8xf32>) -> tensor<1x2x8x8xf32> loc("left")
    %3 = relay.strided_slice %1 {begin = [2], end = [8], strides = [1], axes = [1]}
          : (tensor<1x8x8x8xf32>) -> tensor<1x6x8x8xf32> loc("right")
    %4 = relay.nn.relu %2 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> loc("act")
    ```
    """

    name = "relay-combine-parallel-conv2d"
    min_num_branches: int = 3

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        combine(op, CombineConv2D, self.min_num_branches, self.name)
