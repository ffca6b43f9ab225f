"""MatMulNBits: a product with a weight of a few bits per number, which is unpacked when the model is imported."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.nn import BiasAddOp, DenseOp
from ...support.dtypes import Array
from ..importing.converter import Converter
from ..importing.products import reshaped
from ..importing.tensor import shape_of
from .context import Context


def unpacked(packed: Array, bits: int, count: int) -> Array:
    """The last axis of bytes as `count` numbers of `bits` bits, the first in the lowest bits; uint8."""
    flags = np.unpackbits(packed.astype(np.uint8), axis=-1, bitorder="little")
    numbers = flags[..., : flags.shape[-1] // bits * bits].reshape(*packed.shape[:-1], -1, bits)
    weights = (1 << np.arange(bits)).astype(np.uint8)
    return (numbers * weights).sum(axis=-1, dtype=np.uint8)[..., :count]


def weight_of(ctx: Context) -> Array:
    """The weight (N, K): (number - zero point) * scale, each of these per block of a row."""
    rows, depth = ctx.int("N", 0), ctx.int("K", 0)
    bits, block = ctx.int("bits", 4), ctx.int("block_size", 32)
    if not 2 <= bits <= 8 or block < 1 or rows < 1 or depth < 1:
        ctx.fail("N, K and block_size of at least 1, 2 to 8 bits", f"{rows}, {depth}, {block} and {bits}")
    blocks, own = -(-depth // block), ctx.dtype(0)
    packed = ctx.array(1, "the weight")
    if packed.size * 8 < rows * blocks * block * bits:
        ctx.fail(f"a weight of {rows} x {blocks} blocks of {block} numbers", f"shape {list(packed.shape)}")
    numbers = unpacked(packed.reshape(rows, blocks, -1), bits, block).astype(np.float32)
    scales = ctx.array(2, "the scales").reshape(rows, blocks, 1).astype(np.float32)
    zeros = np.full((rows, blocks), 1 << (bits - 1), np.float32)
    if ctx.has(3):
        given = ctx.array(3, "the zero points")
        whole = given.reshape(rows, -1)
        zeros = (unpacked(whole, bits, blocks) if given.dtype == np.uint8 else whole).astype(np.float32)
    values = ((numbers - zeros.reshape(rows, blocks, 1)) * scales).reshape(rows, -1)[:, :depth]
    if ctx.has(4):
        # Columns say which group they are of.
        groups = ctx.array(4, "the groups")[:depth].astype(np.int64)
        taken = numbers.reshape(rows, -1)[:, :depth] - zeros[:, groups]
        values = taken * scales[:, groups, 0]
    return values.astype(own)


def matmul_nbits(ctx: Context) -> SSAValue:
    """nn.dense with the weight as numbers of the data's dtype; then nn.bias_add if there is a bias."""
    weight = ctx.constant(weight_of(ctx), f"{ctx.tensor(1).name}.unpacked")
    *batch, depth = ctx.shape(0)
    result = ctx.emit(DenseOp, reshaped(ctx, ctx.value(0), (prod(batch), depth)), weight)
    if ctx.has(5):
        result = ctx.emit(BiasAddOp, result, ctx.value(5))
    return reshaped(ctx, result, (*batch, shape_of(result)[1]))


MICROSOFT = {
    "MatMulNBits": Converter(matmul_nbits),
}
