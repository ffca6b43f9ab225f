"""relay-qnn-canonicalize: operators on quantised tensors become arithmetic, products of them apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name, numpy_dtype
from ...dialects.relay import elementwise as ew
from ...dialects.relay import qnn, qnn_elementwise, qnn_products
from ...dialects.relay.attributes import Value, to_python
from ...dialects.relay.canonicalization.constant_operands import constant_value, erase_unused
from ...dialects.relay.convolution_transpose import Conv2DTransposeOp
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.evaluation import evaluate
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.transform import ConcatenateOp, ExpandDimsOp, ReshapeOp, TakeOp
from ...provenance.rewrite import rewrite
from ...support.dtypes import GREATEST, Array, is_float, limits


class Arithmetic:
    """The operators that one match makes, in order.

    written_out: quantise and dequantise are arithmetic, too.
    """

    def __init__(self, module: ModuleOp, written_out: bool = False):
        self.module = module
        self.written_out = written_out
        self.made: list[Operation] = []

    def add(self, op: type[Operator], *operands: SSAValue, **attributes: Value) -> SSAValue:
        self.made.append(op(*operands, location=None, **attributes))
        return self.made[-1].results[0]

    def constant(self, array: Array, hint: str = "const") -> SSAValue:
        self.made.append(ConstantOp.of(array, self.module, hint))
        return self.made[-1].results[0]

    def cast(self, value: SSAValue, dtype: str) -> SSAValue:
        return value if dtype_name(element_of(value)) == dtype else self.add(ew.CastOp, value, dtype=dtype)

    def spread(self, value: SSAValue, axis: int, rank: int) -> SSAValue:
        """A scale or zero point as it broadcasts to data of a rank."""
        own = shape_of(value)
        if len(own) != 1:
            return value
        if own == (1,):
            return self.add(ReshapeOp, value, newshape=())
        trailing = rank - 1 - axis % rank
        return self.add(ExpandDimsOp, value, axis=1, num_newaxis=trailing) if trailing else value

    def parameters(self, scale: SSAValue, zero_point: SSAValue, axis: int, rank: int) -> tuple[SSAValue, SSAValue]:
        """A scale and zero points as they broadcast to data of a rank; one zero point where all are 0."""
        if is_zero(zero_point, self.module):
            zero_point = self.constant(np.zeros((), np.int32), "zero_point")
        return self.spread(scale, axis, rank), self.spread(zero_point, axis, rank)

    def dequantized(
        self, x: SSAValue, scale: SSAValue, zero_point: SSAValue, axis: int = -1, dtype: str = "float32"
    ) -> SSAValue:
        rank = len(shape_of(x))
        if not self.written_out:
            return self.add(qnn.DequantizeOp, x, *self.parameters(scale, zero_point, axis, rank), out_dtype=dtype)
        steps = x if is_float(dtype_name(element_of(x))) else self.centred(x, zero_point, axis)
        scale = self.cast(self.spread(scale, axis, rank), "float32")
        return self.cast(self.add(ew.MultiplyOp, self.cast(steps, "float32"), scale), dtype)

    def centred(self, x: SSAValue, zero_point: SSAValue, axis: int) -> SSAValue:
        """Return the distance of integers from their zero point, as int32."""
        wide = self.cast(x, "int32")
        if is_zero(zero_point, self.module):
            return wide
        return self.add(ew.SubtractOp, wide, self.spread(zero_point, axis, len(shape_of(x))))

    def quantized(self, x: SSAValue, scale: SSAValue, zero_point: SSAValue, dtype: str, axis: int = -1) -> SSAValue:
        rank = len(shape_of(x))
        if not self.written_out:
            return self.add(qnn.QuantizeOp, x, *self.parameters(scale, zero_point, axis, rank), out_dtype=dtype)
        scale = self.cast(self.spread(scale, axis, rank), "float32")
        steps = self.add(ew.DivideOp, self.cast(x, "float32"), scale)
        return self.rounded(steps, zero_point, dtype, axis)

    def multiply_add(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """`a * b + c` of float32 numbers, of which `a` may be bytes, rounded once."""
        if not self.written_out:
            return self.add(qnn_elementwise.MultiplyAddOp, a, b, c)
        a, b, c = (self.cast(value, "float64") for value in (a, b, c))
        return self.cast(self.add(ew.AddOp, self.add(ew.MultiplyOp, a, b), c), "float32")

    def rounded(
        self, steps: SSAValue, zero_point: SSAValue, dtype: str, axis: int = -1, rounding: str = "TOEVEN"
    ) -> SSAValue:
        """Numbers of steps as numbers of a dtype from the zero point on; rounding: as of qnn.requantize."""
        even = is_float(dtype) or rounding == "TOEVEN"
        if even and not self.written_out and dtype_name(element_of(steps)) == "float32":
            return self.quantized(steps, self.constant(np.ones((), np.float32), "one"), zero_point, dtype, axis)
        low, high = (-GREATEST[dtype], GREATEST[dtype]) if is_float(dtype) else limits(dtype)
        if not is_float(dtype):
            if rounding == "TOEVEN":
                steps = self.add(ew.RoundOp, steps)
            if not is_zero(zero_point, self.module):
                start = self.spread(zero_point, axis, len(shape_of(steps)))
                steps = self.add(ew.AddOp, steps, self.cast(start, dtype_name(element_of(steps))))
            if rounding != "TOEVEN":
                steps = self.without_halves(steps, away=rounding == "TONEAREST")
        return self.cast(self.add(ew.ClipOp, steps, a_min=float(low), a_max=float(high)), dtype)

    def without_halves(self, steps: SSAValue, *, away: bool) -> SSAValue:
        """The nearest whole numbers; halves go up, or `away` from zero."""
        if not away:
            half = self.constant(np.array(0.5, numpy_dtype(element_of(steps))), "half")
            return self.add(ew.FloorOp, self.add(ew.AddOp, steps, half))
        whole = self.add(ew.TruncOp, steps)
        rest = self.add(ew.SubtractOp, steps, whole)
        return self.add(ew.AddOp, whole, self.add(ew.TruncOp, self.add(ew.AddOp, rest, rest)))

    def instead(self, op: Operation, value: SSAValue, rewriter: PatternRewriter) -> None:
        """Let `value` be the result of `op`."""
        operands = list(op.operands)
        rewriter.replace(op, self.made, [value])
        erase_unused(operands, rewriter)


def is_zero(value: SSAValue, module: ModuleOp) -> bool:
    """Return whether a zero point is known to be 0."""
    number = constant_value(value, module)
    return number is not None and not number.astype(np.int64).any()


@dataclass
class Canonical(RewritePattern):
    """Shared by the patterns."""

    module: ModuleOp
    written_out: bool

    def work(self) -> Arithmetic:
        return Arithmetic(self.module, self.written_out)

    def is_plain(self, op: qnn.Scaled) -> bool:
        """Return whether an operator stays as it is: its parameters have no axes."""
        return not self.written_out and not any(map(shape_of, op.operands[1:]))


class Quantize(Canonical):
    """Its scale and zero point broadcast, and are one number each where one will do."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: qnn.QuantizeOp, rewriter: PatternRewriter, /) -> None:
        if self.is_plain(op):
            return
        work, sig = self.work(), op.signature
        result = work.quantized(op.data, op.output_scale, op.output_zero_point, sig.str("out_dtype"), sig.int("axis"))
        work.instead(op, result, rewriter)


