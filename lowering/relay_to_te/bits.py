"""The compute of dense layers with weights of a few bits, which become floats where they are used."""

from __future__ import annotations

from ... import te
from ...dialects.relay import bits as relay
from ...dialects.relay.operator import Operator, shape_of
from ...te import Expr, Tensor
from .stages import DEQUANTIZED, dtype_of, rounded, shape, wide


def dense_bits(op: Operator, data: Tensor, words: Tensor, scales: Tensor, offsets: Tensor | None) -> Tensor:
    """The sum goes over blocks, the words of a block and the integers of a word.

    A stage has the weights as floats; the schedule says whether they are kept for several tiles of rows.
    """
    bits, per_word = op.signature.int("bits"), relay.WORD // op.signature.int("bits")
    panels, width = shape(words)[0], shape(words)[2] if len(shape(words)) == 3 else 1
    blocks = shape(scales)[1]
    count = shape(words)[1] // blocks
    number = wide(dtype_of(op))

    def weight(n: Expr, kb: Expr, kw: Expr, kp: Expr, lane: Expr) -> Expr:
        def at(x: Tensor, k: Expr) -> Expr:
            return x(n, k, lane) if len(shape(x)) == 3 else x(n, k)

        up = te.shift_left(at(words, kb * count + kw), relay.WORD - bits - kp * bits)
        value = te.shift_right(up, relay.WORD - bits).astype(number) * at(scales, kb).astype(number)
        return value if offsets is None else value + at(offsets, kb).astype(number)

    attrs, names = {"keep": True}, ("n", "kb", "kw", "kp", "lane")
    weights = te.compute((panels, blocks, count, per_word, width), weight, "weights", DEQUANTIZED, attrs, names)
    kb, kw, kp = (te.reduce_axis((0, n), name) for n, name in ((blocks, "kb"), (count, "kw"), (per_word, "kp")))

    def element(m: Expr, n: Expr) -> Expr:
        factor = data(m, (kb * count + kw) * per_word + kp).astype(number)
        return te.sum(factor * weights(n // width, kb, kw, kp, n % width), axis=[kb, kw, kp])

    total = te.compute(shape_of(op.results[0]), element, "dense_bits", "dense_pack")
    return rounded(total, dtype_of(op))


TABLE = {relay.DenseBitsOp: dense_bits}
