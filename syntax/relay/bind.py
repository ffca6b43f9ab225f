"""Values for the parameters of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...dialects.element_types import tensor_type
from ...provenance.diagnostics import message
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .expr import Constant, Expr, Function
from .nodes import changed, post_order
from .type_text import spelled
from .type_view import plain


def bind_params(function: Function, params: Mapping[str, Array]) -> Function:
    """Return the function with constants for the parameters with these names; ignores names of no parameter.

    `function` itself stays unchanged. Raises FrontendError for a value that is not of the parameter's declared type.
    """
    constants: dict[Expr, Expr] = {}
    for param in function.params:
        if (value := params.get(param.name_hint)) is None:
            continue
        type_ = tensor_type(value)
        if param.type_annotation is not None and param.type_annotation != type_:
            location = None if param.span is None else param.span.location
            expected = spelled(plain(param.type_annotation))
            raise FrontendError(message(f"parameter %{param.name_hint}", expected, spelled(type_), location))
        constants[param] = Constant(value, span=param.span)
    if not constants:
        return function
    free = [param for param in function.params if param not in constants]
    return replace(function, params=free, body=substituted(function.body, constants))


def substituted(
    root: Expr, given: Mapping[Expr, Expr], then: Callable[[Expr, Expr, Callable[[Expr], Expr]], Expr] | None = None
) -> Expr:
    """Return an expression with those of `given` replaced; subexpressions without any of these are shared, not copied.

    then: called with each node, the node with new parts, and a function from old parts to new ones; returns the result.
    """
    results: dict[Expr, Expr] = dict(given)

    def new(expr: Expr) -> Any:
        return results.get(expr, expr)

    for node in post_order(root):
        if node in results:
            continue
        if parts := changed(node, new):
            results[node] = replace(node, **parts)
        if then is not None and (replacement := then(node, current := new(node), new)) is not current:
            results[node] = replacement
    return results.get(root, root)