class Dequantize(Canonical):
    """Its scale and zero point broadcast, and are one number each where one will do."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: qnn.DequantizeOp, rewriter: PatternRewriter, /) -> None:
        if self.is_plain(op):
            return
        work, sig = self.work(), op.signature
        parameters = op.input_scale, op.input_zero_point, sig.int("axis")
        work.instead(op, work.dequantized(op.data, *parameters, sig.str("out_dtype")), rewriter)


class Requantize(Canonical):
    """Requantise by the quotient of the scales in floats, or by an integer multiplier, which must be known."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: qnn.RequantizeOp, rewriter: PatternRewriter, /) -> None:
        work, sig = self.work(), op.signature
        axis, rank, dtype = sig.int("axis"), len(shape_of(op.data)), sig.str("out_dtype")
        if (number := sig.str("compute_dtype")) in qnn.FLOAT_COMPUTE:
            scales = (work.spread(scale, axis, rank) for scale in (op.input_scale, op.output_scale))
            ratio = work.add(ew.DivideOp, *(work.cast(scale, number) for scale in scales))
            if number == "float32":
                steps = work.dequantized(op.data, ratio, op.input_zero_point, axis)
            else:
                data = work.centred(op.data, op.input_zero_point, axis)
                steps = work.add(ew.MultiplyOp, work.cast(data, number), ratio)
            result = work.rounded(steps, op.output_zero_point, dtype, axis, sig.str("rounding"))
            work.instead(op, result, rewriter)
            return
        data = work.centred(op.data, op.input_zero_point, axis)
        scales = [constant_value(scale, self.module) for scale in (op.input_scale, op.output_scale)]
        if scales[0] is None or scales[1] is None:
            sig.fail("constant scales, as compute_dtype is no float", "scales that are computed")
        multiplier, shift = qnn.fixed_point(scales[0].astype(np.float64) / scales[1].astype(np.float64))
        # As many axes as the data: fewer would not say which of them the numbers go along.
        along = [-1 if k == axis % rank else 1 for k in range(rank)] if multiplier.size > 1 else []
        left, right, required = qnn.split_shifts(shift)
        factors = [work.constant(array.reshape(along)) for array in (multiplier, left, right)]
        rounding = "TONEAREST" if sig.str("rounding") == "TONEAREST" else "UPWARD"
        moved = work.add(qnn.FixedPointMultiplyPerAxisOp, data, *factors, **required, rounding=rounding)
        if not is_zero(op.output_zero_point, self.module):
            moved = work.add(ew.AddOp, moved, work.spread(op.output_zero_point, axis, rank))
        low, high = limits(dtype)
        work.instead(op, work.cast(work.add(ew.ClipOp, moved, a_min=float(low), a_max=float(high)), dtype), rewriter)


