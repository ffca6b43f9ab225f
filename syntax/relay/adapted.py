"""Calls of operators that accept more types in TVM than here, as calls of operators that accept these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.relay.matmul import DenseOp, MatmulOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.qnn import FixedPointMultiplyPerAxisOp
from ...dialects.relay.signature import Tensor
from ...dialects.relay.transform import PadOp
from ...dialects.sizes.types import tensor_of


@dataclass(frozen=True)
class Adapted:
    """A call: operator, attributes, types of arguments, and the arguments that are cast or reshaped to these."""

    operator: type[Operator]
    attrs: Mapping[str, Any]
    types: Sequence[Attribute]
    casts: Sequence[int] = ()
    reshapes: Sequence[int] = ()


def adapted(operator: type[Operator], attrs: Mapping[str, Any], types: Sequence[Attribute]) -> Adapted:
    """Return the call that stands for one with arguments of these types."""
    if len(types) < 2 or not all(isinstance(type_, TensorType) for type_ in types[:2]):
        return Adapted(operator, attrs, types)
    first, second = (cast(Tensor, type_) for type_ in types[:2])
    if operator is DenseOp and len(first.get_shape()) > 2:
        return Adapted(MatmulOp, {**attrs, "transpose_b": True}, types)
    if operator is PadOp and first.element_type != second.element_type:
        number = TensorType(first.element_type, second.get_shape(), second.encoding)
        return Adapted(operator, attrs, [first, number, *types[2:]], (1,))
    if operator is FixedPointMultiplyPerAxisOp and "axes" in attrs:
        return _along_axes(operator, attrs, types)
    return Adapted(operator, attrs, types)


def _along_axes(operator: type[Operator], attrs: Mapping[str, Any], types: Sequence[Attribute]) -> Adapted:
    """Return a call whose vectors of numbers, one number for each axis, are reshaped so that they broadcast."""
    others = {key: value for key, value in attrs.items() if key != "axes"}
    axes, shape = [int(axis) for axis in attrs["axes"] or ()], shape_of(types[0])
    reshaped: list[Attribute] = [types[0]]
    for type_ in types[1:]:
        extents = shape_of(type_)
        if len(extents) != len(axes) or not all(-len(shape) <= axis < len(shape) for axis in axes):
            return Adapted(operator, others, types)
        by_axis = dict(zip((axis % len(shape) for axis in axes), extents, strict=True))
        reshaped.append(tensor_of(element_of(type_), [by_axis.get(axis, 1) for axis in range(len(shape))]))
    return Adapted(operator, others, reshaped, reshapes=range(1, len(types)) if axes else ())
