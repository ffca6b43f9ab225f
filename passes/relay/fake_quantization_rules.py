"""The part of `relay-fake-quantization-to-integer` for all operators that TVM's pass knows, on request.

Dequantisations move behind what works on integers as it does on the numbers; quantisations that then read them become
one rescaling. Functions of one tensor are operators of `qnn`, or tables of all bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name
from ...dialects.relay import elementwise as ew
from ...dialects.relay import matmul, qnn_elementwise, reduce, transform
from ...dialects.relay.canonicalization.constant_operands import (
    constant_operands,
    constant_value,
    erase_unused,
    is_any_open,
    sole_user,
)
from ...dialects.relay.canonicalization.fold import fold
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.evaluation import evaluate
from ...dialects.relay.interpret import Evaluator
from ...dialects.relay.normalization import SoftmaxOp
from ...dialects.relay.operator import Operator, element_of, operators_of, shape_of
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp, RequantizeOp
from ...dialects.relay.resize import Resized
from ...dialects.relay.traits import Averages
from ...provenance.diagnostics import message
from ...provenance.rewrite import stands_for
from ...support.dtypes import Array, limits
from ...support.errors import PipelineError
from .fake_quantization_moves import BYTES, attributes_of, is_one, real
from .qnn_canonicalize import Arithmetic

_QUANTIZED: Mapping[type[Operator], type[Operator]] = {
    op.REAL: op
    for op in operators_of(qnn_elementwise)
    if issubclass(op, qnn_elementwise.Unary | qnn_elementwise.Binary) and hasattr(op, "REAL")
}
"""Operators on numbers -> those on quantised ones."""
_FINE = 256
"""Averages are of so many parts of a step."""
_REGION = 32
"""The most operators that become one table."""


def _scalar(value: SSAValue, module: ModuleOp) -> Array | None:
    array = constant_value(value, module)
    return None if array is None or array.size != 1 else array.reshape(())


def _in_one_step(op: QuantizeOp) -> bool:
    """Return whether one scale and zero point are for all elements."""
    return is_one(op.output_scale) and is_one(op.output_zero_point)


@dataclass
class Rescale(RewritePattern):
    """quantize(dequantize(x)) -> requantize(x)"""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, DequantizeOp) or not _in_one_step(op):
            return
        operands = (inner.data, inner.input_scale, inner.input_zero_point, op.output_scale, op.output_zero_point)
        constants = [constant_value(value, self.module) for value in operands[1:]]
        if any(value is None for value in constants):
            return
        dtype, axis = op.signature.str("out_dtype"), inner.signature.int("axis")
        if dtype not in (*BYTES, "int16", "int32"):
            return
        used = list(op.operands)
        rewriter.replace(op, RequantizeOp(*operands, axis=axis, out_dtype=dtype))
        erase_unused(used, rewriter)


class KnownScale(RewritePattern):
    """A product of scales that are known is a number."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.MultiplyOp, rewriter: PatternRewriter, /) -> None:
        user = sole_user(op.result)
        if isinstance(user, DequantizeOp) and user.input_scale is op.result:
            fold(op, rewriter)