class TransposedConvolution(Canonical):
    """A transposed convolution of quantised tensors becomes one of int32, on values above the zero points."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: qnn_products.Conv2DTransposeOp, rewriter: PatternRewriter, /) -> None:
        work = self.work()
        data = work.centred(op.data, op.input_zero_point, 1)
        weight = work.centred(op.weight, op.kernel_zero_point, 1)
        kept = {name: to_python(value) for name, value in op.properties.items()}
        work.instead(op, work.add(Conv2DTransposeOp, data, weight, **kept), rewriter)


class OfOneByte(Canonical):
    """A function of the 256 numbers of its dtype is a table."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, qnn_elementwise.Unary) or isinstance(op, qnn_elementwise.SoftmaxOp):
            return
        dtype = dtype_name(element_of(op.x))
        parameters = [constant_value(value, self.module) for value in op.operands[1:]]
        constants = [value for value in parameters if value is not None and value.size == 1]
        if dtype not in ("int8", "uint8") or len(constants) < len(parameters):
            return
        work, (low, high) = self.work(), map(int, limits(dtype))
        numbers = np.arange(low, high + 1).astype(dtype)
        (table,) = evaluate(op, [numbers, *(value.reshape(()) for value in constants)])
        index = work.cast(op.x, "int32")
        if low:
            index = work.add(ew.SubtractOp, index, work.constant(np.array(low, np.int32), "least"))
        work.instead(op, work.add(TakeOp, work.constant(table, "table"), index, axis=0), rewriter)


