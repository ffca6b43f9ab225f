"""MatMulNBits: a product with a weight of a few bits per number, which has a scale for each block of a row.

Integers of 2, 4 and 8 bits stay what they are, and are made floats where kernels multiply them, or bytes if the model
allows to round data to bytes, too. Others, and weights whose columns are in groups of any order, are unpacked when the
model is imported.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from ...dialects.relay.bits import WORD, DenseBitsOp
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.nn import BiasAddOp, DenseOp
from ...dialects.relay.transform import PadOp
from ..importing.converter import Converter
from ..importing.tensor import shape_of
from ..importing.terms import Term
from .context import Context

Array = npt.NDArray[Any]

_INT8 = 4
"""The accuracy level that allows to round data to int8; lower ones allow other floats only."""


def unpacked(packed: Array, bits: int, count: int) -> Array:
    """The last axis of bytes as `count` numbers of `bits` bits, the first in the lowest bits; uint8."""
    if 8 % bits == 0:
        parts = packed[..., None] >> np.arange(0, 8, bits, dtype=np.uint8) & np.uint8((1 << bits) - 1)
        return parts.reshape(*packed.shape[:-1], -1)[..., :count]
    flags = np.unpackbits(packed.astype(np.uint8), axis=-1, bitorder="little")
    numbers = flags[..., : flags.shape[-1] // bits * bits].reshape(*packed.shape[:-1], -1, bits)
    weights = (1 << np.arange(bits)).astype(np.uint8)
    return (numbers * weights).sum(axis=-1, dtype=np.uint8)[..., :count]


class _Weight(NamedTuple):
    """The weight as the node has it."""

    rows: int
    depth: int
    bits: int
    block: int
    bytes: Array
    """(rows, blocks, bytes of a block)"""
    scales: Array
    """(rows, blocks), float32"""
    zeros: Array | None
    """(rows, blocks), float32; None for the middle of the range."""

    @property
    def middle(self) -> int:
        return 1 << (self.bits - 1)


def _weight(ctx: Context) -> _Weight:
    rows, depth = ctx.int("N", 0), ctx.int("K", 0)
    bits, block = ctx.int("bits", 4), ctx.int("block_size", 32)
    if not 2 <= bits <= 8 or block < 1 or rows < 1 or depth < 1:
        ctx.fail("N, K and block_size of at least 1, 2 to 8 bits", f"{rows}, {depth}, {block} and {bits}")
    blocks = -(-depth // block)
    packed = ctx.array(1, "the weight")
    if packed.size * 8 < rows * blocks * block * bits:
        ctx.fail(f"a weight of {rows} x {blocks} blocks of {block} numbers", f"shape {list(packed.shape)}")
    scales = ctx.array(2, "the scales")
    if scales.size != rows * blocks:
        ctx.fail(f"{rows} x {blocks} scales", f"shape {list(scales.shape)}")
    zeros = None
    if ctx.has(3):
        whole = ctx.array(3, "the zero points").reshape(rows, -1)
        zeros = (unpacked(whole, bits, blocks) if whole.dtype == np.uint8 else whole).astype(np.float32)
    scale = scales.reshape(rows, blocks).astype(np.float32)
    return _Weight(rows, depth, bits, block, packed.astype(np.uint8).reshape(rows, blocks, -1), scale, zeros)


def _floats(ctx: Context, weight: _Weight) -> Array:
    """The weight (N, K): (number - zero point) * scale, each of these per block of a row."""
    rows, depth = weight.rows, weight.depth
    numbers = unpacked(weight.bytes, weight.bits, weight.block).astype(np.float32)
    zeros = np.full_like(weight.scales, weight.middle) if weight.zeros is None else weight.zeros
    values = ((numbers - zeros[..., None]) * weight.scales[..., None]).reshape(rows, -1)[:, :depth]
    if ctx.has(4):
        # Columns say which group they are of.
        groups = ctx.array(4, "the groups")[:depth].astype(np.int64)
        taken = numbers.reshape(rows, -1)[:, :depth] - zeros[:, groups]
        values = taken * weight.scales[:, groups]
    return values.astype(ctx.dtype(0))


def _words(packed: Array, bits: int) -> Array:
    """Words with the integers at the places that `nn.contrib_dense_bits` has them."""
    if bits == 8:
        return np.ascontiguousarray(packed).view(np.int32)
    numbers = unpacked(packed.reshape(-1, WORD // 8), bits, WORD // bits).reshape(-1, 8 // bits, WORD // 8)
    placed = numbers << (np.arange(8 // bits, dtype=np.uint8) * bits)[:, None]
    return np.bitwise_or.reduce(placed, axis=1).view(np.int32)


def _of_words(ctx: Context, data: SSAValue, weight: _Weight, int8_data: bool) -> SSAValue:
    """The product with integers in words."""
    rows, blocks, _ = weight.bytes.shape
    words = _words(weight.bytes, weight.bits).reshape(rows, -1)
    if more := blocks * weight.block - weight.depth:
        data = ctx.emit(PadOp, data, ctx.scalar(0.0, data), pad_width=[0, 0, 0, more])
    own, name = ctx.dtype(0), ctx.tensor(1).name
    operands = [ctx.constant(words, f"{name}.words"), ctx.constant(weight.scales, f"{name}.scales")]
    if weight.zeros is not None:
        operands.append(ctx.constant((weight.middle - weight.zeros) * weight.scales, f"{name}.offsets"))
    wide = data if own == np.float32 else ctx.emit(CastOp, data, dtype="float32")
    result = ctx.emit(DenseBitsOp, wide, *operands, bits=weight.bits, int8_data=int8_data)
    return result if own == np.float32 else ctx.emit(CastOp, result, dtype=own.name)


def matmul_nbits(ctx: Context) -> SSAValue:
    """nn.contrib_dense_bits, or nn.dense of the weight in the data's dtype; then nn.bias_add if there is a bias."""
    ctx.only("weight_prepacked", 0)
    weight, int8_data = _weight(ctx), ctx.int("accuracy_level", 0) == _INT8
    *batch, depth = ctx.shape(0)
    data = Term(ctx, ctx.value(0)).reshape(prod(batch), depth).value
    if weight.bits in (2, 4, 8) and weight.block * weight.bits % WORD == 0 and not ctx.has(4):
        result = _of_words(ctx, data, weight, int8_data)
    else:
        result = ctx.emit(DenseOp, data, ctx.constant(_floats(ctx, weight), f"{ctx.tensor(1).name}.unpacked"))
    if ctx.has(5):
        result = ctx.emit(BiasAddOp, result, ctx.value(5))
    return Term(ctx, result).reshape(*batch, shape_of(result)[1]).value


MICROSOFT = {"MatMulNBits": Converter(matmul_nbits)}
