"""Checks the element types of a node against the types that the standard allows its operator.

The standard states a set for each input and output, by a variable (`T`) that stands for the same type everywhere.
onnxruntime refuses a model with other types, on which no document defines the operator. Opsets before the known ones
are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, defs, helper

from ..importing.converter import Result, result_dtype
from .context import Context
from .opsets import KNOWN

_FEW = 6
"""The greatest number of types that an error lists."""


@cache
def _dtype_names() -> dict[str, str]:
    """Return the names of dtypes by the standard's names: `tensor(float)` -> `float32`."""
    names: dict[str, str] = {}
    for code in TensorProto.DataType.values():
        if code not in (TensorProto.UNDEFINED, TensorProto.STRING):
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(code))
            names[f"tensor({TensorProto.DataType.Name(code).lower()})"] = dtype.name
    return names


@dataclass(frozen=True)
class _Parameter:
    """An input or output of an operator."""

    name: str
    variable: str
    """The variable for its type; empty where the standard writes the type itself or allows any."""
    allowed: frozenset[str]
    """The names of its dtypes; empty if it need not be a tensor of numbers."""
    alike: bool
    """False for a variadic parameter whose values may differ in type."""


@dataclass(frozen=True)
class _Signature:
    inputs: tuple[_Parameter, ...] = ()
    outputs: tuple[_Parameter, ...] = ()


def _parameters(formals: Sequence[defs.OpSchema.FormalParameter], variables: frozenset[str]) -> tuple[_Parameter, ...]:
    names = _dtype_names()
    return tuple(
        _Parameter(
            formal.name,
            formal.type_str if formal.type_str in variables else "",
            frozenset(names[type_] for type_ in formal.types if type_ in names),
            formal.is_homogeneous,
        )
        for formal in formals
    )


@cache
def _signature(domain: str, op_type: str, opset: int) -> _Signature:
    try:
        schema = defs.get_schema(op_type, opset, domain)
    except defs.SchemaError:
        return _Signature()
    variables = frozenset(constraint.type_param_str for constraint in schema.type_constraints)
    return _Signature(_parameters(schema.inputs, variables), _parameters(schema.outputs, variables))


def _signature_of(node: NodeProto, opset: int) -> _Signature:
    if node.domain in ("", "ai.onnx") and opset < KNOWN.start:
        return _Signature()
    return _signature("" if node.domain == "ai.onnx" else node.domain, node.op_type, opset)


Types = dict[str, tuple[str, str]]
"""A variable -> its type, and the name of the first parameter of that type."""


def check_inputs(ctx: Context) -> Types:
    """Raise FrontendError for an input of a type that the opset does not allow; return the types of variables.

    Sequences, optionals and operators outside of the standard are not checked.
    """
    types: Types = {}
    parameters = _signature_of(ctx.node, ctx.opset).inputs
    for index, tensor in enumerate(ctx.inputs):
        if tensor is not None and tensor.dtype is not None and parameters:
            _check(ctx, parameters[min(index, len(parameters) - 1)], f"an input {index}", tensor.dtype, types)
    return types


def check_outputs(ctx: Context, results: Result | tuple[Result, ...], types: Types) -> None:
    """Raise FrontendError for an output of a type that the operator does not have in this opset."""
    parameters = _signature_of(ctx.node, ctx.opset).outputs
    for index, result in enumerate(results if isinstance(results, tuple) else (results,)):
        is_used = index < len(ctx.node.output) and ctx.node.output[index]
        if is_used and parameters and (dtype := result_dtype(result)) is not None:
            _check(ctx, parameters[min(index, len(parameters) - 1)], f"an output {index}", dtype, types)


def _check(ctx: Context, parameter: _Parameter, position: str, dtype: np.dtype[Any], types: Types) -> None:
    if parameter.allowed and dtype.name not in parameter.allowed:
        ctx.fail(f"{position} ({parameter.name}) of {_listed(parameter.allowed)}", dtype.name)
    if parameter.variable and parameter.alike:
        first, other = types.setdefault(parameter.variable, (dtype.name, parameter.name))
        if dtype.name != first:
            ctx.fail(f"{position} ({parameter.name}) of {first}, the type of {other}", dtype.name)


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = ["others"] if len(ordered) > _FEW else []
    return " or ".join([*ordered[:_FEW], *more])
