"""Operators that only pick elements, moved before dequantisations: they pick integers then."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import dtype_name
from ...dialects.relay import elementwise as ew
from ...dialects.relay import rearrange, sorting
from ...dialects.relay.attributes import Value, to_python
from ...dialects.relay.canonicalization.constant_operands import erase_unused
from ...dialects.relay.operator import element_of, shape_of
from ...dialects.relay.qnn import DequantizeOp
from ...provenance.rewrite import stands_for

BYTES = ("int8", "uint8")


def real(value: SSAValue, *dtypes: str) -> DequantizeOp | None:
    """Return the op that made floats of integers with one scale and zero point; None for any other."""
    op = value.owner
    if not isinstance(op, DequantizeOp) or dtype_name(element_of(op.result)) != "float32":
        return None
    if dtypes and dtype_name(element_of(op.data)) not in dtypes:
        return None
    return op if is_one(op.input_scale) and is_one(op.input_zero_point) else None


def is_one(value: SSAValue) -> bool:
    return shape_of(value) in ((), (1,))


def attributes_of(op: Operation) -> dict[str, Value]:
    return {name: to_python(value) for name, value in op.properties.items()}


class MoveRelu(RewritePattern):
    """relu(dequantize(x)) -> dequantize(maximum(x, zero point))"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.ReluOp, rewriter: PatternRewriter, /) -> None:
        inner = op.data.owner
        if not isinstance(inner, DequantizeOp) or not is_one(inner.input_zero_point):
            return
        dtype = dtype_name(element_of(inner.data))
        zero = ew.CastOp(inner.input_zero_point, dtype=dtype)
        least = ew.MaximumOp(inner.data, zero)
        scales = inner.input_scale, inner.input_zero_point
        outer = DequantizeOp(stands_for(least, op), *scales, axis=inner.signature.int("axis"))
        rewriter.replace(op, (stands_for(zero, op), least, stands_for(outer, inner)))
        erase_unused([inner.result], rewriter)


class MoveThroughSplit(RewritePattern):
    """split(dequantize(x)) -> dequantize of each part"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: rearrange.SplitOp, rewriter: PatternRewriter, /) -> None:
        if (inner := real(op.data, *BYTES)) is None:
            return
        parts = stands_for(rearrange.SplitOp(inner.data, location=None, **attributes_of(op)), op)
        outer = [
            stands_for(DequantizeOp(part, inner.input_scale, inner.input_zero_point), inner) for part in parts.results
        ]
        rewriter.replace(op, (parts, *outer), [dequantize.result for dequantize in outer])
        erase_unused([inner.result], rewriter)


class MoveThroughTopK(RewritePattern):
    """topk(dequantize(x)) -> dequantize of the values"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: sorting.TopKOp, rewriter: PatternRewriter, /) -> None:
        if (inner := real(op.data, *BYTES)) is None:
            return
        chosen = stands_for(sorting.TopKOp(inner.data, location=None, **attributes_of(op)), op)
        results: list[SSAValue] = list(chosen.results)
        ops: list[Operation] = [chosen]
        if op.signature.str("ret_type") != "indices":
            outer = stands_for(DequantizeOp(results[0], inner.input_scale, inner.input_zero_point), inner)
            ops.append(outer)
            results[0] = outer.result
        rewriter.replace(op, ops, results)
        erase_unused([inner.result], rewriter)
