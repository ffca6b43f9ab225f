"""The Python functions that a te schedule calls, as the runtime takes them."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from ..dialects.element_types import numpy_dtype
from ..dialects.te import ExternOp
from ..dialects.te.stages import tensor_number
from ..provenance.diagnostics import describe
from ..runtime.values.packed import Argument, PackedCall, TensorArgument
from ..te.language.externs import packed_function


def packed_call(op: ExternOp) -> PackedCall:
    """The call that a packed extern stands for; raises ScheduleError when its function is not registered."""
    tensors: list[SSAValue] = [*op.inputs, *op.outputs]

    def argument(attribute: Attribute) -> Argument:
        number = tensor_number(attribute)
        if number is None:
            return float if isinstance(attribute, FloatAttr) else int
        type_ = cast(TensorType[Attribute], tensors[number].type)
        return TensorArgument((type_.get_shape(), numpy_dtype(type_.element_type)), number >= len(op.inputs))

    callee = op.callee.data
    arguments = tuple(map(argument, op.arguments))
    return PackedCall(op.symbol, callee, packed_function(callee), arguments, op.name, describe(op.location))
