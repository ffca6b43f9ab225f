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
from ...dialects.relay.layout import logical_shape, parse_layout
from ...dialects.relay.operator import Operator, shape_of
from ...te import Expr, Tensor
from .stages import compute, dtype_of, label, rounded, shape, wide
from .transform import blocked_point


def conv_transpose(op: Operator, data: Tensor, weight: Tensor) -> Tensor:
    assert isinstance(op, ConvTranspose)
    sig, rank = op.signature, len(op.SPATIAL)
    strides, dilation = sig.ints("strides"), sig.ints("dilation")
    before = expand_padding(sig, sig.ints("padding"), rank)[:rank]
    plain, kernel_plain = "NC" + op.SPATIAL, "IO" + op.SPATIAL
    layouts = sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or sig.str("data_layout")
    filters = logical_shape(shape(weight), parse_layout(layouts[1]))
    depth, per_group, *kernel = (filters[letter] for letter in kernel_plain)
    depth //= sig.int("groups")
    number = wide(dtype_of(op))
    ic = te.reduce_axis((0, depth), name="ic")
    k = [te.reduce_axis((0, extent), name=f"k{axis}") for axis, extent in enumerate(kernel)]

    def gathered(*i: Expr) -> Expr:
        n, oc, *position = blocked_point(i, plain, layouts[2])
        channel = oc // per_group * depth + ic
        sources = [at + p - tap * d for at, p, tap, d in zip(position, before, k, dilation, strict=True)]
        point = [source // s for source, s in zip(sources, strides, strict=True)]
        hit = [(source % s).equal(0) for source, s in zip(sources, strides, strict=True) if s > 1]
        value = data(*blocked_point((n, channel, *point), layouts[0], plain), otherwise=0).astype(number)
        tap = weight(*blocked_point((channel, oc % per_group, *k), layouts[1], kernel_plain)).astype(number)
        return te.sum(value * tap, axis=[ic, *k], where=te.all(*hit) if hit else None)

    return rounded(compute(shape_of(op.results[0]), gathered, label(op), tag="comm_reduce"), dtype_of(op))


TABLE = dict.fromkeys((Conv1DTransposeOp, Conv2DTransposeOp, Conv3DTransposeOp), conv_transpose)
