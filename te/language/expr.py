"""Scalar expressions of the te language: what a compute's lambda returns, as a tree of frozen nodes.

Operators build nodes; a Python number takes the dtype of the other side, two dtypes meet as `dtypes.promote` says. Axes
and other index arithmetic are `int32`. `==` builds a node, too: as a truth value it says whether both sides are one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, TypeGuard, cast

import numpy as np

from ...dialects.sizes import SizeExpr
from ...support.dtypes import (
    BOOL,
    INT,
    check_lanes,
    element_of,
    fail,
    is_float,
    is_unsigned,
    lanes_of,
    limits,
    natural_dtype,
    promote,
    python_number,
    with_lanes,
)
from .operators import BITWISE, FLOATS, INTEGERS, LOGIC

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr
    from xdsl.ir import Operation


class Source:
    """The source of elements: a tensor, as expressions know it."""

    name: str
    shape: tuple[Extent, ...]
    dtype: str
    buffer: Any = None
    """The buffer of tir whose elements these are, if they are one's."""

    @property
    def ndim(self) -> int:
        return len(self.shape)


def _operator(op: str) -> Callable[[Expr, ExprLike], Expr]:
    def apply(self: Expr, other: ExprLike) -> Expr:
        return NotImplemented if isinstance(other, Source) else operate(op, self, other)

    return apply


def _reflected(op: str) -> Callable[[Expr, ExprLike], Expr]:
    return lambda self, other: operate(op, other, self)


def _comparison(op: str) -> Callable[[Expr, ExprLike], Compare]:
    return lambda self, other: NotImplemented if isinstance(other, Source) else compare(op, self, other)


class Expr:
    """A scalar expression."""

    dtype: str
    over_axes: bool = False
    """True for arithmetic of axes and whole numbers, as indices are."""
    location: LocationAttr | None = None
    """The place of its op, if that is not the one of the operation or statement that uses it."""

    __array_ufunc__ = None
    """numpy's numbers leave operators to expressions."""

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

    def __invert__(self) -> Expr:
        element = element_of(self.dtype)
        ones = limits(element)[1] if is_unsigned(element) else -1
        return Not(self) if element == BOOL else binary("xor", self, constant(ones, element))

    def __neg__(self) -> Expr:
        if is_float(self.dtype):
            return Const(-self.value, self.dtype) if _folds(self) else Call("negative", self)
        return binary("sub", 0, self) if is_unsigned(self.dtype) else binary("mul", self, -1)

    def __eq__(self, other: object) -> Compare:  # pyright: ignore[reportIncompatibleMethodOverride]
        return compare("eq", self, cast(ExprLike, other)) if isinstance(other, NUMERIC) else NotImplemented

    def __ne__(self, other: object) -> Compare:  # pyright: ignore[reportIncompatibleMethodOverride]
        return compare("ne", self, cast(ExprLike, other)) if isinstance(other, NUMERIC) else NotImplemented

    __hash__ = object.__hash__

    def equal(self, other: ExprLike) -> Expr:
        """`self == other`."""
        return compare("eq", self, other)

    def scalar(self) -> Expr:
        """This, as the operand of another expression; raises ScheduleError when it is none."""
        return self

    def same_as(self, other: object) -> bool:
        """Return whether another object is this one."""
        return self is other

    def asobject(self) -> Expr:
        """This: comparisons are expressions already."""
        return self

    def astype(self, dtype: str) -> Expr:
        """This as another dtype; as one of vectors, the same number in all lanes."""
        value = self.scalar()
        if dtype == value.dtype or (dtype := check_lanes(dtype, "te.cast")) == value.dtype:
            return value
        lanes, own = lanes_of(dtype), lanes_of(value.dtype)
        if lanes == own:
            return Cast(dtype, value)
        if own != 1:
            fail(f"te.cast: expected a dtype of {own} lanes as {value.dtype} has, got {dtype}")
        return Broadcast(value.astype(element_of(dtype)), lanes)

    def __repr__(self) -> str:
        return _writers[-1](self)

    def __bool__(self) -> NoReturn:
        fail("te: an expression has no truth value while it is built; use te.if_then_else, te.all or te.any")


_writers: list[Callable[[Expr], str]] = [object.__repr__]


def write_with(writer: Callable[[Expr], str]) -> Callable[[Expr], str]:
    """Have a function write expressions: their texts are made of their walks, which are made of expressions."""
    _writers.append(writer)
    return writer


ExprLike: TypeAlias = Expr | int | float | bool | np.generic | SizeExpr
NUMERIC = (Expr, int, float, np.generic, SizeExpr)
"""The classes of `ExprLike`."""


Extent: TypeAlias = int | Expr | SizeExpr
"""The length of something: a number, or an expression of size variables that are given when a schedule is made.

In functions of models, whose sizes are known by name, it may be one over those names.
"""


class Range(NamedTuple):
    """The range that an iteration variable runs over, in TVM's form."""

    min: Extent
    extent: Extent


