"""Calls as Python functions take them: tensors by position or by name, the other arguments by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...dialects.sizes import Size
from ...support.errors import FrontendError
from ..importing.python_calls import Argument, PythonCall, Stated
from .calls import At, Operand
from .context import Context
from .expressions import parse_expression
from .schema import ScalarType, TensorMeta, Unread
from .tensors import dtype_of


def python_call_of(ctx: Context, symbols: Mapping[str, Size]) -> PythonCall:
    """Return a call; `symbols` are the sizes of this call by the exporter's names.

    Arguments that are none are left out: what stands for them is a default, or a parameter of that name.
    """
    tensors: dict[str, Argument] = {}
    attributes: dict[str, Any] = {}
    for name, operand in ctx.call.arguments.items():
        if _is_tensor(operand):
            tensors[name] = _numbers(operand)
        elif operand is not None and not isinstance(operand, Unread):
            attributes[name] = _value(ctx, name, operand)
    results = [_stated(ctx, meta, symbols) for meta in ctx.call.metas]
    return PythonCall(list(tensors.values()), results, attributes, tuple(tensors))


def _is_tensor(operand: Operand) -> bool:
    if isinstance(operand, tuple):
        return any(map(_is_tensor, operand))
    return isinstance(operand, At) and not operand.number


def _numbers(operand: Operand) -> Argument:
    if isinstance(operand, tuple):
        return [_numbers(item) for item in operand]
    return operand.index if isinstance(operand, At) else None


def _value(ctx: Context, name: str, operand: Operand) -> Any:
    if isinstance(operand, ScalarType):
        return dtype_of(operand.code, ctx.op_type)
    if isinstance(operand, tuple) and any(isinstance(item, At) for item in operand):
        return ctx.ints(name)
    return ctx.number(name) if isinstance(operand, At) else operand


def _stated(ctx: Context, meta: TensorMeta | None, symbols: Mapping[str, Size]) -> Stated:
    if meta is None:
        return Stated()
    shape: list[int | None] = []
    for size in meta.sizes:
        try:
            extent = size if isinstance(size, int) else parse_expression(size, symbols, ctx.op_type)
        except FrontendError:  # a symbol that no input of this call says
            extent = None
        shape.append(extent if isinstance(extent, int) else None)
    return Stated(shape, dtype_of(meta.dtype, ctx.op_type))
