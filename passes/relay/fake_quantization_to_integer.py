"""relay-fake-quantization-to-integer: operators on dequantised tensors compute on the integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name, numpy_dtype
from ...dialects.relay import elementwise as ew
from ...dialects.relay import nn, transform
from ...dialects.relay.attributes import Value, to_python
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused, sole_user
from ...dialects.relay.canonicalization.fold import FoldOperator
from ...dialects.relay.convolution_transpose import Conv2DTransposeOp as Transposed
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp
from ...dialects.relay.qnn_elementwise import AvgPool2DOp
from ...dialects.relay.qnn_products import BatchMatmulOp, Conv2DOp, Conv2DTransposeOp, DenseOp
from ...dialects.relay.resize import Resized
from ...dialects.relay.traits import Selects
from ...provenance.rewrite import rewrite, stands_for
from ...syntax.relay.op_attrs import FAKE_QUANTIZATION, OPTIONAL_FAKE_QUANTIZATION, operators_with
from . import fake_quantization_moves as moving
from . import fake_quantization_rules as rules
from .known_values import GetOfTuple
from .qnn_canonicalize import same_number
from .requantized_sums import RequantizeSums


def dequantized(value: SSAValue, *, whole: bool = False) -> DequantizeOp | None:
    """The operator that made floats of bytes, with one scale for all of them if `whole`."""
    op = value.owner
    if not isinstance(op, DequantizeOp) or dtype_name(element_of(op.result)) != "float32":
        return None
    if dtype_name(element_of(op.data)) not in ("int8", "uint8"):
        return None
    return None if whole and not is_whole(op) else op


def is_whole(op: DequantizeOp) -> bool:
    return shape_of(op.input_scale) in ((), (1,)) and shape_of(op.input_zero_point) in ((), (1,))


def _per_row(op: DequantizeOp) -> bool:
    """Return whether there is one scale, or one per index of axis 0."""
    return is_whole(op) or (
        len(shape_of(op.input_scale)) == 1 and op.signature.int("axis") % len(shape_of(op.data)) == 0
    )


@dataclass
class DropRoundTrip(RewritePattern):
    """A dequantised value, quantised by the same numbers, is the value from before."""

    module: ModuleOp
    reason: ClassVar[str] = "quantised again by the same scale and zero point"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        inner = dequantized(op.data, whole=True)
        if inner is None or element_of(inner.data) != element_of(op.result):
            return
        pairs = ((inner.input_scale, op.output_scale), (inner.input_zero_point, op.output_zero_point))
        if all(same_number(first, second, self.module) for first, second in pairs):
            operands = list(op.operands)
            rewriter.replace(op, [], [inner.data])
            erase_unused(operands, rewriter)


class MoveDequantize(RewritePattern):
    """Elements move as integers, and are dequantised after."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or not op.has_trait(Selects):
            return
        inner = dequantized(op.operands[0])
        if inner is None:
            return
        if isinstance(op, Resized) and not op.selects(op.signature):
            return
        axis = inner.signature.int("axis")
        if not is_whole(inner):
            if not isinstance(op, transform.TransposeOp) or len(shape_of(inner.input_scale)) != 1:
                return
            order = op.order(op.signature)
            axis = order.index(axis % len(order))
        attributes: dict[str, Value] = {name: to_python(value) for name, value in op.properties.items()}
        moved = stands_for(type(op)(inner.data, *op.operands[1:], location=None, **attributes), op)
        outer = DequantizeOp(moved, inner.input_scale, inner.input_zero_point, axis=axis)
        rewriter.replace(op, (moved, stands_for(outer, inner)))
        erase_unused([inner.result], rewriter)


@dataclass
class MoveThroughConcatenate(RewritePattern):
    """Concatenate the integers of parts in the same steps."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: transform.ConcatenateOp, rewriter: PatternRewriter, /) -> None:
        inner = [part for value in op.data if (part := dequantized(value, whole=True)) is not None]
        if len(inner) != len(op.data) or len({element_of(part.data) for part in inner}) != 1:
            return
        first = inner[0]
        for part in inner[1:]:
            pairs = ((first.input_scale, part.input_scale), (first.input_zero_point, part.input_zero_point))
            if not all(same_number(left, right, self.module) for left, right in pairs):
                return
        parts = [part.data for part in inner]
        joined = stands_for(transform.ConcatenateOp(*parts, axis=op.signature.int("axis")), op)
        outer = DequantizeOp(joined, first.input_scale, first.input_zero_point)
        operands = list(op.operands)
        rewriter.replace(op, (joined, stands_for(outer, *inner)))
        erase_unused(operands, rewriter)


class QuantizeBeforeConcatenate(RewritePattern):
    """Parts in steps of their own are quantised one by one, as bytes are less to write and read than floats."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        joined = op.data.owner
        if not isinstance(joined, transform.ConcatenateOp) or sole_user(joined.result) is None:
            return
        scales = op.output_scale, op.output_zero_point
        if any(shape_of(value) not in ((), (1,)) for value in scales):
            return
        if not all(dequantized(value, whole=True) for value in joined.data):
            return
        dtype = op.signature.str("out_dtype")
        parts = [stands_for(QuantizeOp(value, *scales, out_dtype=dtype), op) for value in joined.data]
        new = stands_for(transform.ConcatenateOp(*parts, axis=joined.signature.int("axis")), joined)
        rewriter.replace(op, (*parts, new))
        rewriter.erase(joined)


