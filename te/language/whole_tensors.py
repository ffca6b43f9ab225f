"""Operators and functions on whole tensors: `A + B`, `A * 2.0`, `te.exp(A)`, each a compute with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Protocol, TypeAlias, overload

from .expr import Expr, ExprLike, Source, compare, operate

Operand: TypeAlias = "WholeTensor | ExprLike"

NAMES = {
    "add": "T_add",
    "sub": "T_subtract",
    "mul": "T_multiply",
    "/": "T_divide",
    "floordiv": "T_floor_divide",
    "floormod": "T_floor_mod",
    "and": "T_bitwise_and",
    "or": "T_bitwise_or",
    "xor": "T_bitwise_xor",
    "shl": "T_left_shift",
    "shr": "T_right_shift",
    "lt": "T_less",
    "le": "T_less_equal",
    "gt": "T_greater",
    "ge": "T_greater_equal",
}
"""The stages of operators, by TVM's names."""


def _operator(op: str) -> Callable[[WholeTensor, Operand], Any]:
    return lambda self, other: self.broadcast(NAMES[op], partial(operate, op), self, other)


def _reflected(op: str) -> Callable[[WholeTensor, Operand], Any]:
    return lambda self, other: self.broadcast(NAMES[op], partial(operate, op), other, self)


def _comparison(op: str) -> Callable[[WholeTensor, Operand], Any]:
    return lambda self, other: self.broadcast(NAMES[op], partial(compare, op), self, other)


class WholeTensor(Source):
    """The operators of tensors. `==` is none of them: it says whether two names are of one tensor."""

    __array_ufunc__ = None

    def broadcast(self, name: str, function: Callable[..., Expr], *operands: Operand) -> Any:
        """The tensor called `name` of a function of elements; sizes of 1 stretch.

        Raises ScheduleError when the shapes do not go together.
        """
        raise NotImplementedError

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("sub"), _reflected("sub")
    __mul__, __rmul__ = _operator("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _operator("/"), _reflected("/")
    __floordiv__, __rfloordiv__ = _operator("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _operator("floormod"), _reflected("floormod")
    __and__, __rand__ = _operator("and"), _reflected("and")
    __or__, __ror__ = _operator("or"), _reflected("or")
    __xor__, __rxor__ = _operator("xor"), _reflected("xor")
    __lshift__, __rlshift__ = _operator("shl"), _reflected("shl")
    __rshift__, __rrshift__ = _operator("shr"), _reflected("shr")
    __lt__, __le__ = _comparison("lt"), _comparison("le")
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")

    def __neg__(self) -> Any:
        return self.broadcast("T_negative", Expr.__neg__, self)

    def __invert__(self) -> Any:
        return self.broadcast("T_bitwise_not", Expr.__invert__, self)

    def astype(self, dtype: str) -> Any:
        def cast(value: Expr) -> Expr:
            return value.astype(dtype)

        return self.broadcast("T_cast", cast, self)


class Unary(Protocol):
    """A function of an expression, or of each element of a tensor."""

    @overload
    def __call__(self, x: ExprLike) -> Expr: ...
    @overload
    def __call__(self, x: WholeTensor) -> Any: ...


class Pairwise(Protocol):
    """A function of two expressions, or of the elements of two tensors."""

    @overload
    def __call__(self, x: ExprLike, y: ExprLike) -> Expr: ...
    @overload
    def __call__(self, x: Operand, y: Operand) -> Any: ...


def unary(function: Callable[[ExprLike], Expr]) -> Unary:
    """`function`, also of whole tensors."""
    name = f"T_{function.__name__}"

    @wraps(function)
    def apply(x: Any) -> Any:
        return x.broadcast(name, function, x) if isinstance(x, WholeTensor) else function(x)

    return apply


def pairwise(function: Callable[[ExprLike, ExprLike], Expr]) -> Pairwise:
    """`function`, also of whole tensors."""
    name = f"T_{_TOPI.get(function.__name__, function.__name__)}"

    @wraps(function)
    def apply(x: Any, y: Any) -> Any:
        if isinstance(x, WholeTensor):
            return x.broadcast(name, function, x, y)
        return y.broadcast(name, function, x, y) if isinstance(y, WholeTensor) else function(x, y)

    return apply


_TOPI = {
    "div": "divide",
    "floordiv": "floor_divide",
    "floormod": "floor_mod",
    "shift_left": "left_shift",
    "shift_right": "right_shift",
}
"""Functions whose stages have another name."""