class OfReals(Canonical):
    """An operator on quantised tensors is one on real numbers between dequantisation and quantisation."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        match op:
            case qnn_elementwise.Binary():
                work, dtype = self.work(), dtype_name(element_of(op.lhs))
                none = work.constant(np.zeros((), np.int32), "zero_point")
                work.instead(op, work.rounded(_steps(work, op), none, dtype), rewriter)
            case qnn_elementwise.Unary():
                work = self.work()
                values, dtype = list(op.operands), dtype_name(element_of(op.operands[0]))
                if isinstance(op, qnn_elementwise.HardswishOp):
                    number = work.dequantized(values[0], values[1], values[2])
                    three, sixth = (work.constant(np.array(one, np.float32)) for one in (3, 1 / 6))
                    above = work.add(ew.ClipOp, work.add(ew.AddOp, number, three), a_min=0.0, a_max=6.0)
                    result = work.add(ew.MultiplyOp, number, work.add(ew.MultiplyOp, above, sixth))
                else:
                    kept = {name: to_python(value) for name, value in op.properties.items()}
                    result = work.add(op.REAL, work.dequantized(values[0], values[1], values[2]), **kept)
                work.instead(op, work.quantized(result, values[-2], values[-1], dtype), rewriter)
            case qnn_elementwise.ConcatenateOp():
                self._concatenate(op, rewriter)
            case _:
                pass

    def _concatenate(self, op: qnn_elementwise.ConcatenateOp, rewriter: PatternRewriter) -> None:
        work, dtype = self.work(), dtype_name(element_of(op.data[0]))
        parts: list[SSAValue] = []
        for x, scale, zero in zip(op.data, op.input_scales, op.input_zero_points, strict=True):
            if self._same(scale, op.output_scale) and self._same(zero, op.output_zero_point):
                parts.append(x)
            else:
                parts.append(
                    work.quantized(work.dequantized(x, scale, zero), op.output_scale, op.output_zero_point, dtype)
                )
        work.instead(op, work.add(ConcatenateOp, *parts, axis=op.signature.int("axis")), rewriter)

    def _same(self, first: SSAValue, second: SSAValue) -> bool:
        return same_number(first, second, self.module)


def _steps(work: Arithmetic, op: qnn_elementwise.Binary) -> SSAValue:
    """Compute `op.steps`."""
    sig, rank = op.signature, len(shape_of(op.result))
    spread = [(value, sig.int("lhs_axis"), len(shape_of(op.lhs))) for value in (op.lhs_scale, op.lhs_zero_point)]
    spread += [(value, sig.int("rhs_axis"), len(shape_of(op.rhs))) for value in (op.rhs_scale, op.rhs_zero_point)]
    spread += [(value, -1, rank) for value in (op.output_scale, op.output_zero_point)]
    scale, zero, other_scale, other_zero, new_scale, new_zero = (
        work.cast(work.spread(*parameter), "float32") for parameter in spread
    )
    if isinstance(op, qnn_elementwise.Sum):
        if op.SIGN < 0:
            other_scale = work.add(ew.NegativeOp, other_scale)
        ratio, other = (work.add(ew.DivideOp, value, new_scale) for value in (scale, other_scale))
        start = work.multiply_add(ratio, zero, work.add(ew.MultiplyOp, other, other_zero))
        start = work.add(ew.SubtractOp, new_zero, start)
        return work.multiply_add(op.lhs, ratio, work.multiply_add(op.rhs, other, start))
    left, right = (
        work.add(ew.SubtractOp, work.cast(x, "float32"), z) for x, z in ((op.lhs, zero), (op.rhs, other_zero))
    )
    ratio = work.add(ew.DivideOp, work.add(ew.MultiplyOp, scale, other_scale), new_scale)
    product = work.add(ew.MultiplyOp, work.add(ew.MultiplyOp, left, right), ratio)
    return work.add(ew.AddOp, product, new_zero)


def same_number(one: SSAValue, other: SSAValue, module: ModuleOp) -> bool:
    """Return whether two scales or zero points are known to be equal."""
    if one is other:
        return True
    values = [constant_value(value, module) for value in (one, other)]
    if values[0] is None or values[1] is None:
        return False
    return values[0].size == values[1].size and bool((values[0].reshape(-1) == values[1].reshape(-1)).all())


@dataclass(frozen=True)
class QnnCanonicalizePass(ModulePass):
    """Writes quantised operators as arithmetic that fuses, as TVM's qnn.Canonicalize; halves go to even.

    A function of one number of 8 bits is a table, as far as its scales and zero points are known.

    Before: any relay module.
    After: of the operators on quantised tensors there are the products (`qnn.conv2d`, `qnn.dense`,
    `qnn.batch_matmul`), which make int32 of bytes, `qnn.avg_pool2d`, and `qnn.quantize` and `qnn.dequantize` of scales
    and zero points that broadcast as numpy's: each is one stage of a kernel.
    Locations: what an operator becomes is located at it.

    written_out: whether quantise and dequantise are arithmetic, too, as TVM has them.

    ```mlir
    %0 = relay.qnn.requantize %x, %old, %zero, %new, %start {compute_dtype = "float32", rounding = "TOEVEN"}
          : (tensor<4xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<4xi8> loc("rq")
    // becomes
    %0 = relay.divide %old, %new : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("rq")
    %1 = relay.qnn.dequantize %x, %0, %zero : (tensor<4xi32>, tensor<f32>, tensor<i32>) -> tensor<4xf32> loc("rq")
    %one = relay.constant dense<1.0> : tensor<f32> loc("rq")
    %2 = relay.qnn.quantize %1, %one, %start : (tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<4xi8> loc("rq")
    ```
    """

    name = "relay-qnn-canonicalize"
    written_out: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kinds = (Quantize, Dequantize, Requantize, TransposedConvolution, OfOneByte, OfReals)
        rewrite(op, [kind(op, self.written_out) for kind in kinds], recursive=False)