@dataclass
class MoveThroughPad(RewritePattern):
    """Zeros around the data are zero points."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: transform.PadOp, rewriter: PatternRewriter, /) -> None:
        inner, value = dequantized(op.data, whole=True), constant_value(op.value, self.module)
        zero = None if inner is None else constant_value(inner.input_zero_point, self.module)
        if inner is None or zero is None or value is None or value.any():
            return
        filling = zero.reshape(()).astype(numpy_dtype(element_of(inner.data)))
        constant = ConstantOp.of(np.asarray(filling), self.module, "pad_value")
        width, mode = op.signature.ints("pad_width"), op.signature.str("pad_mode")
        padded = stands_for(transform.PadOp(inner.data, constant, pad_width=width, pad_mode=mode), op)
        outer = DequantizeOp(padded, inner.input_scale, inner.input_zero_point)
        operands = list(op.operands)
        rewriter.replace(op, (constant, padded, stands_for(outer, inner)))
        erase_unused(operands, rewriter)


@dataclass
class MultiplyIntegers(RewritePattern):
    """A product of dequantised tensors is that of the integers, dequantised by the product of their scales."""

    module: ModuleOp
    complete: bool = False
    """True when transposed convolutions work on integers, too; floats do these faster."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        match op:
            case nn.Conv2DOp():
                kept = ("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_layout")
                if (op.data_layout.data, op.kernel_layout.data, op.out_layout.data) == ("NCHW", "OIHW", ""):
                    self._multiply(op, Conv2DOp, kept, 1, _per_row, rewriter)
            case Transposed() if self.complete:
                sizes = ("strides", "padding", "dilation", "groups", "output_padding", "channels", "kernel_size")
                kept = (*sizes, "data_layout", "kernel_layout", "out_layout")
                self._multiply(op, Conv2DTransposeOp, kept, 1, is_whole, rewriter)
            case nn.DenseOp():
                self._multiply(op, DenseOp, (), 1, _per_row, rewriter)
            case nn.BatchMatmulOp():
                self._multiply(op, BatchMatmulOp, ("transpose_a", "transpose_b"), -1, is_whole, rewriter)
            case _:
                pass

    def _multiply(
        self,
        op: Operator,
        kind: type[Operator],
        kept: Sequence[str],
        axis: int,
        fits: Callable[[DequantizeOp], bool],
        rewriter: PatternRewriter,
    ) -> None:
        left, right = dequantized(op.operands[0], whole=True), dequantized(op.operands[1])
        if left is None or right is None or not fits(right) or dtype_name(element_of(op.results[0])) != "float32":
            return
        scales = left.input_scale, right.input_scale
        attributes: dict[str, Value] = {name: op.signature.get(name) for name in kept}
        operands = (left.data, right.data, left.input_zero_point, right.input_zero_point, *scales)
        total = kind(*operands, location=None, **attributes)
        zero = ConstantOp.of(np.zeros((), np.int32), self.module, "zero_point")
        scale = ew.MultiplyOp(*scales)
        real = stands_for(DequantizeOp(total.results[0], scale, zero, axis=axis), op, left, right)
        rewriter.replace(op, (total, zero, scale, real))
        erase_unused([left.result, right.result], rewriter)


