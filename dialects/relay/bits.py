"""Dense layers whose weights are integers of 2, 4 or 8 bits in words, with a scale for each block of a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import boolean, integer, optional_integer
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import OUT_ELEMWISE_FUSABLE

WORD = 32
BYTES = 4
"""In a word."""
PER_BYTE = 8
LARGEST = 127
"""The int8 that the largest number of a block of data becomes."""


def place(number: int, bits: int) -> int:
    """The lowest bit of the word that a number is at. The first four are the lowest bits of the bytes, and so on."""
    return number % BYTES * PER_BYTE + number // BYTES * bits


def _rows(packed: AnyArray) -> AnyArray:
    """The rows of panels (n / b, .., b)."""
    return packed if packed.ndim == 2 else packed.transpose(0, 2, 1).reshape(-1, packed.shape[1])


def rounded_blocks(data: AnyArray, blocks: int) -> AnyArray:
    """Rows of numbers as multiples, of -127 to 127, of the 127th part of the largest of each block of a row."""
    apart = widened(data).reshape(len(data), blocks, -1).astype(np.float32)
    largest = np.abs(apart).max(axis=-1, keepdims=True, initial=0)
    factor = np.divide(np.float32(LARGEST), largest, out=np.zeros_like(largest), where=largest > 0)
    return (np.rint(apart * factor) * (largest / np.float32(LARGEST))).reshape(data.shape)


@irdl_op_definition
class DenseBitsOp(Operator):
    """`data (m, k)` times the transpose of a weight (n, k) of integers of `bits`, each times the scale of its block.

    words: (n, k * bits / 32) of int32, with the integers at the bits that `place` says.
    scales, offsets: (n, k / block); a weight is its integer, less the middle of the range, times the scale, plus the
    offset if there are any.
    All three may be in panels instead, (n / b, .., b); with fewer `units` than the panels have rows, those beyond are
    no part of the result.
    int8_data: data are rounded as by `rounded_blocks`, and products are of integers.
    """

    name = "relay.nn.contrib_dense_bits"
    data = operand_def(TensorType)
    words = operand_def(TensorType)
    scales = operand_def(TensorType)
    offsets = opt_operand_def(TensorType)
    result = result_def(TensorType)
    bits = integer(4)
    units = optional_integer()
    int8_data = boolean(False)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        m, k = sig.rank(0, 2)
        words, scales = list(sig.shape(1)), list(sig.shape(2))
        if (bits := sig.int("bits")) not in (2, 4, 8):
            sig.fail("bits 2, 4 or 8", str(bits))
        if sig.types[1].element_type != i32 or len(words) not in (2, 3):
            sig.fail("words of int32 in rows or panels", str(sig.types[1]))
        if words[1] * (WORD // bits) != k:
            sig.fail(f"words of {k} integers of {bits} bits", str(sig.types[1]))
        if len(scales) != len(words) or scales[::2] != words[::2] or not scales[1] or words[1] % scales[1]:
            sig.fail(f"a scale for each of some whole words of {sig.types[1]}", str(sig.types[2]))
        if any(offsets != sig.types[2] for offsets in sig.types[3:]):
            sig.fail(f"offsets as scales are, {sig.types[2]}", str(sig.types[3]))
        (panels, _, width) = words if len(words) == 3 else (*words, 1)
        rows = panels * width
        units = sig.get("units") or rows
        if not rows - width < units <= rows:
            sig.fail(f"units of {rows} rows", str(units))
        return [tensor_of(sig.types[0].element_type, (m, units))]

    @classmethod
    def evaluate(
        cls, sig: Signature, data: AnyArray, words: AnyArray, scales: AnyArray, offsets: AnyArray | None = None
    ) -> AnyArray:
        rows, bits = _rows(words), sig.int("bits")
        parts = [rows >> place(part, bits) & (1 << bits) - 1 for part in range(WORD // bits)]
        numbers = np.stack(parts, -1).reshape(*(scale := widened(_rows(scales))).shape, -1) - (1 << bits >> 1)
        weight = numbers.astype(np.float32) * scale[..., None]
        if offsets is not None:
            weight = weight + widened(_rows(offsets))[..., None]
        weight = weight.reshape(len(rows), -1)[: sig.get("units") or len(rows)]
        factors = rounded_blocks(data, scale.shape[1]) if sig.get("int8_data") else widened(data)
        return np.matmul(factors, weight.T.astype(factors.dtype))
