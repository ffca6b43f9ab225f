"""Scalar expressions of the te language: what a compute's lambda returns, as a tree of frozen nodes.

Operators build nodes; a Python number takes the dtype of the other side. dtypes are TVM's names (`float32`, `int32`);
axes and other index arithmetic are `int32`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from ..provenance.diagnostics import ScheduleError

if TYPE_CHECKING:
    from .tensor import Tensor

INT = "int32"
BOOL = "bool"


def fail(text: str) -> NoReturn:
    raise ScheduleError(text)


class Expr:
    """A scalar expression."""

    dtype: str

    def __add__(self, other: ExprLike) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("floormod", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary("floormod", other, self)

    def __neg__(self) -> Expr:
        return binary("sub", 0, self)

    def __lt__(self, other: ExprLike) -> Expr:
        return compare("lt", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return compare("le", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return compare("gt", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return compare("ge", self, other)

    def equal(self, other: ExprLike) -> Expr:
        """`self == other` as an expression; Python's == compares nodes."""
        return compare("eq", self, other)

    def astype(self, dtype: str) -> Expr:
        return Cast(dtype, self) if dtype != self.dtype else self

    def __bool__(self) -> NoReturn:
        fail("te: an expression has no truth value while it is built; use te.if_then_else, te.all or te.any")


ExprLike: TypeAlias = Expr | int | float | bool


class Axis(Expr):
    """An iteration variable from 0 to `extent`; equal only to itself."""

    dtype = INT

    def __init__(self, name: str, extent: int, *, reduce: bool = False):
        self.name = name
        self.extent = extent
        self.reduce = reduce

    def __repr__(self) -> str:
        return f"iter_var({self.name}, range(min=0, ext={self.extent}))"


@dataclass(frozen=True, eq=False)
class Const(Expr):
    value: int | float | bool
    dtype: str


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    """`op` among add sub mul div floordiv floormod truncdiv truncmod min max and or pow."""

    op: str
    a: Expr
    b: Expr

    @property
    def dtype(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.a.dtype


@dataclass(frozen=True, eq=False)
class Compare(Expr):
    """`op` among eq ne lt le gt ge."""

    op: str
    a: Expr
    b: Expr
    dtype = BOOL


@dataclass(frozen=True, eq=False)
class Not(Expr):
    a: Expr
    dtype = BOOL


@dataclass(frozen=True, eq=False)
class Select(Expr):
    """`guarded`: only the taken side may be evaluated, so that reads outside a tensor are harmless in the other."""

    condition: Expr
    then: Expr
    otherwise: Expr
    guarded: bool

    @property
    def dtype(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.then.dtype


@dataclass(frozen=True, eq=False)
class Cast(Expr):
    dtype: str  # pyright: ignore[reportIncompatibleVariableOverride]
    a: Expr


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """A function of the math dialect on a float (`exp`), or `abs`."""

    name: str
    a: Expr

    @property
    def dtype(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.a.dtype


@dataclass(frozen=True, eq=False)
class Read(Expr):
    tensor: Tensor
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.tensor.dtype


@dataclass(frozen=True, eq=False)
class Reduce(Expr):
    """`reducer` over `axes` of `value`, where `condition` holds. Stands only at the top of a compute."""

    reducer: str
    value: Expr
    axes: tuple[Axis, ...]
    condition: Expr | None = None

    @property
    def dtype(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.value.dtype


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def convert(value: ExprLike, dtype: str | None = None) -> Expr:
    """An expression; a Python number gets `dtype`, or int32, float32 or bool by its type."""
    if isinstance(value, Expr):
        return value
    if not isinstance(value, bool | int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(f"te: expected an expression or a number, got {type(value).__name__}")
    natural = BOOL if isinstance(value, bool) else INT if isinstance(value, int) else "float32"
    if dtype is not None and is_float(dtype):
        return Const(float(value), dtype)
    if dtype is not None and isinstance(value, float):
        fail(f"te: expected a whole number beside {dtype}, got {value}")
    return Const(value, dtype or natural)


def _pair(op: str, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Two expressions of one dtype; an int meets a float as a float."""
    left = convert(a, b.dtype if isinstance(b, Expr) else None)
    right = convert(b, left.dtype)
    if left.dtype == right.dtype:
        return left, right
    if is_float(left.dtype) and right.dtype == INT:
        return left, right.astype(left.dtype)
    if is_float(right.dtype) and left.dtype == INT:
        return left.astype(right.dtype), right
    fail(f"te.{op}: expected operands of one dtype, got {left.dtype} and {right.dtype}; use astype")


def binary(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """An arithmetic node; constants fold."""
    left, right = _pair(op, a, b)
    if isinstance(left, Const) and isinstance(right, Const) and op in ("add", "sub", "mul") and left.dtype != BOOL:
        x, y = left.value, right.value
        return Const({"add": x + y, "sub": x - y, "mul": x * y}[op], left.dtype)
    return Binary(op, left, right)


def compare(op: str, a: ExprLike, b: ExprLike) -> Expr:
    return Compare(op, *_pair(op, a, b))


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside one."""
    match expr:
        case Binary(a=a, b=b) | Compare(a=a, b=b):
            return a, b
        case Select():
            return expr.condition, expr.then, expr.otherwise
        case Not(a=a) | Cast(a=a) | Call(a=a):
            return (a,)
        case Read():
            return expr.indices
        case Reduce():
            return (expr.value,) if expr.condition is None else (expr.value, expr.condition)
        case _:
            return ()


def walk(roots: Sequence[Expr]) -> list[Expr]:
    """Every node below the roots, each once, roots first."""
    seen: dict[int, Expr] = {}
    stack = list(reversed(roots))
    while stack:
        expr = stack.pop()
        if id(expr) not in seen:
            seen[id(expr)] = expr
            stack.extend(reversed(children(expr)))
    return list(seen.values())
