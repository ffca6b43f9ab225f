"""Calls as Python functions take them: tensors by position or by name, the other arguments by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...runtime.interpreting.flow import Step
from ..importing.python_calls import Argument, PythonCall
from ..importing.results import Stated
from .calls import At, Operand
from .context import Context
from .schema import ScalarType, Unread
from .tensors import dtype_of


def python_call_of(step: Step, ctx: Context, stated: Sequence[Stated]) -> PythonCall:
    """Return a call, whose tensors are by name.

    Arguments that are none are left out: what stands for them is a default, or a parameter of that name.
    """
    tensors: dict[str, Argument] = {}
    attributes: dict[str, Any] = {}
    for name, operand in ctx.call.arguments.items():
        if _is_tensor(operand):
            tensors[name] = _numbers(operand)
        elif operand is not None and not isinstance(operand, Unread):
            attributes[name] = _value(ctx, name, operand)
    return PythonCall(list(tensors.values()), stated, attributes, tuple(tensors))


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
