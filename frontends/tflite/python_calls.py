"""Operators as Python functions take them: their options, and what the file states of their results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from flatbuffers import flexbuffers

from ...runtime.interpreting.flow import Step
from ..importing.python_calls import Argument, PythonCall
from ..importing.results import Stated
from .context import Context
from .option_values import values_of

_flexbuffers: Any = flexbuffers


def python_call_of(step: Step, ctx: Context, stated: Sequence[Stated]) -> PythonCall:
    """Return an operator's call: inputs in order; options by name, of a custom operator those in its map.

    Custom options that are no map are the bytes `custom_options`.
    """
    arguments: list[Argument] = [number if ctx.has(number) else None for number in range(len(ctx.inputs))]
    return PythonCall(arguments, stated, _attributes(ctx))


def _attributes(ctx: Context) -> dict[str, Any]:
    operator = ctx.node.operator
    if operator.custom:
        try:
            options: object = _flexbuffers.Loads(operator.custom)
        except Exception:  # whatever bytes that are no such map make it raise
            options = None
        return cast("dict[str, Any]", options) if isinstance(options, dict) else {"custom_options": operator.custom}
    if operator.options is None:
        return {}
    return _fields(operator.options)


def _fields(options: Any) -> dict[str, Any]:
    """The fields of a table of options, `StrideW` as `stride_w`."""
    return {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower(): value for name, value in values_of(options).items()}
