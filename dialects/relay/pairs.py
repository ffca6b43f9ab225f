"""Words of two bfloat16: the weights of products that are summed in pairs.

Where a weight of int32 stands beside data of bfloat16, each of its words holds two neighbours along the summed axis,
the first in the low bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import TensorType, bf16, i32
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes import same
from ..sizes.types import tensor_of
from .attributes import integer
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import INJECTIVE


def parts_of(sig: Signature) -> int:
    """Return the numbers in each element of a product's weight: two in a word."""
    return 2 if (sig.types[0].element_type, sig.types[1].element_type) == (bf16, i32) else 1


def unpacked(words: AnyArray, axis: int) -> AnyArray:
    """The numbers in words of two along an axis."""
    last = np.ascontiguousarray(np.moveaxis(words, axis, -1)).view(ml_dtypes.bfloat16)
    return np.moveaxis(last, -1, axis)


@irdl_op_definition
class PackPairsOp(Operator):
    """Words of two neighbours along `axis`, whose extent is even."""

    name = "relay.nn.contrib_pack_pairs"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = list(sig.shape(0))
        axis = sig.axis(sig.int("axis"), len(shape))
        if sig.types[0].element_type != bf16 or not same(shape[axis] % 2, 0):
            sig.fail(f"numbers of bfloat16, evenly many along axis {axis}", str(sig.types[0]))
        shape[axis] //= 2
        return [tensor_of(i32, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        last = np.ascontiguousarray(np.moveaxis(x, sig.int("axis"), -1)).view(np.int32)
        return np.moveaxis(last, -1, sig.int("axis"))
