"""Operators by TVM's names: `relay.op.add`, `relay.op.nn.conv2d`; and the user's functions for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whence.lowering.relay_to_te.op_strategy import OpImplementation as OpImplementation
from whence.lowering.relay_to_te.op_strategy import OpSpecialization as OpSpecialization
from whence.lowering.relay_to_te.op_strategy import OpStrategy as OpStrategy
from whence.relay.namespaces import NAMESPACES
from whence.relay.op.custom import declared
from whence.syntax.relay.expr import Op
from whence.syntax.relay.op_attrs import (
    ALTER_LAYOUT,
    COMPUTE,
    CONVERT_LAYOUT,
    FAKE_QUANTIZATION,
    INTRINSIC,
    LEGALIZE,
    MIXED_PRECISION,
    OPTIONAL_FAKE_QUANTIZATION,
    STRATEGY,
    register_op_attr,
)


def get(name: str) -> Op:
    """The operator, or the intrinsic (`tir.exp`), as an expression; raises FrontendError for an unknown name."""
    if name.startswith(INTRINSIC):
        import_module("whence.te.language.intrinsics")
    return declared(name) or Op.get(name)


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Register a function (attrs, inputs, types) -> expression or None, by which Legalize rewrites an operator."""
    return register_op_attr(op_name, LEGALIZE, legal_op, level)


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """A function (attrs, inputs, types, output type) -> expression or None, for AlterOpLayout."""
    return register_op_attr(op_name, ALTER_LAYOUT, alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: Any = None, level: int = 10) -> Any:
    """A function (attrs, inputs, types, desired layouts) -> expression or None, for ConvertLayout."""
    return register_op_attr(op_name, CONVERT_LAYOUT, convert_layout, level)


def register_mixed_precision_conversion(op_name: str, func: Any = None, level: int = 10) -> Any:
    """A function (call, dtype) -> [category, ..], for ToMixedPrecision.

    The category is 0 for halves, 1 for as its operands are, 2 for float32. Halves are summed in float32 whatever the
    other two entries say.
    """
    return register_op_attr(op_name, MIXED_PRECISION, func, level)


def register_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Register a function (call, types) -> [expression, type], for FakeQuantizationToInteger.

    The call's arguments are integers; `types` are their quantisations, of `whence.ir.TensorAffineType`.
    """
    return register_op_attr(op_name, FAKE_QUANTIZATION, func, level)


def register_optional_fake_quantization_to_integer(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Register a function like `register_fake_quantization_to_integer`, for an operator in `optional_qnn_ops`."""
    return register_op_attr(op_name, OPTIONAL_FAKE_QUANTIZATION, func, level)


def register_strategy(op_name: str, fstrategy: Any = None, level: int = 10) -> Any:
    """Register a function (attrs, inputs, out_type, target) -> OpStrategy, which takes the place of our lowering.

    The implementation of the highest `plevel` computes the operator; rows for the tags of its stages schedule it
    (docs/adding-a-schedule.md), as operators around it share its kernel.
    """
    return register_op_attr(op_name, STRATEGY, fstrategy, level)


def register_compute(op_name: str, compute: Any = None, level: int = 10) -> Any:
    """Register a function (attrs, inputs, out_type) -> [te tensor], which takes the place of our lowering."""
    return register_op_attr(op_name, COMPUTE, compute, level)


class OpPattern:
    """The fusion patterns of operators, by TVM's names and numbers."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Set the fusion pattern of an operator, one of `OpPattern`, which `Op.get_attr("TOpPattern")` then returns."""
    return register_op_attr(op_name, "TOpPattern", pattern, level)


_MODULES = ("annotation", "contrib", "op", "strategy")
_FILES = ("_make", "algorithm", "memory", "reduce", "tensor", "transform")
"""TVM's modules of operators without a prefix; here they are in one namespace."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _FILES:
        return NAMESPACES["op"]
    return getattr(NAMESPACES["op"], name)
