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
    first = types[0] if types else None
    if not isinstance(first, TensorType) or len(types) < 2:
        return Adapted(operator, attrs, types)
    if operator is DenseOp and len(first.get_shape()) > 2:
        return Adapted(MatmulOp, {**attrs, "transpose_b": True}, types)
    value = types[1]
    if operator is PadOp and isinstance(value, TensorType) and value != first:
        wanted = TensorType(cast(Tensor, first).element_type, value.get_shape(), value.encoding)
        if wanted != value:
            return Adapted(operator, attrs, [first, wanted, *types[2:]], (1,))
    return Adapted(operator, attrs, types)
