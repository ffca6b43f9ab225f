"""Tensors of layers, and the operators on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from whence.relax import op as operators
from whence.relax.block_builder import BlockBuilder
from whence.relay.builders import const
from whence.support.errors import FrontendError
from whence.syntax.relax.rows import Shape
from whence.syntax.relay.expr import Expr, TupleGetItem


class Tensor:
    """A tensor in the function that is being built."""

    def __init__(self, *, _expr: Expr):
        self._expr = _expr

    @property
    def expr(self) -> Expr:
        """The expression of relay."""
        return self._expr

    @property
    def shape(self) -> list[Any]:
        """The extents."""
        return list(self._expr.struct_info.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> str:
        return str(self._expr.struct_info.dtype)

    def __add__(self, other: Any) -> Tensor:
        return applied("add", self, other)

    def __sub__(self, other: Any) -> Tensor:
        return applied("subtract", self, other)

    def __mul__(self, other: Any) -> Tensor:
        return applied("multiply", self, other)

    def __truediv__(self, other: Any) -> Tensor:
        return applied("divide", self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def reshape(self, *shape: Any) -> Tensor:
        """Return the elements in another shape."""
        if len(shape) == 1 and isinstance(shape[0], list | tuple):
            return applied("reshape", self, Shape(cast("Sequence[Any]", shape[0])))
        return applied("reshape", self, Shape(shape))

    def permute_dims(self, *axes: int) -> Tensor:
        """Return the tensor with its axes in another order."""
        return applied("permute_dims", self, list(axes) or None)

    def astype(self, dtype: str) -> Tensor:
        """Return the elements in another dtype."""
        return applied("astype", self, dtype)


def applied(name: str, *args: Any, **named: Any) -> Any:
    """Return the result of an operator as tensors: one, or a tuple. Numbers for tensors get the dtype of another."""
    builder = BlockBuilder.current()
    if builder is None:
        raise FrontendError(f"nn.op.{name}: expected a module that is exported, got a call outside of one")
    like = next((arg for arg in args if isinstance(arg, Tensor)), None)
    plain = [_expr(arg, like) for arg in args]
    call = operators.operator(name)(*plain, **{key: _expr(value, None) for key, value in named.items()})
    hint = name.rpartition(".")[2]
    return wrapped(builder.emit(call, hint), builder)


def wrapped(value: Expr, builder: BlockBuilder) -> Any:
    """Return an expression as a tensor, a tuple as a tuple of tensors."""
    fields = getattr(value.struct_info, "fields", None)
    if fields is None:
        return Tensor(_expr=value)
    return tuple(Tensor(_expr=builder.emit(TupleGetItem(value, index))) for index in range(len(fields)))


def _expr(value: Any, like: Tensor | None) -> Any:
    match value:
        case Tensor():
            return value.expr
        case list() | tuple() if not isinstance(value, Shape):
            items = [_expr(item, None) for item in cast("list[Any]", value)]
            return items if any(isinstance(item, Expr) for item in items) else cast("Any", value)
        case int() | float() if like is not None and not isinstance(value, bool):
            return const(value, like.dtype) if "float" in like.dtype or isinstance(value, int) else value
        case _:
            return value


class Operators:
    """The operators on tensors of layers: `op.matmul`, `op.softmax`, `op.relu`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        full = name if _is_operator(name) else f"nn.{name}"
        operators.operator(full)

        def call(*args: Any, **named: Any) -> Any:
            return applied(full, *args, **named)

        call.__name__ = call.__qualname__ = name
        return call


def _is_operator(name: str) -> bool:
    return name in operators.__dir__() and not name.startswith("nn")


op = Operators()
