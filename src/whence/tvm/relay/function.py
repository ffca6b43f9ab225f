"""Functions, as TVM has them at `tvm.relay.function`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from whence.syntax.relay.expr import Expr, Var
from whence.syntax.relay.expr import Function as Function


def FunctionWithFields(
    function: Function,
    params: Sequence[Var] | None = None,
    body: Expr | None = None,
    ret_type: Any = None,
    ty_params: Sequence[Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
    virtual_device: object = None,
    span: Any = None,
) -> Function:
    """Return the function with the fields that are not None replaced; the function itself if no field changes."""
    parts: dict[str, Any] = {
        "params": params,
        "body": body,
        "ret_type": ret_type,
        "type_params": ty_params,
        "attrs": attrs,
        "span": span,
    }
    other = {key: value for key, value in parts.items() if value is not None and value is not getattr(function, key)}
    return replace(function, type=None, **other) if other else function
