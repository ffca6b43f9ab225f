"""Transposed convolutions as they are declared: each element gathers what adds to it.

`relay-legalize` makes convolutions of them, which are faster.
"""

from __future__ import annotations

from ... import te
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.convolution_transpose import (
    Conv1DTransposeOp,
    Conv2DTransposeOp,
    Conv3DTransposeOp,
    ConvTranspose,
)
from ...dialects.relay.operator import Operator, shape_of
from ...te import Expr, Tensor
from .stages import compute, dtype_of, label, rounded, shape, wide


def conv_transpose(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    assert isinstance(op, ConvTranspose)
    sig, rank = op.signature, len(op.SPATIAL)
    strides, dilation = sig.ints("strides"), sig.ints("dilation")
    before = expand_padding(sig, sig.ints("padding"), rank)[:rank]
    depth, per_group, *kernel = shape(weight)
    depth //= sig.int("groups")
    number = wide(dtype_of(op))
    ic = te.reduce_axis((0, depth), name="ic")
    k = [te.reduce_axis((0, extent), name=f"k{axis}") for axis, extent in enumerate(kernel)]

    def gathered(*i: Expr) -> Expr:
        n, oc, *place = i
        channel = oc // per_group * depth + ic
        sources = [at + p - tap * d for at, p, tap, d in zip(place, before, k, dilation, strict=True)]
        point = [source // s for source, s in zip(sources, strides, strict=True)]
        hit = [(source % s).equal(0) for source, s in zip(sources, strides, strict=True) if s > 1]
        value = data(n, channel, *point, otherwise=0).astype(number) * weight(channel, oc % per_group, *k).astype(
            number
        )
        return te.sum(value, axis=[ic, *k], where=te.all(*hit) if hit else None)

    return rounded(compute(shape_of(op.results[0]), gathered, label(op), tag="comm_reduce"), dtype_of(op))


TABLE = dict.fromkeys((Conv1DTransposeOp, Conv2DTransposeOp, Conv3DTransposeOp), conv_transpose)
