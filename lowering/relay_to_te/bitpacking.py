"""Computes of the operators of bits of many numbers in one word."""

from __future__ import annotations

from ... import te
from ...dialects.relay.bitpacking import WIDTHS, BitpackOp
from ...dialects.relay.operator import Operator, shape_of
from ...te import Expr, Tensor
from .stages import compute, dtype_of, label, shape


def bitpack(op: Operator, x: Tensor) -> Tensor:
    sig, word = op.signature, dtype_of(op)
    rank, width = len(shape(x)), WIDTHS[word]
    axis, plane = sig.int("pack_axis") % rank, sig.int("bit_axis") % (rank + 1)

    def element(*i: Expr) -> Expr:
        words = te.const(0, word)
        point = [*i[:plane], *i[plane + 1 :]]
        first = point[axis] * width
        for number in range(width):
            point[axis] = first + number
            bit = te.bitwise_and(te.shift_right(x(*point).astype(word), i[plane].astype(word)), te.const(1, word))
            words = te.bitwise_or(te.shift_left(words, te.const(1, word)), bit)
        return words

    return compute(shape_of(op.results[0]), element, label(op))


TABLE = {BitpackOp: bitpack}
