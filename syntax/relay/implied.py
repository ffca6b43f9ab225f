"""Operand types that operators imply, as TVM's relations do: those of weights without annotations beside known data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.relay.layout import logical_shape, parse_layout, strides
from ...dialects.relay.operator import Operator
from ...dialects.relay.signature import Tensor
from .defaults import completed
from .operators import attributes_of, name_of

Types = Sequence[Attribute | None]
Attrs = Mapping[str, Any]


def implied(operator: type[Operator], types: Types, attrs: Mapping[str, Any]) -> dict[int, Attribute]:
    """Return argument number -> the type that it must have, by the known types of a call's arguments."""
    rule = _RULES.get(name_of(operator))
    data = types[0] if types else None
    if rule is None or not isinstance(data, TensorType):
        return {}
    attributes = completed(name_of(operator), attributes_of(operator, attrs))
    shapes = rule(cast(Tensor, data).get_shape(), attributes)
    return {index: TensorType(cast(Tensor, data).element_type, shape) for index, shape in shapes.items()}


def _dense(data: Sequence[int], attrs: Attrs) -> dict[int, Sequence[int]]:
    return {1: (attrs["units"], data[-1])} if attrs.get("units") else {}


def _convolution(spatial: int, transposed: bool) -> Callable[[Sequence[int], Attrs], dict[int, Sequence[int]]]:
    def rule(data: Sequence[int], attrs: Attrs) -> dict[int, Sequence[int]]:
        if not attrs.get("channels") or not attrs.get("kernel_size"):
            return {}
        layout = parse_layout(cast(str, attrs["data_layout"]))
        if len(layout) != len(data):
            return {}
        inputs = logical_shape(data, layout)["C"]
        outputs, groups = int(attrs["channels"]), int(attrs["groups"])
        kernel = dict(zip("DHW"[3 - spatial :], attrs["kernel_size"], strict=True))
        sides = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
        # The layout of a transposed convolution begins with the inputs: IOHW.
        first, second = ("I", "O") if transposed else ("O", "I")
        extents = {first: sides[0], second: sides[1], **kernel}
        axes = parse_layout(cast(str, attrs["kernel_layout"]))
        steps = strides(axes)
        return {1: [axis.factor or extents[axis.letter] // step for axis, step in zip(axes, steps, strict=True)]}

    return rule


def _along(*operands: int) -> Callable[[Sequence[int], Attrs], dict[int, Sequence[int]]]:
    """Return the rule for operands that are vectors along the operator's axis."""

    def rule(data: Sequence[int], attrs: Attrs) -> dict[int, Sequence[int]]:
        return {index: (data[int(attrs["axis"])],) for index in operands}

    return rule


_RULES: dict[str, Callable[[Sequence[int], Attrs], dict[int, Sequence[int]]]] = {
    "nn.dense": _dense,
    "nn.bias_add": _along(1),
    "nn.batch_norm": _along(1, 2, 3, 4),
    "nn.layer_norm": _along(1, 2),
    "nn.instance_norm": _along(1, 2),
    "nn.group_norm": _along(1, 2),
    "nn.prelu": _along(1),
    **{f"nn.conv{n}d": _convolution(n, False) for n in (1, 2, 3)},
    **{f"nn.conv{n}d_transpose": _convolution(n, True) for n in (1, 2, 3)},
}