class AverageIntegers(RewritePattern):
    """An average of dequantised elements, quantised, is one of integers."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        pool = op.data.owner
        if not isinstance(pool, nn.AvgPool2DOp | nn.GlobalAvgPool2DOp) or sole_user(pool.result) is None:
            return
        inner = dequantized(pool.data, whole=True)
        scales = (op.output_scale, op.output_zero_point)
        if inner is None or any(shape_of(value) not in ((), (1,)) for value in scales):
            return
        if element_of(inner.data) != element_of(op.result) or pool.signature.str("layout") != "NCHW":
            return
        attributes: dict[str, Value] = {name: to_python(value) for name, value in pool.properties.items()}
        if isinstance(pool, nn.GlobalAvgPool2DOp):
            attributes["pool_size"] = shape_of(pool.data)[2:]
        parameters = (inner.input_scale, inner.input_zero_point, *scales)
        new = AvgPool2DOp(inner.data, *parameters, location=None, **attributes)
        rewriter.replace(op, stands_for(new, pool, op, inner))
        erase_unused([pool.result], rewriter)


@dataclass(frozen=True)
class FakeQuantizationToIntegerPass(ModulePass):
    """Moves operators between dequantising and quantising to integers, as TVM's pass of that name.

    complete: all that there are rules for; without it what elementwise operators do stays on floats, where that is as
    fast. hard_fail: operators in between without a rule are an error, as is a user's rule that fails. use_qat: clips
    that no quantisation follows, too. optional_qnn_ops: operators that are only computed on integers where they are
    named, as results differ: `nn.softmax`.

    Before: any relay module.
    After: 2-d convolutions, dense layers and batched products of dequantised bytes are `qnn` operators; what only moves
    elements moves bytes, with max pools, paddings and concatenations in the same steps; averages that are quantised
    are those of integers. What works on each element alone stays, as it fuses from bytes to bytes; but sums of products
    are requantised with their bias, and sums, differences and products of two dequantised tensors are `qnn` operators.
    With `complete`, as TVM's name has it, these do, too, where they come before a quantisation: sums, differences and
    products are `qnn` operators, functions of one tensor such or tables; choices among numbers, biases and averages
    are those of integers, and a quantisation of what was dequantised is a `qnn.requantize`.
    Locations: a product is located at the operator and at the dequantisations whose scales it uses; what moves, and
    dequantisations that come after it, stay their own layers'.

    ```mlir
    %z = relay.constant dense<0> : tensor<i32> loc("zero")
    %0 = relay.qnn.dequantize %x, %s, %z : (tensor<1x4xi8>, tensor<f32>, tensor<i32>) -> tensor<1x4xf32> loc("dx")
    %1 = relay.qnn.dequantize %w, %t, %z : (tensor<2x4xi8>, tensor<f32>, tensor<i32>) -> tensor<2x4xf32> loc("dw")
    %2 = relay.nn.dense %0, %1 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> loc("dense")
    // becomes
    %z = relay.constant dense<0> : tensor<i32> loc("zero")
    %0 = relay.qnn.dense %x, %w, %z, %z, %s, %t
          : (tensor<1x4xi8>, tensor<2x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x2xi32>
          loc(fused["dense", "dx", "dw"])
    %zero_point = relay.constant dense<0> : tensor<i32> loc(fused["dense", "dx", "dw"])
    %1 = relay.multiply %s, %t : (tensor<f32>, tensor<f32>) -> tensor<f32> loc(fused["dense", "dx", "dw"])
    %2 = relay.qnn.dequantize %0, %1, %zero_point {axis = 1}
          : (tensor<1x2xi32>, tensor<f32>, tensor<i32>) -> tensor<1x2xf32> loc(fused["dense", "dx", "dw"])
    ```
    """

    name = "relay-fake-quantization-to-integer"
    complete: bool = False
    hard_fail: bool = False
    use_qat: bool = False
    optional_qnn_ops: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns: list[RewritePattern] = [FoldOperator(QuantizeOp), DropRoundTrip(op), MoveDequantize()]
        patterns += [
            MoveThroughConcatenate(op),
            QuantizeBeforeConcatenate(),
            MoveThroughPad(op),
            MultiplyIntegers(op, self.complete),
            AverageIntegers(),
        ]
        if not self.complete:
            patterns += [RequantizeSums(op), rules.BinaryOnIntegers(op, constants=False)]
        registered = operators_with(FAKE_QUANTIZATION) if self.complete else {}
        optional = operators_with(OPTIONAL_FAKE_QUANTIZATION)
        registered |= {name: optional[name] for name in self.optional_qnn_ops if name in optional}
        if registered:
            from .affine_hooks import RegisteredRules
            from .op_hooks import Unless

            names = frozenset(registered)
            patterns = [
                RegisteredRules(registered, op, self.hard_fail),
                *(Unless(names, pattern) for pattern in patterns),
            ]
        if self.complete:
            patterns += [
                GetOfTuple(),
                rules.KnownScale(),
                moving.MoveRelu(),
                moving.MoveThroughSplit(),
                moving.MoveThroughTopK(),
                rules.Optional(frozenset(self.optional_qnn_ops) - registered.keys()),
                rules.AddBias(op),
                rules.MoveAverage(op),
            ]
            patterns += [rules.MoveClip(op)] if self.use_qat else []
            patterns += [rules.QuantizeBefore(op), rules.BinaryOnIntegers(op), rules.FunctionOfBytes(op)]
            patterns.append(rules.Rescale(op))
        rewrite(op, patterns)
        if self.hard_fail:
            rules.require_all(op)
