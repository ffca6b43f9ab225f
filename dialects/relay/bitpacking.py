"""Bits of many small numbers in one word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..element_types import DTYPES
from ..sizes.types import tensor_of
from .attributes import integer, string
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import INTEGERS, OPAQUE

WIDTHS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
"""Dtypes of words, and their bits."""


@irdl_op_definition
class BitpackOp(Operator):
    """The lowest `bits` bits of integers, each bit of as many as a word has bits in one word, along `pack_axis`.

    The first number has the highest bit of the word. The words of bit b are at place b along a new axis `bit_axis`.
    """

    name = "relay.nn.bitpack"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    bits = integer(1)
    pack_axis = integer(1)
    bit_axis = integer(2)
    pack_type = string("uint32")
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS)
        shape, word = list(sig.shape(0)), sig.str("pack_type")
        if word not in WIDTHS or not 1 <= sig.int("bits") <= 8:
            sig.fail(f"1 to 8 bits, and a pack_type among {', '.join(WIDTHS)}", f"{sig.int('bits')} and {word!r}")
        axis = sig.axis(sig.int("pack_axis"), len(shape), "pack_axis")
        if shape[axis] % WIDTHS[word]:
            sig.fail(f"a multiple of {WIDTHS[word]} numbers along axis {axis}", str(sig.types[0]))
        shape[axis] //= WIDTHS[word]
        shape.insert(sig.axis(sig.int("bit_axis"), len(shape) + 1, "bit_axis"), sig.int("bits"))
        return [tensor_of(DTYPES[word], shape)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        word = sig.str("pack_type")
        axis, width = sig.int("pack_axis") % x.ndim, WIDTHS[word]
        rows = x.reshape(*x.shape[:axis], x.shape[axis] // width, width, *x.shape[axis + 1 :])
        places = np.arange(width - 1, -1, -1, dtype=word).reshape(width, *[1] * (x.ndim - axis - 1))
        low = rows.astype(word)
        lowest = np.ones((), word)
        planes = [
            (((low >> lowest.dtype.type(bit)) & lowest) << places).sum(axis + 1, dtype=word)
            for bit in range(sig.int("bits"))
        ]
        return np.stack(planes, sig.int("bit_axis") % (x.ndim + 1))
