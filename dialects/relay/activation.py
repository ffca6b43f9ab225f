"""Activations with an operand of their own; those of one operand are in `elementwise`, or made of its operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from .attributes import integer
from .layout_traits import ON_AXIS
from .numerics import AnyArray, along
from .operator import Operator, Signature, Tensor
from .traits import BROADCAST


@irdl_op_definition
class PReluOp(Operator):
    """`data` where it is not negative, else `data` times the element of `alpha`, a vector along `axis`."""

    name = "relay.nn.prelu"
    data = operand_def(TensorType)
    alpha = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(1)
    traits = traits_def(BROADCAST, ON_AXIS)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.vector(1, sig.axis(sig.int("axis"), len(sig.shape(0))), "an alpha")
        sig.same_element()
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, alpha: AnyArray) -> AnyArray:
        return np.where(data < 0, data * along(alpha, sig.int("axis"), data.ndim), data)