class Axis(Expr):
    """An iteration variable: `extent` values from `start`; equal only to itself."""

    dtype = INT
    over_axes = True

    def __init__(self, name: str, extent: Extent, *, start: Extent = 0, reduce: bool = False):
        self.name = name
        self.start = start
        self.extent = extent
        self.reduce = reduce

    @property
    def dom(self) -> Range:
        return Range(self.start, self.extent)

    @property
    def var(self) -> Axis:
        """The expression of the variable: itself."""
        return self

    @property
    def iter_type(self) -> int:
        """TVM's number of what it runs over: 0 elements, 2 terms of a reduction."""
        return 2 if self.reduce else 0

    @property
    def thread_tag(self) -> str:
        return ""


class Var(Expr):
    """A scalar that a schedule is made for: `create_schedule(.., sizes={name: value})`; or an operand of a reducer."""

    def __init__(self, name: str, dtype: str):
        self.name = name
        self.dtype = dtype


class SizeVar(Var):
    """A scalar that is not negative."""


@dataclass(frozen=True, eq=False, repr=False)
class Const(Expr):
    """A number. With a location it is there wherever it is used, else where what uses it is."""

    value: int | float | bool
    dtype: str
    location: LocationAttr | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SizeNumber(Expr):
    """A size of a call, as a number."""

    value: SizeExpr
    dtype: str


_INDEX_ARITHMETIC = frozenset({"add", "sub", "mul", "max", "min", "floordiv", "floormod"})


@dataclass(frozen=True, eq=False, repr=False)
class Binary(Expr):
    """`op` is a key of the tables of `operators`: add, floordiv, max, shl, .."""

    op: str
    a: Expr
    b: Expr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        # Asked for when a parent is made: properties would walk down the whole expression each time.
        object.__setattr__(self, "dtype", self.a.dtype)
        object.__setattr__(self, "over_axes", self.op in _INDEX_ARITHMETIC and combines_axes(self))


def combines_axes(expr: Binary | Compare) -> bool:
    """Return whether both operands are arithmetic of axes, or one is and the other a whole number."""
    a, b = expr.a, expr.b
    if not (a.over_axes or b.over_axes):
        return False
    return (a.over_axes or isinstance(a, _WHOLE)) and (b.over_axes or isinstance(b, _WHOLE))


_WHOLE = (Const, SizeNumber)


@dataclass(frozen=True, eq=False, repr=False)
class Compare(Expr):
    """`op` among eq ne lt le gt ge."""

    op: str
    a: Expr
    b: Expr
    dtype = BOOL

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", with_lanes(BOOL, lanes_of(self.a.dtype)))

    def __bool__(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.op not in ("eq", "ne"):
            super().__bool__()
        a, b = self.a, self.b
        return (a.value == b.value if isinstance(a, Const) and isinstance(b, Const) else a is b) == (self.op == "eq")


@dataclass(frozen=True, eq=False, repr=False)
class Not(Expr):
    a: Expr
    dtype = BOOL

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", with_lanes(BOOL, lanes_of(self.a.dtype)))


@dataclass(frozen=True, eq=False, repr=False)
class Select(Expr):
    """`guarded`: only the taken side may be evaluated, so that reads outside a tensor are harmless in the other."""

    condition: Expr
    true_value: Expr
    false_value: Expr
    guarded: bool
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.true_value.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Cast(Expr):
    dtype: str  # pyright: ignore[reportIncompatibleVariableOverride]
    a: Expr

    @property
    def value(self) -> Expr:
        """The operand, by TVM's name."""
        return self.a


@dataclass(frozen=True, eq=False, repr=False)
class Reinterpret(Expr):
    """The number of another dtype that has the same bits."""

    dtype: str  # pyright: ignore[reportIncompatibleVariableOverride]
    a: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Expr):
    """An op of several numbers or parts: `fma`, `dot2_bf16`, `join_bytes`, `widen_pairs`; in tir a copy of any op."""

    dtype: str  # pyright: ignore[reportIncompatibleVariableOverride]
    op: str | Operation
    parts: tuple[Expr, ...]