@dataclass
class QuantizeBefore(RewritePattern):
    """quantize(f(x, y)) -> f(quantize(x), quantize(y)), for what only chooses among numbers."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if (
            not isinstance(inner, ew.MaximumOp | ew.MinimumOp | ew.ClipOp | transform.PadOp)
            or sole_user(inner.result) is None
        ):
            return
        scale, zero = (_scalar(value, self.module) for value in (op.output_scale, op.output_zero_point))
        if scale is None or zero is None:
            return
        kinds = [type(value.owner) for value in inner.operands]
        if DequantizeOp not in kinds or not set(kinds) <= {DequantizeOp, ConstantOp}:
            return
        dtype = op.signature.str("out_dtype")
        parts = [
            stands_for(QuantizeOp(value, op.output_scale, op.output_zero_point, out_dtype=dtype), op)
            for value in inner.operands
        ]
        if isinstance(inner, ew.ClipOp):
            bounds = clip_bounds(inner, scale, zero, dtype)
            new: Operator = ew.ClipOp(parts[0], a_min=bounds[0], a_max=bounds[1])
        else:
            new = type(inner)(*parts, location=None, **attributes_of(inner))
        rewriter.replace(op, (*parts, stands_for(new, inner)))
        rewriter.erase(inner)


def clip_bounds(op: ew.ClipOp, scale: Array, zero: Array, dtype: str) -> tuple[float, float]:
    """The bounds in steps of a scale, within the dtype."""
    low, high = limits(dtype)
    bounds = [
        float(np.clip(np.rint(bound.value.data / float(scale)) + float(zero), low, high))
        for bound in (op.a_min, op.a_max)
    ]
    return bounds[0], bounds[1]


@dataclass
class MoveClip(RewritePattern):
    """clip(dequantize(x)) -> dequantize(clip(x)), with bounds to the nearest step"""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.ClipOp, rewriter: PatternRewriter, /) -> None:
        if (inner := real(op.data)) is None:
            return
        scale, zero = (_scalar(value, self.module) for value in (inner.input_scale, inner.input_zero_point))
        if scale is None or zero is None:
            return
        low, high = clip_bounds(op, scale, zero, dtype_name(element_of(inner.data)))
        clipped = stands_for(ew.ClipOp(inner.data, a_min=low, a_max=high), op)
        outer = DequantizeOp(clipped, inner.input_scale, inner.input_zero_point)
        rewriter.replace(op, (clipped, stands_for(outer, inner)))
        erase_unused([inner.result], rewriter)


@dataclass
class Optional(RewritePattern):
    """quantize(f(dequantize(x))) -> qnn.f(x), for operators of which the integers give other values."""

    names: frozenset[str]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, SoftmaxOp) or inner.name.removeprefix("relay.") not in self.names:
            return
        source = real(inner.operands[0], op.signature.str("out_dtype"))
        if source is None or sole_user(op.data) is None or not _in_one_step(op):
            return
        scales = source.input_scale, source.input_zero_point, op.output_scale, op.output_zero_point
        quantized = _QUANTIZED[type(inner)](source.data, *scales, location=None, **attributes_of(inner))
        used = list(op.operands)
        rewriter.replace(op, stands_for(quantized, inner, op, source))
        erase_unused(used, rewriter)


@dataclass
class AddBias(RewritePattern):
    """A constant is added to a sum of products as an integer in its steps."""

    module: ModuleOp

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, matmul.BiasAddOp | ew.AddOp):
            return
        inner, bias = op.operands[0].owner, self._known(op.operands[1])
        if not isinstance(inner, DequantizeOp) or bias is None or dtype_name(element_of(inner.data)) != "int32":
            return
        scale = constant_value(inner.input_scale, self.module)
        zero = _scalar(inner.input_zero_point, self.module)
        if scale is None or zero is None or zero != 0 or bias.dtype != np.float32:
            return
        rank = len(shape_of(inner.data))
        if isinstance(op, matmul.BiasAddOp):
            bias = bias.reshape([-1 if axis == op.signature.int("axis") % rank else 1 for axis in range(rank)])
        steps = scale
        if scale.size > 1:
            axis = inner.signature.int("axis") % rank
            steps = scale.reshape([-1 if k == axis else 1 for k in range(rank)])
        numbers = np.rint(bias.astype(np.float64) / steps.astype(np.float64))
        if len(numbers.shape) > rank or np.abs(numbers).max(initial=0) > 2**30:
            return
        constant = ConstantOp.of(numbers.astype(np.int32), self.module, "bias")
        total = ew.AddOp(inner.data, constant)
        if total.result.type != inner.data.type:
            return
        outer = DequantizeOp(
            stands_for(total, op), inner.input_scale, inner.input_zero_point, axis=inner.signature.int("axis")
        )
        used = list(op.operands)
        rewriter.replace(op, (stands_for(constant, op), total, stands_for(outer, inner)))
        erase_unused(used, rewriter)

    def _known(self, value: SSAValue) -> Array | None:
        if isinstance(value.owner, DequantizeOp):
            arrays = constant_operands(value.owner, self.module)
            return None if arrays is None else evaluate(value.owner, arrays)[0]
        return constant_value(value, self.module)


@dataclass
class MoveAverage(RewritePattern):
    """Averages of integers, also those between the places of an image, are in finer steps those of the numbers."""

    module: ModuleOp

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (
            not isinstance(op, Operator)
            or not op.has_trait(Averages)
            or (inner := real(op.operands[0], *BYTES)) is None
        ):
            return
        if isinstance(op, Resized) and (op.selects(op.signature) or op.extrapolates(op.signature)):
            return
        if is_any_open(op) or 0 in shape_of(op.results[0]) or 0 in shape_of(inner.data):
            return
        build = Arithmetic(self.module)
        wide = build.add(ew.CastOp, inner.data, dtype="int32")
        centred = build.add(ew.SubtractOp, wide, inner.input_zero_point)
        if isinstance(op, reduce.MeanOp):
            parts = np.prod(shape_of(inner.data)) / np.prod(shape_of(op.result))
            total = build.add(reduce.SumOp, centred, **attributes_of(op))
        else:
            parts = float(_FINE)
            fine = build.add(ew.MultiplyOp, centred, build.constant(np.asarray(_FINE, np.int32)))
            total = build.add(type(op), fine, **attributes_of(op))
        scale = build.add(ew.MultiplyOp, inner.input_scale, build.constant(np.asarray(1 / parts, np.float32)))
        input_scale = constant_value(inner.input_scale, self.module)
        if input_scale is not None:
            scale = build.constant((input_scale.astype(np.float32) / np.float32(parts)).astype(np.float32), "scale")
        build.add(DequantizeOp, total, scale, build.constant(np.zeros((), np.int32), "zero_point"))
        kept = _needed(build.made)
        rewriter.replace(op, [stands_for(new, op, inner) for new in kept])
        erase_unused([inner.result], rewriter)


def _needed(ops: Sequence[Operation]) -> list[Operation]:
    """Return those of the new ops that the last one needs, itself included, and erase the others."""
    wanted = {ops[-1]}
    for op in reversed(ops):
        if op in wanted:
            wanted.update(value.owner for value in op.operands if isinstance(value.owner, Operation))
    for op in reversed(ops):
        if op not in wanted:
            op.erase()
    return [op for op in ops if op in wanted]


@dataclass
class BinaryOnIntegers(RewritePattern):
    """quantize(dequantize(x) + dequantize(y)) -> qnn.add(x, y), and the like.

    constants: True to quantise a constant now.
    """

    module: ModuleOp
    constants: bool = True

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        kind = _QUANTIZED.get(type(inner)) if isinstance(inner, ew.Binary) else None
        if not isinstance(inner, ew.Binary) or kind is None or sole_user(op.data) is None or not _in_one_step(op):
            return
        dtype = op.signature.str("out_dtype")
        sides = [real(value, dtype) for value in inner.operands]
        if dtype not in BYTES or not any(sides):
            return
        build = Arithmetic(self.module)
        quantized: list[tuple[SSAValue, SSAValue, SSAValue]] = []
        for value, side in zip(inner.operands, sides, strict=True):
            if side is not None:
                quantized.append((side.data, side.input_scale, side.input_zero_point))
            elif (
                self.constants
                and (constant := constant_value(value, self.module)) is not None
                and constant.size
                and np.isfinite(constant).all()
            ):
                quantized.append(_quantized(constant, dtype, build))
            else:
                return
        scales = [value for _, *pair in quantized for value in pair]
        build.add(kind, quantized[0][0], quantized[1][0], *scales, op.output_scale, op.output_zero_point)
        used = list(op.operands)
        ops = [stands_for(new, inner, op, *(side for side in sides if side is not None)) for new in build.made]
        rewriter.replace(op, ops)
        erase_unused(used, rewriter)


def _quantized(array: Array, dtype: str, build: Arithmetic) -> tuple[SSAValue, SSAValue, SSAValue]:
    """A constant in steps that reach from its least to its greatest element, and 0."""
    low, high = limits(dtype)
    least, most = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
    scale = np.float32((most - least) / (high - low) or 1.0)
    zero = np.int32(np.clip(np.rint(low - least / scale), low, high))
    numbers = np.clip(np.rint(array.astype(np.float32) / scale) + zero, low, high).astype(np.dtype(dtype))
    parts = (numbers, "const"), (np.asarray(scale), "scale"), (np.asarray(zero), "zero_point")
    data, step, start = (build.constant(part, hint) for part, hint in parts)
    return data, step, start


@dataclass
class FunctionOfBytes(RewritePattern):
    """quantize(f(dequantize(x))) -> qnn.f(x), or the place of x in a table of what f gives for all bytes."""

    module: ModuleOp

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        match = self._region(op)
        if match is None:
            return
        region, source = match
        scales = source.input_scale, source.input_zero_point, op.output_scale, op.output_zero_point
        dtype, own = op.signature.str("out_dtype"), dtype_name(element_of(source.data))
        used = list(op.operands)
        kind = _QUANTIZED.get(type(region[0])) if len(region) == 1 and isinstance(region[0], ew.Unary) else None
        if kind is not None and dtype == own:
            alpha = {"alpha": region[0].signature.get("alpha")} if "alpha" in kind.declared_attributes() else {}
            rewriter.replace(op, kind(source.data, *scales, location=None, **alpha))
        elif (table := self._table(op, region, source)) is not None:
            build = Arithmetic(self.module)
            places = source.data if own == "uint8" else build.add(ew.ReinterpretOp, source.data, dtype="uint8")
            wide = build.add(ew.CastOp, places, dtype="int32")
            build.add(transform.TakeOp, build.constant(table, "table"), wide, axis=0)
            rewriter.replace(op, [stands_for(new, *region, op, source) for new in build.made])
        else:
            return
        erase_unused(used, rewriter)

    def _region(self, op: QuantizeOp) -> tuple[list[Operator], DequantizeOp] | None:
        """The operators between one dequantisation and this, consumers first, if nothing else takes part."""
        if not _in_one_step(op):
            return None
        region: dict[Operator, None] = {}
        sources: set[Operation] = set()
        stack = [op.data]
        while stack:
            value = stack.pop()
            owner = value.owner
            if isinstance(owner, ConstantOp):
                if _scalar(value, self.module) is None:
                    return None
            elif (inner := real(value, *BYTES)) is not None:
                sources.add(inner)
            elif isinstance(owner, Operator) and owner.is_pointwise() and len(owner.results) == 1:
                if owner not in region:
                    region[owner] = None
                    stack += owner.operands
            else:
                return None
            if len(region) > _REGION or len(sources) > 1:
                return None
        inside = {*region, op}
        if (
            not region
            or not sources
            or any(use.operation not in inside for part in region for use in part.results[0].uses)
        ):
            return None
        (source,) = sources
        assert isinstance(source, DequantizeOp)
        shapes = {shape_of(part.results[0]) for part in region}
        return (list(region), source) if shapes == {shape_of(source.data)} else None

    def _table(self, op: QuantizeOp, region: Sequence[Operator], source: DequantizeOp) -> Array | None:
        """The results for all bytes, by the bits of a byte."""
        dtype = np.int8 if dtype_name(element_of(source.data)) == "int8" else np.uint8
        values: dict[SSAValue, Array] = {source.data: np.arange(256, dtype=np.uint8).view(dtype)}
        ops = {op, *region, source}
        for value in [value for inner in (source, *region, op) for value in inner.operands]:
            if value.owner not in ops and value not in values:
                if (array := _scalar(value, self.module)) is None:
                    return None
                values[value] = array
        assert op.parent is not None
        in_order = [inner for inner in op.parent.ops if inner in ops]
        return Evaluator(self.module).values(in_order, values)[op.result]


def require_all(module: ModuleOp) -> None:
    """Raise PipelineError where floats are computed between dequantisations and a quantisation."""
    for op in module.walk():
        if not isinstance(op, QuantizeOp):
            continue
        seen: set[Operator] = set()
        stack, dequantized = [op.data], False
        while stack:
            owner = stack.pop().owner
            if isinstance(owner, DequantizeOp):
                dequantized = True
            elif isinstance(owner, Operator) and owner not in seen:
                seen.add(owner)
                stack += owner.operands
        if dequantized and seen:
            first = next(iter(seen))
            raise PipelineError(
                message(
                    "relay-fake-quantization-to-integer",
                    "operators that there is a rule for",
                    first.name.removeprefix("relay."),
                    first.location,
                )
            )
