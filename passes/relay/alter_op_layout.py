"""Layouts for vectors: convolutions on blocks of channels, dense layers on packed weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay import OPERATORS
from ...dialects.relay.convolution import CONV_LAYOUTS
from ...dialects.relay.core import ConstantOp, FuncOp
from ...dialects.relay.nn import (
    ContribConv2DNCHWcOp,
    ContribDensePackOp,
    ContribDepthwiseConv2DNCHWcOp,
    Conv,
    Conv1DOp,
    Conv2DOp,
    Conv3DOp,
    DenseOp,
)
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.transform import LayoutTransformOp, PadOp, StridedSliceOp
from ...frontends.relay.op_attrs import ALTER_LAYOUT, operators_with
from ...provenance.cse import eliminate_common_subexpressions
from ...provenance.diagnostics import message
from ...provenance.rewrite import rewrite
from ...support.errors import PipelineError
from ...support.machine import CHANNEL_BLOCK
from .blocking import (
    SMALLEST_BLOCK,
    channel_block,
    empty_channels,
    in_blocks,
    in_layouts,
    input_block,
    moved,
    panel_width,
)
from .quantized_layouts import BlockQuantizedConv2D, PackQuantizedDense
from .sink_layouts import sinking


def _is_plain_f32(op: Operator, data: SSAValue, weight: SSAValue) -> bool:
    """Return whether the weight is a constant and everything is f32."""
    types = {element_of(data), element_of(weight), element_of(op.results[0])}
    return isinstance(weight.owner, ConstantOp) and types == {f32}


@dataclass
class BlockConv(RewritePattern):
    """A convolution on NCHW (or NCW, NCDHW) computes on blocks of channels, in and out: of `lanes`, if they divide.

    Where no block fills vectors, filters of zeros are added, and what they give is taken away behind the convolution.
    """

    lanes: int
    vector: int
    module: ModuleOp

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if type(op) not in (Conv1DOp, Conv2DOp, Conv3DOp):
            return
        assert isinstance(op, Conv)
        plain, kernel_plain = "NC" + op.SPATIAL, "OI" + op.SPATIAL
        input, filters = op.operands
        if CONV_LAYOUTS.of(op) != (plain, kernel_plain, plain) or not _is_plain_f32(op, input, filters):
            return
        groups = op.signature.int("groups")
        channels, outputs = shape_of(input)[1], shape_of(filters)[0]
        depthwise = groups == channels == outputs
        more = empty_channels(outputs, self.lanes, self.vector) if groups == 1 else 0
        block_out = channel_block(outputs if depthwise else (outputs + more) // groups, self.lanes, self.vector)
        if depthwise:
            block_in = block_out
            kernel, contrib = f"{kernel_plain}1i{block_out}o", ContribDepthwiseConv2DNCHWcOp
        else:
            each = channels // groups
            block_in = input_block(input, each, channel_block(each, self.lanes, self.vector))
            kernel, contrib = f"{kernel_plain}{block_in}i{block_out}o", ContribConv2DNCHWcOp
        # TVM has names of their own for blocked 2-d convolutions only.
        kind = contrib if isinstance(op, Conv2DOp) else None
        layouts = in_blocks(plain, block_in), kernel, in_blocks(plain, block_out)
        if not more:
            rewriter.replace(op, in_layouts(op, CONV_LAYOUTS, *layouts, into=kind))
            return
        zero = ConstantOp.of(np.zeros((), np.float32), self.module, "zero")
        filled = PadOp(filters, zero.result, pad_width=[0, more, *[0] * (2 * len(shape_of(filters)) - 2)])
        wide = moved(op, input, filled, channels=outputs + more)
        blocked = in_layouts(wide, CONV_LAYOUTS, *layouts, into=kind)
        wide.drop_all_references()
        cut = StridedSliceOp(blocked[-1], begin=(0,), end=(outputs,), axes=(1,))
        rewriter.replace(op, [zero, filled, *blocked, cut])


@dataclass
class PackDense(RewritePattern):
    """`nn.dense` with a constant weight `(n, k)` takes it packed in panels, `(n / b, k, b)`, b in blocks of `lanes`.

    Zeros fill the last panel.
    """

    lanes: int
    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DenseOp, rewriter: PatternRewriter, /):
        width = panel_width(shape_of(op.weight)[0], self.lanes)
        if width < SMALLEST_BLOCK or not _is_plain_f32(op, op.data, op.weight):
            return
        layout, (rows, _) = f"NC{width}n", shape_of(op.weight)
        ops: list[Operation] = []
        filters = op.weight
        if more := -rows % width:
            ops.append(zero := ConstantOp.of(np.zeros((), np.float32), self.module, "zero"))
            ops.append(padded := PadOp(filters, zero.result, pad_width=[0, more, 0, 0]))
            filters = padded.result
        ops.append(weight := LayoutTransformOp(filters, src_layout="NC", dst_layout=layout))
        units = rows if more else None
        dense = moved(op, op.data, weight, into=ContribDensePackOp, weight_layout=layout, units=units)
        rewriter.replace(op, (*ops, dense))


@dataclass(frozen=True)
class AlterOpLayoutPass(ModulePass):
    """Gives convolutions and dense layers the layouts that vectorise, and keeps whole regions of the graph in them.

    Before: operators on NCHW and OIHW; batch_norm and dropout are gone.
    After: every f32 convolution and `nn.dense` with a constant weight is a blocked one. What can compute on blocks
    does; transforms stand where a region of blocks begins and ends. Transforms of constants
    are left for `relay-fold-constant`. An operator for which a function is registered (`FTVMAlterOpLayout`, see
    `op_attrs.py`) is what that gives, between transforms where its layouts are other ones.
    Locations: a blocked operator keeps its layer's; a transform has that of the layer that asked for it.

    lanes: the most channels in a block, and what the width of a panel is a multiple of; the machine says how many.
    vector: the floats of a vector, which the machine says, too; where no block is whole vectors, it fills them best.
    bytes: how many products of bytes are summed at once, 2 or 4, where weights allow it; the machine says that, too.

    ```mlir
    %w = relay.constant @w : tensor<32x16x1x1xf32> loc("w")
    %0 = relay.nn.conv2d %x, %w : (tensor<1x16x8x8xf32>, tensor<32x16x1x1xf32>) -> tensor<1x32x8x8xf32> loc("conv")
    %1 = relay.nn.relu %0 : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> loc("act")
    // becomes
    %w = relay.constant @w : tensor<32x16x1x1xf32> loc("w")
    %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW16c"}
          : (tensor<1x16x8x8xf32>) -> tensor<1x1x8x8x16xf32> loc("conv")
    %1 = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "OIHW16i16o"}
          : (tensor<32x16x1x1xf32>) -> tensor<2x1x1x1x16x16xf32> loc("conv")
    %2 = relay.nn.contrib_conv2d_NCHWc %0, %1 {data_layout = "NCHW16c", kernel_layout = "OIHW16i16o", out_layout =
          "NCHW16c"} : (tensor<1x1x8x8x16xf32>, tensor<2x1x1x1x16x16xf32>) -> tensor<1x2x8x8x16xf32> loc("conv")
    %3 = relay.nn.relu %2 : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32> loc("act")
    %4 = relay.layout_transform %3 {src_layout = "NCHW16c", dst_layout = "NCHW"}
          : (tensor<1x2x8x8x16xf32>) -> tensor<1x32x8x8xf32> loc("conv")
    ```
    """

    name = "relay-alter-op-layout"
    lanes: int = CHANNEL_BLOCK
    vector: int = CHANNEL_BLOCK
    bytes: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name, number in (("lanes", self.lanes), ("vector", self.vector)):
            if number < 1:
                raise PipelineError(message(self.name, f"{name} of at least 1", str(number)))
        own = [BlockConv(self.lanes, min(self.vector, self.lanes), op), PackDense(self.lanes, op)]
        packing = (self.lanes, self.bytes, op)
        quantized = [BlockQuantizedConv2D(*packing, self.vector), PackQuantizedDense(*packing)]
        blocks: list[RewritePattern] = [*own, *quantized]
        permutations: set[Operation] = set()
        if chosen := operators_with(ALTER_LAYOUT):
            from .op_hooks import ApplyHooks, Unless, Written, attributes, flat_types, output_types

            def hooked(hook: Callable[..., object]) -> Callable[[Written], object]:
                return lambda source: hook(
                    attributes(source), source.call.args, flat_types(source), output_types(source.call)
                )

            hooks = {name: hooked(hook) for name, hook in chosen.items()}
            rewrite(op, [ApplyHooks(hooks, op, layouts=True, back=permutations)], recursive=False)
            blocks = [Unless(frozenset(hooks), pattern) for pattern in blocks]
        patterns = [*blocks, *sinking(permutations)]
        others = [operator for operator in OPERATORS if operator is not LayoutTransformOp]
        for func in op.ops:
            if isinstance(func, FuncOp) and func.primitive is None and rewrite(func.body, patterns):
                # Two readers of one value may have asked for the same transform.
                eliminate_common_subexpressions(func.body, skip=[ConstantOp, *others])