class Broadcast(Joint):
    """A vector with one number in all lanes."""

    def __init__(self, value: ExprLike, lanes: int, span: object = None):
        del span
        number = convert(value)
        super().__init__(with_lanes(number.dtype, lanes), "broadcast", (number,))

    @property
    def value(self) -> Expr:
        return self.parts[0]

    @property
    def lanes(self) -> int:
        return lanes_of(self.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expr):
    """A function of one number of the math dialect: `exp`, or `abs`, `negative` and `popcount`."""

    name: str
    a: Expr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.a.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Read(Expr):
    """An element of a tensor, or a vector of these; with `otherwise`, that number where the point lies outside."""

    tensor: Source
    indices: tuple[Expr, ...]
    otherwise: Const | None = None

    @property
    def buffer(self) -> Any:
        """The buffer, or the tensor, by TVM's name."""
        return self.tensor.buffer or self.tensor

    @property
    def producer(self) -> Source:
        return self.tensor

    @property
    def dtype(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return accessed(self.tensor.dtype, self.indices)


def accessed(dtype: str, indices: Sequence[Expr]) -> str:
    """The dtype of what is read or written at indices: with the lanes of the last one."""
    return with_lanes(dtype, lanes_of(indices[-1].dtype)) if indices else dtype


@dataclass(frozen=True, eq=False, repr=False)
class CallExtern(Expr):
    """A call of a C function without side effects on numbers."""

    dtype: str  # pyright: ignore[reportIncompatibleVariableOverride]
    callee: str
    arguments: tuple[Expr, ...]


def number_of(value: float | SizeExpr, dtype: str) -> Const | SizeNumber:
    """A number of a dtype, or a size as one; raises ScheduleError when the dtype cannot hold the number."""
    return SizeNumber(value, dtype) if isinstance(value, SizeExpr) else constant(value, dtype)


def constant(value: float, dtype: str) -> Const:
    """A number of a dtype; raises ScheduleError when the dtype cannot hold it."""
    value = python_number(value)
    if is_float(dtype):
        return Const(float(value), dtype)
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        fail(f"te: expected a whole number beside {dtype}, got {value}")
    low, high = limits(dtype)
    if not low <= value <= high:
        fail(f"te: expected a number of {dtype}, {low} to {high}; the literal value {value} is out of range")
    return Const(bool(value) if dtype == BOOL else int(value), dtype)


def convert(value: ExprLike, dtype: str | None = None) -> Expr:
    """An expression; a Python number gets `dtype`, or int32, float32 or bool by its type."""
    if isinstance(value, Expr):
        return value.scalar()
    if isinstance(value, SizeExpr):
        return SizeNumber(value, dtype or INT)
    value = python_number(value)
    if not isinstance(value, bool | int | float):
        fail(f"te: expected an expression or a number, got {type(value).__name__}")
    return constant(value, dtype or natural_dtype(value))


def _number_beside(value: ExprLike, other: ExprLike) -> Expr:
    """A Python number takes the dtype of the other side; a fraction beside integers is a float32."""
    if isinstance(value, Expr) or not isinstance(other, Expr):
        return convert(value)
    dtype = element_of(other.dtype)
    if isinstance(value, SizeExpr):
        return SizeNumber(value, INT if dtype == BOOL else dtype)
    value = python_number(value)
    fraction = isinstance(value, float) and not is_float(dtype)
    return convert(value) if fraction or (dtype == BOOL and type(value) is int) else convert(value, dtype)


def pair(op: str, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Two expressions of one dtype."""
    if isinstance(a, Expr) and isinstance(b, Expr):
        left, right = a.scalar(), b.scalar()
        if left.dtype == right.dtype:
            return left, right
    else:
        left, right = _number_beside(a, b), _number_beside(b, a)
    dtype = promote(op, left.dtype, right.dtype)
    return left.astype(dtype), right.astype(dtype)


def _folds(value: Expr) -> TypeGuard[Const]:
    """Return whether a node is a number that nothing else asks for by its location."""
    return isinstance(value, Const) and value.location is None


_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1}
"""The operands that leave an integer unchanged."""


def binary(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """Return an arithmetic node; constants fold, and operations that do not change an integer are dropped.

    Raises ScheduleError when the operator has no meaning on the operands' dtype.
    """
    left, right = pair(op, a, b)
    if (is_bool := left.dtype.startswith(BOOL)) and op not in LOGIC:
        fail(f"te.{op}: expected numbers, got {left.dtype}; use astype")
    if not is_bool and op not in (FLOATS if is_float(left.dtype) else INTEGERS):
        wanted = "integers" if op in BITWISE or op in INTEGERS else "floats"
        fail(f"te.{op}: expected {wanted}, got {left.dtype}; use astype")
    if op in ("add", "sub", "mul") and _folds(left) and _folds(right):
        x, y = left.value, right.value
        return constant({"add": x + y, "sub": x - y, "mul": x * y}[op], left.dtype)
    if op in _NEUTRAL and not is_bool and not is_float(left.dtype) and _folds(right) and right.value == _NEUTRAL[op]:
        return left
    return Binary(op, left, right)


def operate(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """Return the result of an operator of Python: `binary`, and for "/" the quotient of floats."""
    if op != "/":
        return binary(op, a, b)
    left, right = pair("div", a, b)
    if not is_float(left.dtype):
        fail(
            f"te: expected floats beside '/', got {left.dtype}: there are several integer divisions; "
            "call div, indexdiv/indexmod, floordiv/floormod or truncdiv/truncmod"
        )
    return binary("div", left, right)


def compare(op: str, a: ExprLike, b: ExprLike) -> Compare:
    return Compare(op, *pair(op, a, b))
