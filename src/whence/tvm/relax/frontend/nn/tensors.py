"""Tensors of layers: variables of the function that is being built, with the arithmetic of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from whence.relax import op as operators
from whence.relax.block_builder import BlockBuilder
from whence.relay.builders import const
from whence.support.errors import FrontendError
from whence.syntax.relax.rows import Shape
from whence.syntax.relay.expr import Expr, TupleGetItem, Var
from whence.syntax.relay.type_view import TensorType


class Tensor:
    """A tensor in the function that is being built."""

    def __init__(self, *, _expr: Expr):
        self._expr = _expr

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """Return a constant of an array or a number."""
        return Tensor(_expr=const(np.asarray(data)))

    @staticmethod
    def from_scalar(data: int | float, dtype: str) -> Tensor:
        """Return a constant without axes."""
        return Tensor(_expr=const(data, dtype))

    @staticmethod
    def placeholder(shape: Sequence[Any], dtype: str, name: str = "tensor") -> Tensor:
        """Return a variable of a shape and a dtype that no function has yet."""
        return Tensor(_expr=Var(name, TensorType(shape, dtype)))

    @property
    def expr(self) -> Expr:
        """The expression of relay."""
        return self._expr

    @property
    def shape(self) -> list[Any]:
        """The extents: ints, or sizes, with which one computes."""
        return list(self._expr.struct_info.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> str:
        return str(self._expr.struct_info.dtype)

    def __repr__(self) -> str:
        return f'Tensor([{", ".join(map(str, self.shape))}], "{self.dtype}")'

    def __add__(self, other: Any) -> Tensor:
        return applied("add", self, other)

    def __sub__(self, other: Any) -> Tensor:
        return applied("subtract", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return applied("subtract", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return applied("multiply", self, other, _hint="mul")

    def __truediv__(self, other: Any) -> Tensor:
        return applied("divide", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return applied("divide", other, self)

    def __neg__(self) -> Tensor:
        return applied("negative", self, _hint="neg")

    def __lt__(self, other: Any) -> Tensor:
        return applied("less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return applied("less_equal", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return applied("greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return applied("greater_equal", self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def maximum(self, other: Any) -> Tensor:
        """Return the greater elements of two tensors, or of a tensor and a number."""
        return applied("maximum", self, other)

    def minimum(self, other: Any) -> Tensor:
        """Return the lesser elements of two tensors, or of a tensor and a number."""
        return applied("minimum", self, other)

    def reshape(self, *shape: Any) -> Tensor:
        """Return the elements in another shape."""
        return applied("reshape", self, as_shape(shape))

    def permute_dims(self, *axes: Any) -> Tensor:
        """Return the tensor with its axes in another order, by default the opposite one."""
        return applied("permute_dims", self, unpacked(axes) or None)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """Return each element, or each part along an axis, several times."""
        return applied("repeat", self, repeats, axis)

    def astype(self, dtype: str) -> Tensor:
        """Return the elements in another dtype."""
        return applied("astype", self, dtype)


def unpacked(values: Sequence[Any]) -> list[Any]:
    """Return arguments that are given one by one, or all in one list."""
    inner = values[0] if len(values) == 1 else values
    return list(cast("Sequence[Any]", inner)) if isinstance(inner, list | tuple) else list(values)


def as_shape(shape: Sequence[Any]) -> Shape:
    """Return a shape that is given as extents, or as one list of them."""
    return Shape(unpacked(shape))


def current(name: str) -> BlockBuilder:
    """Return the builder of the function that a layer is part of; raises FrontendError outside of one."""
    builder = BlockBuilder.current()
    if builder is None:
        raise FrontendError(f"nn.op.{name}: expected a module that is exported, got a call outside of one")
    return builder


def expression(name: str, *args: Any, **named: Any) -> Expr:
    """Return the call of an operator. Numbers for tensors get the dtype of another."""
    return operators.operator(name)(*map(_expr, args), **{key: _expr(value) for key, value in named.items()})


def applied(name: str, *args: Any, _hint: str = "", **named: Any) -> Any:
    """Return the result of an operator as tensors: one, or a tuple."""
    hint = _hint or name.rpartition(".")[2]
    current(hint)
    return emitted(expression(name, *args, **named), hint)


def emitted(value: Expr, name: str) -> Any:
    """Return an expression as a tensor of the function that is being built; one of several results as a tuple."""
    builder = current(name)
    return wrapped(builder.emit(value, name), builder)


def wrapped(value: Expr, builder: BlockBuilder) -> Any:
    """Return an expression as a tensor, a tuple as a tuple of tensors."""
    fields = getattr(value.struct_info, "fields", None)
    if fields is None:
        return Tensor(_expr=value)
    return tuple(Tensor(_expr=builder.emit(TupleGetItem(value, index))) for index in range(len(fields)))


def _expr(value: Any) -> Any:
    match value:
        case Tensor():
            return value.expr
        case list() | tuple() if not isinstance(value, Shape):
            items = [_expr(item) for item in cast("list[Any]", value)]
            return items if any(isinstance(item, Expr) for item in items) else cast("Any", value)
        case _:
            return value
