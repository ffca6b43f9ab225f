"""Numbers and their dtypes, where expressions stand for ops: integers of ops have no sign."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.element_types import DTYPES, dtype_name
from ...support.dtypes import BOOL, bits, is_unsigned
from .expr import Const, Expr, Reinterpret
from .walks import at


def number_of(value: Attribute, dtype: str) -> Const:
    """The number that an attribute holds, of a dtype."""
    if isinstance(value, FloatAttr):
        return Const(value.value.data, dtype)
    assert isinstance(value, IntegerAttr)
    number = value.value.data
    return Const(bool(number), dtype) if dtype == BOOL else as_integers(Const(number, signed(dtype)), dtype)


def signed(dtype: str) -> str:
    """The dtype of integers of the same bits that have a sign."""
    return dtype.removeprefix("u")


def other_sign(dtype: str) -> str:
    """The dtype of integers of the same bits, with a sign or without."""
    return dtype.removeprefix("u") if dtype.startswith("u") else f"u{dtype}"


def as_integers(value: Expr, dtype: str) -> Any:
    """A value as the integers of the same bits with a sign, or without one."""
    if value.dtype == dtype:
        return value
    if isinstance(value, Const):
        width = 1 << bits(dtype)
        number = int(value.value) % width
        return at(
            Const(number - width if not is_unsigned(dtype) and number * 2 >= width else number, dtype), value.location
        )
    if isinstance(value, Reinterpret) and value.a.dtype == dtype:
        return value.a
    return Reinterpret(dtype, value)


def alike(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two values of the same bits; a number takes the sign of the other."""
    if a.dtype == b.dtype:
        return a, b
    if bits(a.dtype) != bits(b.dtype):
        return a.astype("int64"), b.astype("int64")
    return (as_integers(a, b.dtype), b) if isinstance(a, Const) else (a, as_integers(b, a.dtype))


def is_true(value: SSAValue) -> bool:
    """Return whether a value is the constant True."""
    owner = value.owner
    return isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr) and bool(owner.value.value.data)


def is_fast(op: Operation) -> bool:
    """Return whether an op of floats may be computed otherwise than it says."""
    flags = op.properties.get("fastmath")
    return flags is not None and flags != arith.FastMathFlagsAttr("none")


def dtype_of(type_: Attribute) -> str:
    """TVM's name of the type of a value, which of integers is that of signed ones."""
    if isinstance(type_, VectorType):
        return f"{dtype_of(cast('VectorType[Attribute]', type_).element_type)}x{'x'.join(map(str, type_.get_shape()))}"
    if isinstance(type_, IndexType):
        return "int64"
    return dtype_name(type_) if type_ in DTYPES.values() else "handle"
