"""Logic, comparisons, bits and choice on each element. The tables are the declarations, as in `elementwise`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes.types import tensor_of
from .elementwise import binary, broadcast_shape
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import ANY, BOOLEANS, BROADCAST, INTEGERS, Pointwise

GreaterEqualOp = binary("greater_equal", np.greater_equal, ANY, i1)
LessEqualOp = binary("less_equal", np.less_equal, ANY, i1)
NotEqualOp = binary("not_equal", np.not_equal, ANY, i1)

LogicalAndOp = binary("logical_and", np.logical_and, BOOLEANS)
LogicalOrOp = binary("logical_or", np.logical_or, BOOLEANS)
LogicalXorOp = binary("logical_xor", np.logical_xor, BOOLEANS)

BitwiseAndOp = binary("bitwise_and", np.bitwise_and, INTEGERS)
BitwiseOrOp = binary("bitwise_or", np.bitwise_or, INTEGERS)
BitwiseXorOp = binary("bitwise_xor", np.bitwise_xor, INTEGERS)

# By the width or more nothing is left but, to the right, the sign; a negative distance counts as such a one.
LeftShiftOp = binary("left_shift", np.left_shift, INTEGERS)
RightShiftOp = binary("right_shift", np.right_shift, INTEGERS)


@irdl_op_definition
class WhereOp(Operator):
    """The element of `x` where `condition`, of booleans, holds, else that of `y`; all three broadcast as numpy's."""

    name = "relay.where"
    condition = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(BROADCAST, Pointwise())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(BOOLEANS)
        element = sig.types[1].element_type
        if sig.types[2].element_type != element:
            sig.fail(f"operand 2 of element type {element}", str(sig.types[2]))
        sides = broadcast_shape(sig, sig.shape(1), sig.shape(2))
        return [tensor_of(element, broadcast_shape(sig, sig.shape(0), sides))]

    @classmethod
    def evaluate(cls, sig: Signature, condition: AnyArray, x: AnyArray, y: AnyArray) -> AnyArray:
        return np.where(condition, x, y)
