"""Computes of the operators that put together what windows of an image hold."""

from __future__ import annotations

from ... import te
from ...dialects.relay import windows as relay
from ...dialects.relay.operator import Operator, shape_of
from ...te import Expr, Tensor
from .stages import dtype_of, label, rounded, wide
from .transform import flat_index


def col2im(op: Operator, x: Tensor) -> Tensor:
    """For each element the sum over places in a block; what no window has there adds nothing."""
    sig = op.signature
    block, pads, strides = sig.ints("block_shape"), sig.ints("pads"), sig.ints("strides")
    counts, number = relay.Col2ImOp.windows(sig), wide(dtype_of(op))
    k = [te.reduce_axis((0, extent), name=f"k{axis}") for axis, extent in enumerate(block)]

    def element(*i: Expr) -> Expr:
        tests: list[Expr] = []
        window: list[Expr] = []
        for axis, offset in enumerate(k):
            at = i[2 + axis] + pads[axis] - offset * sig.ints("dilations")[axis]
            position = at // strides[axis]
            tests += [position >= 0, position < counts[axis]]
            if strides[axis] > 1:
                tests.append((at % strides[axis]).equal(0))
            window.append(position)
        channel = flat_index((i[1], *k), (1, *block))
        value = x(i[0], channel, flat_index(window, counts), otherwise=0).astype(number)
        return te.sum(te.if_then_else(te.all(*tests), value, te.const(0, number)), axis=k)

    total = te.compute(shape_of(op.results[0]), element, label(op), "comm_reduce")
    return rounded(total, dtype_of(op))


TABLE = {relay.Col2ImOp: col2im}
