"""Attributes that you can set on operators, under TVM's keys (`FTVMLegalize`, `target.<compiler>`, ..) or your own."""

from __future__ import annotations

from typing import Any

LEGALIZE = "FTVMLegalize"
ALTER_LAYOUT = "FTVMAlterOpLayout"
CONVERT_LAYOUT = "FTVMConvertOpLayout"
MIXED_PRECISION = "FTVMMixedPrecisionConversionType"
FAKE_QUANTIZATION = "FTVMFakeQuantizationToInteger"
OPTIONAL_FAKE_QUANTIZATION = "FTVMOptionalFakeQuantizationToInteger"
STRATEGY = "FTVMStrategy"
COMPUTE = "FTVMCompute"
TARGET = "target."
EFFECT = "TCallEffectKind"
LOWER_INTRINSIC = "FLowerIntrin"
NUM_INPUTS = "num_inputs"
"""The number of arguments of an intrinsic."""

INTRINSIC = "tir."
"""Prefix of intrinsics' names. An intrinsic is an operator once it has an attribute."""

_attrs: dict[tuple[str, str], tuple[int, Any]] = {}
"""Operator and key -> priority and value."""


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Set an attribute of an operator; the value with the highest level wins, the last one among equals.

    Without a value, this returns a decorator, and the decorated function is the value.
    """

    def register(attribute: Any) -> Any:
        entry = _attrs.get((op_name, attr_key))
        if entry is None or level >= entry[0]:
            _attrs[op_name, attr_key] = level, attribute
        return attribute

    return register if value is None else register(value)


def op_attr(op_name: str, attr_key: str) -> Any:
    """Return the attribute set for an operator; None if there is none."""
    entry = _attrs.get((op_name, attr_key))
    return None if entry is None else entry[1]


def is_intrinsic(name: str) -> bool:
    """Return whether a name is that of an intrinsic, which `te.language.intrinsics` or a user registered."""
    return name.startswith(INTRINSIC) and any(op == name for op, _ in _attrs)


def reset_op_attr(op_name: str, attr_key: str) -> None:
    """Remove the attribute set for an operator under a key."""
    _attrs.pop((op_name, attr_key), None)


def operators_with(attr_key: str) -> dict[str, Any]:
    """Return operator -> value for all operators that have an attribute under a key."""
    return {op: value for (op, key), (_, value) in _attrs.items() if key == attr_key}
