"""relay-flatten-atrous-conv: a convolution between a move of pixels into batches and back is a dilated one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.canonicalization.constant_operands import constant_value, sole_user
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.layout import parse_layout
from ...dialects.relay.nn import Conv2DOp
from ...dialects.relay.qnn_products import Conv2DOp as QuantizedConv2DOp
from ...dialects.relay.rearrange import BatchToSpaceNdOp, SpaceToBatchNdOp
from ...provenance.rewrite import rewrite
from .blocking import twin


@dataclass
class FlattenAtrous(RewritePattern):
    """Each batch has every n-th pixel: a window on them is one on all, dilated by n."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchToSpaceNdOp, rewriter: PatternRewriter, /) -> None:
        conv = op.data.owner
        if not isinstance(conv, Conv2DOp | QuantizedConv2DOp) or sole_user(conv.result) is not op:
            return
        spread = conv.data.owner
        if not isinstance(spread, SpaceToBatchNdOp) or sole_user(spread.result) is not conv:
            return
        sig, before, after = conv.signature, spread.signature, op.signature
        axes = parse_layout(sig.str("data_layout"))
        blocks, letters = before.ints("block_shape"), [axis.letter for axis in axes]
        same = sig.str("out_layout") in ("", sig.str("data_layout")) and blocks == after.ints("block_shape")
        if not same or any(axis.factor for axis in axes) or letters[0] != "N" or sig.pair("strides") != (1, 1):
            return
        if before.get("pad_value") != self._padded_with(conv):
            return
        named = dict(zip(letters[1:], blocks, strict=False))
        pads = dict(zip(letters[1:], SpaceToBatchNdOp.pairs(before, "paddings"), strict=False))
        crops = dict(zip(letters[1:], BatchToSpaceNdOp.pairs(after, "crops"), strict=False))
        if named.get("C", 1) != 1 or any(pads.get("C", (0, 0))) or any(crops.get("C", (0, 0))):
            return
        own = expand_padding(sig, sig.ints("padding"))
        padding = [
            pads.get(letter, (0, 0))[side] + own[2 * side + i] * named.get(letter, 1) - crops.get(letter, (0, 0))[side]
            for side in (0, 1)
            for i, letter in enumerate("HW")
        ]
        dilation = [d * named.get(letter, 1) for d, letter in zip(sig.pair("dilation"), "HW", strict=True)]
        if min(padding) < 0:
            return
        flat = twin(conv, spread.data, *conv.operands[1:], dilation=dilation, padding=padding)
        if flat.results[0].type != op.result.type:
            return
        rewriter.replace(op, flat)
        rewriter.erase(conv)
        rewriter.erase(spread)

    def _padded_with(self, conv: Conv2DOp | QuantizedConv2DOp) -> float | None:
        """Return the number that a convolution has around its data; None where that is not known."""
        if isinstance(conv, Conv2DOp):
            return 0.0
        zero = constant_value(conv.input_zero_point, self.module)
        return None if zero is None else float(zero.item())


@dataclass(frozen=True)
class FlattenAtrousConvPass(ModulePass):
    """Makes a dilated convolution of space_to_batch_nd, conv2d and batch_to_space_nd, as TVM's pass (level 0).

    Before: any relay module.
    After: no `nn.conv2d` or `qnn.conv2d` of strides 1 stands between a move of every n-th pixel into batches, padded
    with what the convolution pads with, and the one back, where crops take no more than was padded and nobody else
    reads what is between.
    Locations: the convolution gets those of all three, the last first.

    ```mlir
    %0 = relay.nn.space_to_batch_nd %x {block_shape = [2, 2], paddings = [2, 2, 2, 2]}
          : (tensor<1x8x8x4xf32>) -> tensor<4x6x6x4xf32> loc("spread")
    %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"}
          : (tensor<4x6x6x4xf32>, tensor<3x3x4x2xf32>) -> tensor<4x4x4x2xf32> loc("conv")
    %2 = relay.nn.batch_to_space_nd %1 {block_shape = [2, 2], crops = [0, 0, 0, 0]}
          : (tensor<4x4x4x2xf32>) -> tensor<1x8x8x2xf32> loc("join")
    // becomes
    %0 = relay.nn.conv2d %x, %w {padding = [2, 2, 2, 2], dilation = [2, 2], data_layout = "NHWC", kernel_layout =
          "HWIO"} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x8x8x2xf32> loc(fused["join", "conv",
          "spread"])
    ```
    """

    name = "relay-flatten-atrous-conv"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [FlattenAtrous(op)], recursive=False)
