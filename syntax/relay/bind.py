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
    """The function with constants for the parameters of these names; what is no parameter is left out.

    The given function stays as it is. Raises FrontendError where a value is not of the type that the parameter states.
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
    left = [param for param in function.params if param not in constants]
    return replace(function, params=left, body=substituted(function.body, constants))


def substituted(
    root: Expr, given: Mapping[Expr, Expr], then: Callable[[Expr, Expr, Callable[[Expr], Expr]], Expr] | None = None
) -> Expr:
    """An expression with others in the place of some; what has none of them in it is shared, not copied.

    then: called with each node, what it is with new parts, and what says that of parts; gives what takes its place.
    """
    made: dict[Expr, Expr] = dict(given)

    def new(expr: Expr) -> Any:
        return made.get(expr, expr)

    for node in post_order(root):
        if node in made:
            continue
        if parts := changed(node, new):
            made[node] = replace(node, **parts)
        if then is not None and (other := then(node, now := new(node), new)) is not now:
            made[node] = other
    return made.get(root, root)
