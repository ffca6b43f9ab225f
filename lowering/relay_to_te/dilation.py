"""Computes of the dilations."""

from __future__ import annotations

from ... import te
from ...dialects.relay import dilation as relay
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.operator import Operator, shape_of
from ...support.dtypes import is_float
from ...te import Expr, Tensor
from .stages import compute, dtype_of, label, rounded, wide


def dilate(op: Operator, x: Tensor) -> Tensor:
    sig = op.signature
    strides, value = sig.ints("strides"), sig.get("dilation_value")
    between = te.const(value if is_float(x.dtype) else int(value), x.dtype)

    def element(*i: Expr) -> Expr:
        pairs = list(zip(i, strides, strict=True))
        there = [(at % stride).equal(0) for at, stride in pairs if stride > 1]
        number = x(*(at // stride if stride > 1 else at for at, stride in pairs))
        return te.select(te.all(*there), number, between) if there else number

    return compute(shape_of(op.results[0]), element, label(op))


def dilation2d(op: Operator, x: Tensor, weight: Tensor) -> Tensor:
    sig, number = op.signature, wide(dtype_of(op))
    last = sig.str("data_layout") == "NHWC"
    axes = (1, 2) if last else (2, 3)
    kernel = relay.Dilation2DOp.kernel(sig)
    k = [te.reduce_axis((0, kernel[letter]), name=f"k{letter.lower()}") for letter in "HW"]
    windows = list(zip(axes, k, sig.pair("strides"), sig.pair("dilations"), strict=True))
    before = expand_padding(sig, sig.ints("padding"))[:2]

    def element(*i: Expr) -> Expr:
        point = list(i)
        for (axis, tap, stride, dilation), padding in zip(windows, before, strict=True):
            point[axis] = i[axis] * stride + tap * dilation - padding
        added = weight(*k, i[3]) if last else weight(i[1], *k)
        return te.max(x(*point, otherwise=0).astype(number) + added.astype(number), axis=k)

    total = te.compute(shape_of(op.results[0]), element, label(op).replace(".", "_"), "pool_max")
    return rounded(total, dtype_of(op))


TABLE = {
    relay.DilateOp: dilate,
    relay.Dilation2DOp: dilation2d,
}
