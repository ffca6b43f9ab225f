"""Values for variables of expressions, by TVM's names of the functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from whence.relay.builders import as_expr
from whence.runtime.values.values import expected_array
from whence.support.dtypes import Array
from whence.syntax.relay.bind import bind_params, substituted
from whence.syntax.relay.expr import Constant, Expr, Function, Var


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """Return the function with constants for the parameters of these names; other names are ignored.

    Raises FrontendError where a value is not of the type that the parameter states.
    """
    arrays: dict[str, Array] = {
        name: value.data if isinstance(value, Constant) else expected_array(f"param '{name}'", value)
        for name, value in params.items()
    }
    return bind_params(func, arrays)


def bind(expr: Expr, binds: Mapping[Var, Any]) -> Expr:
    """Return an expression with variables replaced; replaced parameters of a function are removed."""
    bindings: dict[Expr, Expr] = {var: as_expr(value) for var, value in binds.items()}
    if not isinstance(expr, Function):
        return substituted(expr, bindings)
    kept = [param for param in expr.params if param not in bindings]
    bound = cast(Function, substituted(expr, bindings))
    return Function(kept, bound.body, None, bound.type_params, bound.attrs, span=bound.span)
