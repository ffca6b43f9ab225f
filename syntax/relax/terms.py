"""Relay expressions that compositions are made of: calls, constants, and the types of what they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.element_types import dtype_name
from ...dialects.sizes import Size
from ...dialects.sizes.types import extents_of
from ...support.dtypes import numpy_of
from ...support.errors import FrontendError
from ..relay.expr import Call, Constant, Expr, Op, Program
from ..relay.infer import Inference
from ..relay.unify import Term, term_of


class _Typing(Inference):
    """Type inference that ends at expressions that have a type."""

    def _at_hand(self, node: Expr) -> Term | None:
        if node.type is not None and node not in self.terms:
            self.terms[node] = term_of(node.type)
        return super()._at_hand(node)


def infer_shallow(expr: Expr, program: Program | None = None) -> Attribute:
    """Return the type of an expression, and store it and those of its parts that have none.

    Raises FrontendError where types do not fit.
    """
    if expr.type is None:
        _Typing(program or Program()).run([expr])
    return expr.inferred


def call(op: str, *args: Expr, **attrs: Any) -> Call:
    """Return the call of an operator of relay, without the attributes that are None."""
    return Call(Op(op), list(args), {key: value for key, value in attrs.items() if value is not None})


def constant(value: Any, dtype: str) -> Constant:
    """Return a constant of numbers in a dtype."""
    return Constant(np.asarray(value).astype(numpy_of(dtype)))


def tensor_of(expr: Expr) -> TensorType[Attribute]:
    """Return the type of an expression, which is a tensor; raises FrontendError otherwise."""
    type_ = infer_shallow(expr)
    if not isinstance(type_, TensorType):
        raise FrontendError(f"expected a tensor, got {type_}")
    return cast("TensorType[Attribute]", type_)


def shape_of(expr: Expr) -> tuple[Size, ...]:
    """Return the extents of a tensor; -1 or a size where a call decides."""
    return extents_of(tensor_of(expr))


def rank_of(expr: Expr) -> int:
    """Return the number of axes of a tensor."""
    return len(shape_of(expr))


def dtype_of(expr: Expr) -> str:
    """Return the dtype of a tensor."""
    return dtype_name(tensor_of(expr).element_type)


def scalar(value: float, like: Expr) -> Constant:
    """Return a number in the dtype of a tensor."""
    return constant(value, dtype_of(like))


def axes_of(axis: Any, rank: int) -> list[int]:
    """Return axes from 0 on: of a number, a list, or None for all."""
    axes: Sequence[int] = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    if not all(-rank <= int(a) < rank for a in axes):
        raise FrontendError(f"expected axes of {rank} dimensions, got {list(axes)}")
    return [int(a) % rank for a in axes]
