"""Layouts for vectors: convolutions on blocks of channels, dense layers on packed weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.attributes import Value
from ...dialects.relay.bits import DenseBitsOp
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
from ...dialects.relay.pairs import PackPairsOp
from ...dialects.relay.qnn_products import Conv2DOp as QuantizedConv2DOp
from ...dialects.relay.transform import LayoutTransformOp, PadOp
from ...provenance.cse import eliminate_common_subexpressions
from ...provenance.diagnostics import message
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk
from ...support.errors import PipelineError
from ...support.machine import CHANNEL_BLOCK
from ...syntax.relay.op_attrs import ALTER_LAYOUT, operators_with
from .blocking import (
    SMALLEST_BLOCK,
    arrangement,
    channel_block,
    empty_channels,
    few_channels,
    in_blocks,
    in_layouts,
    input_block,
    lanes_are_pixels,
    largest_divisor,
    moved,
    panel_width,
    summed_block,
)
from .quantized_layouts import BlockQuantizedConv2D, PackQuantizedDense, is_depthwise
from .sink_cuts import SinkCuts, cut_channels, grown, uncut
from .sink_layouts import is_other, sinking
from .winograd import in_winograd_form, winograd_pays

_STEPS = 32
"""Products of float16 that are summed as such, at most."""
_FEWEST_STEPS = 8
"""So few steps do not pay for widening their sum."""


def _computes(op: Operator, data: SSAValue, weight: SSAValue) -> Attribute | None:
    """The type of the operands of a product with a constant weight, summed in f32: f32 or a half; None of any other."""
    types = element_of(data), element_of(weight), element_of(op.results[0])
    known = isinstance(weight.owner, ConstantOp) and types in ((f32, f32, f32), (bf16, bf16, f32), (f16, f16, f32))
    return types[0] if known else None


def _zero(weight: SSAValue, module: ModuleOp) -> ConstantOp:
    return ConstantOp.of(np.zeros((), numpy_dtype(element_of(weight))), module, "zero")


@dataclass
class BlockConv(RewritePattern):
    """A convolution on NCHW (or NCW, NCDHW) computes on blocks of channels, in and out: of `lanes`, if they divide.

    Where no block fills vectors, channels and filters of zeros are added, and what they give is taken away behind the
    convolution. Channels that were added before are read with weights of zero.
    Filters of 3x3 are transformed where Winograd's products of fewer numbers are faster.
    """

    lanes: int
    vector: int
    masks: bool
    module: ModuleOp
    cuts: set[Operation]
    """The slices that take channels away."""
    winograd: bool
    halves: bool
    """True where products of float16 are summed as such, in a block of input channels."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /):
        if type(op) not in (Conv1DOp, Conv2DOp, Conv3DOp):
            return
        assert isinstance(op, Conv)
        plain, kernel_plain = "NC" + op.SPATIAL, "OI" + op.SPATIAL
        given, filters = op.operands
        computed = _computes(op, given, filters)
        if CONV_LAYOUTS.of(op) != (plain, kernel_plain, plain) or computed is None:
            return
        groups = op.signature.int("groups")
        channels, outputs = shape_of(given)[1], shape_of(filters)[0]
        depthwise = groups == channels == outputs
        input = uncut(given, self.cuts) if depthwise or groups == 1 else given
        if arrangement(input) is None and lanes_are_pixels(op, self.vector, self.vector):
            return
        before = shape_of(input)[1] - channels
        pairs = False
        more = empty_channels(outputs, self.lanes, self.vector, self.masks) if groups == 1 else 0
        block_out = channel_block((outputs + more) // groups, self.lanes, self.vector, self.masks)
        if depthwise:
            before = more = before or empty_channels(channels, self.lanes, self.vector, self.masks)
            groups = outputs + more
            block_in = block_out = channel_block(groups, self.lanes, self.vector, self.masks)
            kernel, contrib = f"{kernel_plain}1i{block_out}o", ContribDepthwiseConv2DNCHWcOp
        else:
            few = computed == f32 and few_channels(outputs // groups, shape_of(op.results[0])[2:], self.vector)
            block_in, zeros = self._block_in(input, channels // groups + before, groups, few)
            before += zeros
            pairs = computed == bf16 and (channels // groups + before) % 2 == 0
            if pairs and block_in % 2:
                block_in = 2 * largest_divisor((channels // groups + before) // 2, self.lanes // 2)
            if few and block_in % self.vector == 0:
                block_out, more = 1, 0
            kernel, contrib = f"{kernel_plain}{block_in // (1 + pairs)}i{block_out}o", ContribConv2DNCHWcOp
        # TVM has names of their own for blocked 2-d convolutions only.
        kind = contrib if isinstance(op, Conv2DOp) else None
        layouts = in_blocks(plain, block_in), kernel, in_blocks(plain, block_out)
        ops: list[Operation] = []
        if (
            self.winograd
            and not (more or before)
            and computed == f32
            and winograd_pays(op, block_in, block_out, self.vector)
        ):
            layouts = layouts[0], f"HWOI{block_in}i{block_out}o", layouts[2]
            rewriter.replace(op, in_winograd_form(op, layouts))
            return
        if wanted := channels + before - shape_of(input)[1]:
            ops += grown(input, 1, wanted, self.module)
            input = ops[-1].results[0]
        for axis, zeros in ((0, more), (1, 0 if depthwise else before)):
            if zeros:
                ops += grown(filters, axis, zeros, self.module)
                filters = ops[-1].results[0]
        if pairs:
            ops += [words := PackPairsOp(filters, axis=1)]
            filters = words.result
        wide = moved(op, input, filters, channels=outputs + more, groups=groups) if ops else op
        summed = self.halves and computed == f16 and kind is ContribConv2DNCHWcOp
        partial: dict[str, Value] = {"partial": block_in} if summed and _FEWEST_STEPS <= block_in <= _STEPS else {}
        ops += in_layouts(wide, CONV_LAYOUTS, *layouts, into=kind, **partial)
        if wide is not op:
            wide.drop_all_references()
        if more:
            ops += [cut := cut_channels(ops[-1], outputs)]
            self.cuts.add(cut)
        rewriter.replace(op, ops)

    def _block_in(self, data: SSAValue, channels: int, groups: int, few: bool) -> tuple[int, int]:
        """Return the block of the input's channels, of each group, and the channels of zeros that fill the last.

        few: whether input channels are the lanes, if blocks are whole vectors.
        """
        own = channel_block(channels, self.lanes, self.vector, self.masks)
        if arrangement(data) is not None or groups > 1:
            return input_block(data, channels, own), 0
        if few and channels >= self.vector:
            return self.vector, -channels % self.vector
        return (own, 0) if own % self.vector == 0 else summed_block(channels, self.lanes, self.vector)


@dataclass
class PackDense(RewritePattern):
    """`nn.dense` with a constant weight `(n, k)` takes it packed in panels, `(n / b, k, b)`, b in blocks of `lanes`.

    Zeros fill the last panel.
    """

    lanes: int
    halves: int
    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DenseOp, rewriter: PatternRewriter, /):
        width = panel_width(shape_of(op.weight)[0], self.lanes)
        computed = _computes(op, op.data, op.weight)
        if width < SMALLEST_BLOCK or computed is None:
            return
        layout, (rows, _) = f"NC{width}n", shape_of(op.weight)
        ops: list[Operation] = []
        filters = op.weight
        if more := -rows % width:
            ops.append(zero := _zero(filters, self.module))
            ops.append(padded := PadOp(filters, zero.result, pad_width=[0, more, 0, 0]))
            filters = padded.result
        if computed == bf16 and shape_of(filters)[1] % 2 == 0:
            ops.append(words := PackPairsOp(filters, axis=1))
            filters = words.result
        ops.append(weight := LayoutTransformOp(filters, src_layout="NC", dst_layout=layout))
        units = rows if more else None
        # A sum of many numbers is made of short ones: halves have few digits.
        depth = shape_of(op.weight)[1]
        steps = largest_divisor(depth, _STEPS) if computed == f16 and self.halves else 0
        attributes: dict[str, Value] = {"weight_layout": layout, "units": units}
        if steps >= _FEWEST_STEPS:
            attributes["partial"] = steps
        dense = moved(op, op.data, weight, into=ContribDensePackOp, **attributes)
        rewriter.replace(op, (*ops, dense))


@dataclass
class PackDenseBits(RewritePattern):
    """`nn.contrib_dense_bits` of constant rows takes words, scales and offsets in panels, as `nn.dense` its weight.

    Panels of products of bytes are as wide as a cache line. floats: data are not rounded to bytes, even where they may.
    """

    lanes: int
    floats: int
    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DenseBitsOp, rewriter: PatternRewriter, /):
        weights = op.operands[1:]
        rows = shape_of(op.words)[0]
        int8_data = bool(op.int8_data.value.data) and not self.floats
        width = self.lanes if int8_data else panel_width(rows, self.lanes)
        plain = len(shape_of(op.words)) == 2 and all(isinstance(value.owner, ConstantOp) for value in weights)
        if width < SMALLEST_BLOCK or not plain:
            return
        ops: list[Operation] = []
        packed: list[SSAValue] = []
        for value in weights:
            if more := -rows % width:
                ops += [
                    zero := _zero(value, self.module),
                    padded := PadOp(value, zero.result, pad_width=[0, more, 0, 0]),
                ]
                value = padded.result
            ops.append(panels := LayoutTransformOp(value, src_layout="NC", dst_layout=f"NC{width}n"))
            packed.append(panels.result)
        rewriter.replace(op, (*ops, moved(op, op.data, *packed, units=rows, int8_data=int8_data)))


@dataclass(frozen=True)
class AlterOpLayoutPass(ModulePass):
    """Gives convolutions and dense layers the layouts that vectorise, and keeps whole regions of the graph in them.

    Before: operators on NCHW and OIHW; batch_norm and dropout are gone.
    After: every f32 convolution and `nn.dense` with a constant weight is a blocked one, and every one of bf16 that is
    summed in f32, with its weight in words of two neighbours along the sum (dialects/relay/pairs.py); but for those of
    single pixels to few channels, on data in no blocks, whose lanes are pixels (`lanes_are_pixels`). What can compute
    on blocks does; transforms stand where a region of blocks begins and ends. Transforms of constants are left for
    `relay-fold-constant`. An operator for which a function is registered (`FTVMAlterOpLayout`, see
    `op_attrs.py`) is what that gives, between transforms where its layouts are other ones.
    Locations: a blocked operator keeps its layer's; a transform has that of the layer that asked for it.

    lanes: the most channels in a block, and what the width of a panel is a multiple of; the machine says how many.
    vector: the floats of a vector, which the machine says, too; where no block is whole vectors, it fills them best.
    halves: 1 where the machine multiplies and adds float16. Where a module has convolutions of such, blocks are twice
    as wide.
    floats: 1 where it has no instruction for sums of products of bytes or pairs.
    masks: 1 where the machine has mask registers: the last vector of a block is one that is cut off.
    bytes: how many products of bytes are summed at once, 2 or 4, where weights allow it; the machine says that, too.
    tile_bf16, tile_int8: the channels in a block where the machine multiplies tiles of bfloat16, or of bytes, and the
    module has convolutions of such; of bytes only if none of them is depthwise, as these pack neighbours in a row.
    winograd: 0 where no convolution is to become one of transformed weights, as the option `relay.winograd` says.

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
    halves: int = 0
    masks: int = 1
    floats: int = 0
    tile_bf16: int = 0
    tile_int8: int = 0
    winograd: int = 1

    def _lanes(self, module: ModuleOp) -> tuple[int, int]:
        """The most channels in a block of floats, and of quantized numbers, in a module."""
        floats = quantized = self.lanes
        convs = (
            [op for op in walk(module) if isinstance(op, Conv | QuantizedConv2DOp)]
            if self.tile_bf16 or self.tile_int8 or self.halves
            else []
        )
        computed = {_computes(op, op.operands[0], op.operands[1]) for op in convs}
        if bf16 in computed:
            floats = self.tile_bf16 or floats
        elif f16 in computed and self.halves:
            floats *= 2
        if not any(isinstance(op, QuantizedConv2DOp) and is_depthwise(op) for op in convs):
            quantized = self.tile_int8 or quantized
        return floats, quantized

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name, number in (("lanes", self.lanes), ("vector", self.vector)):
            if number < 1:
                raise PipelineError(message(self.name, f"{name} of at least 1", str(number)))
        lanes, quantized_lanes = self._lanes(op)
        cuts: set[Operation] = set()
        own: list[RewritePattern] = [
            SinkCuts(op, cuts),
            BlockConv(
                lanes, min(self.vector, lanes), bool(self.masks), op, cuts, bool(self.winograd), bool(self.halves)
            ),
            PackDense(self.lanes, self.halves, op),
            PackDenseBits(self.lanes, self.floats, op),
        ]
        packing = (self.lanes, self.bytes, op)
        quantized = [BlockQuantizedConv2D(quantized_lanes, *packing[1:], self.vector), PackQuantizedDense(*packing)]
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
        for func in op.ops:
            if isinstance(func, FuncOp) and func.primitive is None and rewrite(func.body, patterns):
                # Two readers of one value may have asked for the same transform.
                eliminate_common_subexpressions(func.body, skip=[ConstantOp], unless=is_other)
