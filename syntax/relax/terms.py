"""Relay expressions that compositions are made of: calls, constants, and the types of what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.element_types import dtype_name
from ...dialects.relay.types import fields_of, function_type
from ...dialects.sizes import Size, broadcast_sizes, same_shape
from ...dialects.sizes import product as product_of
from ...dialects.sizes.types import extents_of
from ...support.dtypes import numpy_of
from ...support.errors import FrontendError
from ..relay.expr import Call, Constant, Expr, GlobalVar, Op, Program, TupleGetItem
from ..relay.infer import Inference
from ..relay.unify import Term, term_of


class _Typing(Inference):
    """Type inference that ends at expressions that have a type."""

    def _at_hand(self, node: Expr) -> Term | None:
        if node.type is not None and node not in self.terms:
            self.terms[node] = term_of(node.type)
        if isinstance(node, GlobalVar) and node not in self.terms and (type_ := self._declared_type(node)) is not None:
            node.type = type_
            self.terms[node] = term_of(type_)
        return super()._at_hand(node)

    def _declared_type(self, node: GlobalVar) -> Attribute | None:
        """Return the type of a function whose body has one, though nothing declares its result."""
        function = self.program.functions.get(node.name_hint)
        if function is None or function.ret_type is not None or function.body.type is None:
            return None
        return function_type((), [param.inferred for param in function.params], function.body.type)


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


def number_of(value: Any, name: str) -> float:
    """Return a number that an argument is; raises FrontendError for another value."""
    if isinstance(value, Constant) and value.data.size == 1:
        value = value.data.item()
    if not isinstance(value, int | float):
        raise FrontendError(f"expected a number as {name}, got {value!r}")
    return float(value)


def _repeated(data: Expr, shape: Sequence[Size]) -> Expr:
    return data if same_shape(shape_of(data), shape) else call("broadcast_to", data, shape=list(shape))


def product(a: Expr, b: Expr, out_dtype: str | None) -> Expr:
    """Return the product of matrices, or of batches of matrices, which broadcast."""
    left, right = shape_of(a), shape_of(b)
    if len(right) == 2:
        return call("nn.matmul", a, b, out_dtype=out_dtype)
    if len(left) == len(right) == 3:
        return call("nn.batch_matmul", a, b, transpose_b=False, out_dtype=out_dtype)
    batch = broadcast_sizes(left[:-2], right[:-2])
    if batch is None:
        raise FrontendError(f"matmul: expected batches that broadcast, got {left[:-2]} and {right[:-2]}")
    flat = [
        call("reshape", _repeated(x, (*batch, *ends)), newshape=[product_of(batch), *ends])
        for x, ends in ((a, left[-2:]), (b, right[-2:]))
    ]
    matrices = call("nn.batch_matmul", *flat, transpose_b=False, out_dtype=out_dtype)
    return call("reshape", matrices, newshape=[*batch, left[-2], right[-1]])


def variance(values: Mapping[str, Any]) -> Expr:
    """Return the variance along axes; `values` are the arguments in Relax."""
    axis, data = values["axis"], values["x"]
    axes = [axis] if isinstance(axis, int) else axis
    mean = call("mean", data, axis=axes, keepdims=True)
    return call("variance", data, mean, axis=axes, keepdims=values["keepdims"])


def sizes_tensor(shape: Sequence[Size]) -> Expr:
    """Return the extents of a shape as a vector of int64."""
    if all(isinstance(extent, int) for extent in shape):
        return constant(np.asarray(shape, np.int64), "int64")
    return call("sizes", values=list(shape), shape=[len(shape)])


def items_of(value: Any) -> list[Expr]:
    """Return the tensors of a list, or of an expression that is a tuple or a tensor."""
    if isinstance(value, list | tuple):
        return list(cast("Sequence[Expr]", value))
    fields = fields_of(infer_shallow(value))
    return [value] if fields is None else [TupleGetItem(value, k) for k in range(len(fields))]


def coordinates_first(points: Expr) -> Expr:
    """Return points whose coordinates are last, as in Relax, with these first."""
    rank = rank_of(points)
    return call("transpose", points, axes=[rank - 1, *range(rank - 1)])


def coordinates_last(points: Expr) -> Expr | None:
    """Return points whose coordinates `coordinates_first` moved; None for others."""
    if isinstance(points, Call) and points.op == Op("transpose"):
        rank = rank_of(points)
        if list(points.attrs["axes"] or ()) == [rank - 1, *range(rank - 1)]:
            return points.args[0]
    return None
