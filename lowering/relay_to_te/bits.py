"""The computes of dense layers with weights of a few bits: as floats, or as bytes that are multiplied by bytes."""

from __future__ import annotations

from ... import te
from ...dialects.relay import bits as relay
from ...dialects.relay.operator import Operator, shape_of
from ...passes.relay.blocking import largest_divisor
from ...te import Expr, Tensor
from .stages import BYTES, DEQUANTIZED, compute, dtype_of, in_dtype, reduced_rows, rounded, shape, wide

_CHAIN = 8
"""Sums of four products each that are made before the next scale: as many as int16 holds of products of 4 bits."""
_LANES = 8
"""Numbers of a block beside each other of which the largest are found first."""


def _middle(bits: int) -> int:
    return 1 << bits >> 1


def dense_bits(op: Operator, data: Tensor, words: Tensor, scales: Tensor, offsets: Tensor | None) -> Tensor:
    """The sum goes over blocks, the words of a block and the integers of a word.

    A stage has the weights as floats; the schedule says whether they are kept for several tiles of rows.
    """
    if op.signature.get("int8_data"):
        return _of_bytes(op, data, words, scales, offsets)
    bits, per_word = op.signature.int("bits"), relay.WORD // op.signature.int("bits")
    panels, width = shape(words)[0], shape(words)[2] if len(shape(words)) == 3 else 1
    blocks = shape(scales)[1]
    count = shape(words)[1] // blocks
    number = wide(dtype_of(op))
    # The highest bit of each integer, which makes it signed.
    signs = sum(_middle(bits) << part * bits for part in range(per_word)) - (1 << relay.WORD)

    def weight(n: Expr, kb: Expr, kw: Expr, kp: Expr, lane: Expr) -> Expr:
        def at(x: Tensor, k: Expr) -> Expr:
            return x(n, k, lane) if len(shape(x)) == 3 else x(n, k)

        place = kp % relay.BYTES * 8 + kp // relay.BYTES * bits
        up = te.shift_left(te.bitwise_xor(at(words, kb * count + kw), signs), relay.WORD - bits - place)
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


def _of_bytes(op: Operator, data: Tensor, words: Tensor, scales: Tensor, offsets: Tensor | None) -> Tensor:
    """Data become bytes, each block of a row in steps of its own; weights become bytes in registers.

    The integers of weights are at least 0. The middle of their range, which they are above, times the sum of the data
    is where each chain of products begins.
    """
    bits = op.signature.int("bits")
    (_, per_row, *_), blocks = shape(words), shape(scales)[1]
    planes, count = relay.PER_BYTE // bits, per_row // blocks
    chain = largest_divisor(count, max(1, _CHAIN // planes))
    steps, bytes_, middles = _rounded(data, blocks, count // chain, chain * relay.WORD // bits, _middle(bits))
    width = shape(words)[2] if len(shape(words)) == 3 else 1
    mask = sum((1 << bits) - 1 << relay.PER_BYTE * byte for byte in range(relay.BYTES))
    kb, kc = te.reduce_axis((0, blocks), "kb"), te.reduce_axis((0, count // chain), "kc")

    def element(m: Expr, n: Expr) -> Expr:
        def at(x: Tensor, k: Expr) -> Expr:
            return x(n // width, k, n % width) if len(shape(x)) == 3 else x(n, k)

        total = middles(m, kb, kc)
        for word in range(chain):
            packed = at(words, (kb * (count // chain) + kc) * chain + word)
            for plane in range(planes):
                first = (word * planes + plane) * relay.BYTES
                four = te.join_bytes(*(bytes_(m, kb, kc, first + byte) for byte in range(relay.BYTES)))
                weight = te.shift_right(packed, plane * bits) if plane else packed
                total += te.dot4(te.bitwise_and(weight, mask) if planes > 1 else weight, four)
        value = total.astype("float32") * at(scales, kb)
        if offsets is not None:
            value += middles(m, kb, kc).astype("float32") * (at(offsets, kb) * (-1 / _middle(bits)))
        return te.sum(value * steps(m, kb), axis=[kb, kc])

    attrs = {"chain": chain * planes, "panel": width}
    total = te.compute(shape_of(op.results[0]), element, "dense_bits", BYTES, attrs, ("m", "n"))
    return rounded(total, dtype_of(op))


def _rounded(data: Tensor, blocks: int, chains: int, depth: int, middle: int) -> tuple[Tensor, Tensor, Tensor]:
    """The steps of blocks, data in them as int8 (m, block, chain, depth), and -middle times the sum of each chain."""
    rows, block = shape(data)[0], chains * depth
    x = in_dtype(data, "float32", "data")
    lanes = largest_divisor(block, _LANES)
    ko = te.reduce_axis((0, block // lanes), "ko")

    def larger(m: Expr, b: Expr, lane: Expr) -> Expr:
        return te.max(te.abs(x(m, b * block + ko * lanes + lane)), axis=ko)

    several = compute((rows, blocks, lanes), larger, "several", tag="comm_reduce")
    largest = reduced_rows(several, (rows, blocks, lanes), 2, te.max, "largest")
    steps = compute((rows, blocks), lambda *i: largest(*i) / float(relay.LARGEST), "steps", keep=True)

    def factor(m: Expr, b: Expr) -> Expr:
        return te.if_then_else(largest(m, b) > 0.0, float(relay.LARGEST) / largest(m, b), te.const(0.0, "float32"))

    factors = compute((rows, blocks), factor, "factors", keep=True)

    def byte(m: Expr, b: Expr, c: Expr, i: Expr) -> Expr:
        return te.nearbyint(x(m, b * block + c * depth + i) * factors(m, b)).astype("int32").astype("int8")

    bytes_ = compute((rows, blocks, chains, depth), byte, "bytes", keep=True)
    total = reduced_rows(lambda *i: bytes_(*i).astype("int32"), (rows, blocks, chains, depth), 3, te.sum, "total")
    middles = compute((rows, blocks, chains), lambda *i: total(*i) * -middle, "middles", keep=True)
    return steps, bytes_, middles


TABLE = {relay.DenseBitsOp: dense_bits}
