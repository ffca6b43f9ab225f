"""Calls of operators that take more types in TVM than here, as calls of those that take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.relay.matmul import DenseOp, MatmulOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.signature import Tensor
from ...dialects.relay.transform import PadOp


@dataclass(frozen=True)
class Adapted:
    """An operator, attributes, the types of the arguments, and which of these are cast to that."""

    operator: type[Operator]
    attrs: Mapping[str, Any]
    types: Sequence[Attribute]
    casts: Sequence[int] = ()


def adapted(operator: type[Operator], attrs: Mapping[str, Any], types: Sequence[Attribute]) -> Adapted:
    """The call that stands for one with arguments of these types."""
    if len(types) < 2 or not all(isinstance(type_, TensorType) for type_ in types[:2]):
        return Adapted(operator, attrs, types)
    first, second = (cast(Tensor, type_) for type_ in types[:2])
    if operator is DenseOp and len(first.get_shape()) > 2:
        return Adapted(MatmulOp, {**attrs, "transpose_b": True}, types)
    if operator is PadOp and first.element_type != second.element_type:
        number = TensorType(first.element_type, second.get_shape(), second.encoding)
        return Adapted(operator, attrs, [first, number, *types[2:]], (1,))
    return Adapted(operator, attrs, types)
