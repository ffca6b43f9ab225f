"""Computes of the operators that make tensors out of nothing, or of one number."""

from __future__ import annotations

from ... import te
from ...dialects.relay import creation as relay
from ...dialects.relay.operator import Operator, shape_of
from ...te import Tensor
from .stages import compute, dtype_of, label, shape


def full(op: Operator, value: Tensor) -> Tensor:
    dtype = dtype_of(op)
    return compute(shape_of(op.results[0]), lambda *i: value(*[0] * len(shape(value))).astype(dtype), label(op))


def full_like(op: Operator, x: Tensor, value: Tensor) -> Tensor:
    return full(op, value)


def zeros(op: Operator) -> Tensor:
    return compute(shape_of(op.results[0]), lambda *i: te.const(0, dtype_of(op)), label(op))


def ones(op: Operator) -> Tensor:
    return compute(shape_of(op.results[0]), lambda *i: te.const(1, dtype_of(op)), label(op))


def arange(op: Operator) -> Tensor:
    """Computed in float64, as it is evaluated."""
    sig, dtype = op.signature, dtype_of(op)
    start, step = te.const(sig.get("start"), "float64"), te.const(sig.get("step"), "float64")
    return compute(shape_of(op.results[0]), lambda *i: (start + i[0].astype("float64") * step).astype(dtype), label(op))


def sizes(op: Operator) -> Tensor:
    """Each number where it belongs, by the place in row-major order."""
    values, extents, dtype = op.signature.ints("values"), op.signature.ints("shape"), dtype_of(op)

    def element(*i: te.Axis) -> te.Expr:
        position: te.Expr = te.const(0, "int32")
        for axis, extent in zip(i, extents, strict=True):
            position = position * extent + axis
        size: te.Expr = te.const(values[-1] if values else 0, dtype)
        for at in range(len(values) - 2, -1, -1):
            size = te.select(position.equal(at), te.const(values[at], dtype), size)
        return size

    return compute(shape_of(op.results[0]), element, label(op))


TABLE = {
    relay.FullOp: full,
    relay.FullLikeOp: full_like,
    relay.ZerosOp: zeros,
    relay.OnesOp: ones,
    relay.ArangeOp: arange,
    relay.SizesOp: sizes,
}
