"""relay-legalize: operators that others compute faster become those; transposed convolutions become convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.convolution_transpose import ConvTranspose
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.layout import logical_shape, parse_layout
from ...dialects.relay.nn import Conv1DOp, Conv2DOp, Conv3DOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.transform import LayoutTransformOp, PadOp, ReshapeOp, StridedSliceOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, same_shape
from ...dialects.sizes.types import is_static
from ...provenance.rewrite import rewrite
from ...support.machine import CHANNEL_BLOCK
from ...syntax.relay.op_attrs import LEGALIZE, operators_with
from .transposed_operands import ReadTransposed

_FEW_EMPTY = 1 / 8
"""Channels of zeros, to each other one, that cost less than weaving number by number."""
_OWN = {"nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"}


@dataclass(frozen=True)
class _Phases:
    """A transposed convolution along one axis.

    Result place y is phase `r = (y + before) % stride` of group `q = (y + before) // stride`; it is the sum over m of
    `x[q - m] * w[r + m * stride]`. So all phases are a convolution whose kernel has `taps` places, with `stride` times
    the channels, of which the groups from `first` on are computed.
    """

    stride: int
    taps: int
    first: int
    pads: tuple[int, int]
    begin: int
    """The start of the result in the interleaved phases."""

    @staticmethod
    def of(extent: int, kernel: int, stride: int, before: int, out: int) -> _Phases:
        """kernel: its extent with dilation; out: that of the result."""
        taps = -(-kernel // stride)
        padding = max(0, taps - 1 - before // stride)
        first = taps - 1 - padding
        last = (before + out - 1) // stride
        after = max(0, last - first + taps - extent - padding)
        return _Phases(stride, taps, first, (padding, after), before - first * stride)


class _Builder:
    """Collects what an operator becomes."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.made: list[Operation] = []

    def add(self, op: Operation) -> SSAValue:
        self.made.append(op)
        return op.results[0]

    def reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return value if same_shape(shape_of(value), shape) else self.add(ReshapeOp(value, newshape=shape))

    def permuted(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        return value if list(axes) == sorted(axes) else self.add(TransposeOp(value, axes=axes))

    def laid_out(self, value: SSAValue, source: str, target: str) -> SSAValue:
        """A value in another layout."""
        same = source == target
        return value if same else self.add(LayoutTransformOp(value, src_layout=source, dst_layout=target))

    def grown(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Zeros after the elements, until the shape is that."""
        old = shape_of(value)
        if old == tuple(shape):
            return value
        zero = self.add(ConstantOp.of(np.zeros((), numpy_dtype(element_of(value))), self.module, "zero"))
        width = [w for a, b in zip(old, shape, strict=True) for w in (0, b - a)]
        return self.add(PadOp(value, zero, pad_width=width))

    def sliced(self, value: SSAValue, slices: Sequence[slice]) -> SSAValue:
        """A part of a value; of an extent that a call decides, some elements in a row."""
        shape: tuple[Size, ...] = shape_of(value)
        bounds: dict[int, tuple[Size, Size, int]] = {}
        for axis, (extent, part) in enumerate(zip(shape, slices, strict=True)):
            if isinstance(extent, SizeExpr):
                if part != slice(None) and not same_shape((part.start, part.stop), (0, extent)):
                    bounds[axis] = part.start, part.stop, 1
            elif (r := range(extent)[part]) != range(extent):
                # A range that goes down to the first element ends before it, which -1 would not say.
                bounds[axis] = r.start, r.stop if r.step > 0 or r.stop >= 0 else r.stop - extent, r.step
        if not bounds:
            return value
        axes = range(len(shape)) if is_static(value.type) else list(bounds)
        begin, end, strides = zip(*(bounds.get(axis, (0, shape[axis], 1)) for axis in axes), strict=True)
        return self.add(
            StridedSliceOp(
                value, begin=begin, end=end, strides=strides, axes=None if is_static(value.type) else list(axes)
            )
        )


def _whole_blocks(channels: int) -> int:
    """Return the channels of whole blocks that hold so many, if zeros in the last one are few; else these."""
    more = -channels % CHANNEL_BLOCK
    return channels + more if more <= _FEW_EMPTY * channels else channels


@dataclass
class TransposedToConvolution(RewritePattern):
    """Compute all phases of a transposed convolution, one per offset in its strides, by one convolution."""

    module: ModuleOp

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ConvTranspose):
            return
        sig, rank = op.signature, len(op.SPATIAL)
        build = _Builder(self.module)
        plain, result = "NC" + op.SPATIAL, sig.str("out_layout") or sig.str("data_layout")
        data = build.laid_out(op.data, sig.str("data_layout"), plain)
        weight = build.laid_out(op.weight, sig.str("kernel_layout"), "IO" + op.SPATIAL)
        (batch, _, *image), (_, per_group, *kernel) = shape_of(data), shape_of(weight)
        whole_result = logical_shape(shape_of(op.result), parse_layout(result))
        outputs, *out = (whole_result[letter] for letter in plain[1:])
        groups, strides, dilation = sig.int("groups"), sig.ints("strides"), sig.ints("dilation")
        before = expand_padding(sig, sig.ints("padding"), rank)[:rank]
        spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
        phases = [_Phases.of(*row) for row in zip(image, spans, strides, before, out, strict=True)]
        # Whole blocks of channels of each phase are woven by vectors.
        each = _whole_blocks(per_group) if groups == 1 and prod(strides) > 1 else per_group
        weight = build.grown(weight, (shape_of(weight)[0], each, *kernel))
        filters = self._filters(build, weight, groups, dilation, phases)
        padding = [p.pads[0] for p in phases] + [p.pads[1] for p in phases]
        convolution: type[Operator] = (Conv1DOp, Conv2DOp, Conv3DOp)[rank - 1]
        dtype = sig.str("out_dtype")
        made = build.add(convolution(data, filters, padding=padding, groups=groups, out_dtype=dtype))
        # (n, group, phases, outputs of a group, places) -> (n, group, outputs, place 0, phase 0, place 1, ..)
        places = shape_of(made)[2:]
        split = build.reshaped(made, (batch, groups, *strides, each, *places))
        order = [0, 1, rank + 2]
        for axis in range(rank):
            order += [rank + 3 + axis, 2 + axis]
        woven = [place * stride for place, stride in zip(places, strides, strict=True)]
        whole = build.reshaped(build.permuted(split, order), (batch, groups * each, *woven))
        cut = [slice(p.begin, p.begin + extent) for p, extent in zip(phases, out, strict=True)]
        build.laid_out(build.sliced(whole, [slice(None), slice(0, outputs), *cut]), plain, result)
        rewriter.replace(op, build.made)

    def _filters(
        self, build: _Builder, weight: SSAValue, groups: int, dilation: Sequence[int], phases: Sequence[_Phases]
    ) -> SSAValue:
        """(channels, outputs / groups, ky, ..) -> (groups, phases, outputs / groups; channels / groups, taps ..)."""
        channels, per_group, *kernel = shape_of(weight)
        rank = len(kernel)
        if max(dilation) > 1:
            apart = [extent for k in kernel for extent in (k, 1)]
            filled = [extent for k, d in zip(kernel, dilation, strict=True) for extent in (k, d)]
            value = build.grown(build.reshaped(weight, (channels, per_group, *apart)), (channels, per_group, *filled))
            spread = [k * d for k, d in zip(kernel, dilation, strict=True)]
            value = build.reshaped(value, (channels, per_group, *spread))
            spans = [slice(0, d * (k - 1) + 1) for k, d in zip(kernel, dilation, strict=True)]
            weight = build.sliced(value, [slice(None), slice(None), *spans])
        whole = build.grown(weight, (channels, per_group, *(p.taps * p.stride for p in phases)))
        split = [extent for p in phases for extent in (p.taps, p.stride)]
        value = build.reshaped(whole, (groups, channels // groups, per_group, *split))
        down = [cut for _ in phases for cut in (slice(None, None, -1), slice(None))]
        value = build.sliced(value, [slice(None)] * 3 + down)
        order = [0, *(4 + 2 * axis for axis in range(rank)), 2, 1, *(3 + 2 * axis for axis in range(rank))]
        strides = prod(p.stride for p in phases)
        shape = (groups * strides * per_group, channels // groups, *(p.taps for p in phases))
        return build.reshaped(build.permuted(value, order), shape)


@dataclass(frozen=True)
class LegalizePass(ModulePass):
    """Makes convolutions of transposed ones, as TVM's Legalize gives operators forms that a target has (level 1).

    Before: any relay module.
    After: no transposed convolution. Each became a convolution of the same data, whose channels are the phases of the
    strides. What interleaves these stands behind it; what rearranges constants is left for `relay-fold-constant`. Other
    layouts than NCHW and IOHW are transformed.
    No matrix product of few rows has its second operand transposed for it alone: it reads rows in place of columns.
    An operator for which a function is registered (`FTVMLegalize`, `syntax/relay/op_attrs.py`) is what that gives.
    Locations: all of it gets that of the transposed convolution; a product gets its own and the transpose's.

    ```mlir
    %0 = relay.nn.conv1d_transpose %x, %w {strides = [2]}
          : (tensor<1x4x8xf32>, tensor<4x3x2xf32>) -> tensor<1x3x16xf32> loc("up")
    // becomes
    %0 = relay.reshape %w {newshape = [1, 4, 3, 1, 2]} : (tensor<4x3x2xf32>) -> tensor<1x4x3x1x2xf32> loc("up")
    %1 = relay.transpose %0 {axes = [0, 4, 2, 1, 3]} : (tensor<1x4x3x1x2xf32>) -> tensor<1x2x3x4x1xf32> loc("up")
    %2 = relay.reshape %1 {newshape = [6, 4, 1]} : (tensor<1x2x3x4x1xf32>) -> tensor<6x4x1xf32> loc("up")
    %3 = relay.nn.conv1d %x, %2 {padding = [0, 0]}
          : (tensor<1x4x8xf32>, tensor<6x4x1xf32>) -> tensor<1x6x8xf32> loc("up")
    %4 = relay.reshape %3 {newshape = [1, 1, 2, 3, 8]} : (tensor<1x6x8xf32>) -> tensor<1x1x2x3x8xf32> loc("up")
    %5 = relay.transpose %4 {axes = [0, 1, 3, 4, 2]} : (tensor<1x1x2x3x8xf32>) -> tensor<1x1x3x8x2xf32> loc("up")
    %6 = relay.reshape %5 {newshape = [1, 3, 16]} : (tensor<1x1x3x8x2xf32>) -> tensor<1x3x16xf32> loc("up")
    ```

    ```mlir
    %0 = relay.transpose %k {axes = [0, 2, 1]} : (tensor<2x9x4xf32>) -> tensor<2x4x9xf32> loc("turn")
    %1 = relay.nn.batch_matmul %q, %0 {transpose_b = false}
          : (tensor<2x1x4xf32>, tensor<2x4x9xf32>) -> tensor<2x1x9xf32> loc("scores")
    // becomes
    %0 = relay.nn.batch_matmul %q, %k
          : (tensor<2x1x4xf32>, tensor<2x9x4xf32>) -> tensor<2x1x9xf32> loc(fused["scores", "turn"])
    ```
    """

    name = "relay-legalize"
    legalize_map_attr_name: str = LEGALIZE
    """The key under which functions are registered; under another one they are all that there is to do."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chosen = operators_with(self.legalize_map_attr_name)
        if chosen:
            from .op_hooks import ApplyHooks, Written, attributes, output_types

            def hooked(hook: Callable[..., object]) -> Callable[[Written], object]:
                return lambda source: hook(
                    attributes(source), source.call.args, [*source.types, output_types(source.call)]
                )

            rewrite(op, [ApplyHooks({name: hooked(hook) for name, hook in chosen.items()}, op)], recursive=False)
        if self.legalize_map_attr_name != LEGALIZE:
            return
        if not chosen.keys() & _OWN:
            rewrite(op, [TransposedToConvolution(op)], recursive=False)
        rewrite(op, [ReadTransposed()], recursive=False)
