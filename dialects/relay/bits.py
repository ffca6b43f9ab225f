"""Dense layers whose weights are signed integers of 4 or 8 bits in words, with a scale for each block of a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .attributes import integer, optional_integer
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import OUT_ELEMWISE_FUSABLE

WORD = 32


def _rows(packed: AnyArray) -> AnyArray:
    """The rows of panels (n / b, .., b)."""
    return packed if packed.ndim == 2 else packed.transpose(0, 2, 1).reshape(-1, packed.shape[1])


@irdl_op_definition
class DenseBitsOp(Operator):
    """`data (m, k)` times the transpose of a weight (n, k) of integers of `bits`, each times the scale of its block.

    words: (n, k * bits / 32) of int32, the first of the integers, which are signed, in the lowest bits.
    scales, offsets: (n, k / block); a weight is its integer times the scale, plus the offset if there are any.
    All three may be in panels instead, (n / b, .., b); with fewer `units` than the panels have rows, those beyond are
    no part of the result.
    """

    name = "relay.nn.contrib_dense_bits"
    data = operand_def(TensorType)
    words = operand_def(TensorType)
    scales = operand_def(TensorType)
    offsets = opt_operand_def(TensorType)
    result = result_def(TensorType)
    bits = integer(4)
    units = optional_integer()
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        m, k = sig.rank(0, 2)
        words, scales = list(sig.shape(1)), list(sig.shape(2))
        if (bits := sig.int("bits")) not in (4, 8):
            sig.fail("bits 4 or 8", str(bits))
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
        parts = [rows << (WORD - bits * (part + 1)) >> (WORD - bits) for part in range(WORD // bits)]
        numbers = np.stack(parts, -1).reshape(*(scale := widened(_rows(scales))).shape, -1).astype(np.float32)
        weight = numbers * scale[..., None]
        if offsets is not None:
            weight = weight + widened(_rows(offsets))[..., None]
        weight = weight.reshape(len(rows), -1)[: sig.get("units") or len(rows)]
        return np.matmul(widened(data), weight.T.astype(widened(data).dtype))
