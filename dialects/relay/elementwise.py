"""Operators on each element. The tables are the declarations: name, meaning in numpy, operands taken.

A class statement is for what a table has no column for, and for what patterns name in their signatures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import OpTrait

from ...support.dtypes import rounded
from ..element_types import DTYPES, dtype_name, is_integer, is_small, numpy_dtype
from ..sizes import broadcast_sizes
from ..sizes.types import tensor_of
from .attributes import real, required_real, required_string, string
from .numerics import AnyArray, divide, is_float, widened
from .operator import Operator, Signature, Tensor
from .small_dtypes import converted, element_bits, reinterpreted
from .traits import (
    ANY,
    BOOLEANS,
    BROADCAST,
    ELEMWISE,
    FLAT,
    FLOATS,
    INTEGERS,
    OPAQUE,
    Kind,
    Neutral,
    Pointwise,
    ScaleEquivariant,
)


class Unary(Operator):
    """Result of the operand's shape, and of its element type unless RESULT says another."""

    OPERAND: ClassVar[Kind] = ANY
    RESULT: ClassVar[Attribute | None] = None

    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(ELEMWISE, Pointwise())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(cls.OPERAND)
        return [sig.types[0] if cls.RESULT is None else tensor_of(cls.RESULT, sig.shape(0))]


def broadcast_shape(sig: Signature, left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """The numpy broadcast of two shapes."""
    shape = broadcast_sizes(left, right)
    if shape is None:
        sig.fail("shapes that broadcast", f"{list(left)} and {list(right)}")
    return cast("tuple[int, ...]", shape)


class Binary(Operator):
    """Both operands of one element type, shapes broadcast as numpy's; the result's element type as in `Unary`."""

    OPERANDS: ClassVar[Kind] = ANY
    RESULT: ClassVar[Attribute | None] = None

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(BROADCAST, Pointwise())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        element = sig.same_element()
        sig.of(cls.OPERANDS)
        return [tensor_of(cls.RESULT or element, broadcast_shape(sig, sig.shape(0), sig.shape(1)))]


Function = Callable[..., AnyArray]


def plain(function: Function) -> Any:
    """The meaning of an operator that is a function of its operands alone."""

    def evaluate(cls: type[Operator], sig: Signature, *operands: Any) -> AnyArray:
        return function(*operands)

    return classmethod(evaluate)


def unary(
    op: str, numpy: Function, operand: Kind = ANY, result: Attribute | None = None, *more: OpTrait
) -> type[Unary]:
    """The class of a unary operator: `numpy` of the operand."""

    @irdl_op_definition
    class Row(Unary):
        name = f"relay.{op}"
        OPERAND: ClassVar[Kind] = operand
        RESULT: ClassVar[Attribute | None] = result
        evaluate = plain(numpy)
        traits = traits_def(*more)

    return Row


def binary(op: str, numpy: Function, operands: Kind = ANY, result: Attribute | None = None) -> type[Binary]:
    """The class of a binary operator: `numpy` of the operands."""
    kind = operands

    @irdl_op_definition
    class Row(Binary):
        name = f"relay.{op}"
        OPERANDS: ClassVar[Kind] = kind
        RESULT: ClassVar[Attribute | None] = result
        evaluate = plain(numpy)

    return Row


def _erf(x: AnyArray) -> AnyArray:
    """Computed in float64 and rounded once."""
    return np.fromiter(map(math.erf, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def _rsqrt(x: AnyArray) -> AnyArray:
    return 1 / np.sqrt(widened(x))


def _sigmoid(x: AnyArray) -> AnyArray:
    return 1 / (1 + np.exp(-widened(x)))


def _power(x: AnyArray, y: AnyArray) -> AnyArray:
    """Integers modulo their width; with a negative exponent the quotient 1 / x**-y towards zero, 0 for x = 0."""
    if is_float(x.dtype):
        return np.power(x, y)
    positive = np.power(x, np.maximum(y, 0))
    reciprocal = np.where(np.abs(x) == 1, np.power(x, np.abs(y)), 0)
    return np.where(y < 0, reciprocal, positive)


def _sign(x: AnyArray) -> AnyArray:
    """1 or -1; of a zero and of NaN the same."""
    return np.where(x == 0, x, np.sign(x))


# Float functions
AcosOp = unary("acos", np.arccos, FLOATS)
AcoshOp = unary("acosh", np.arccosh, FLOATS)
AsinOp = unary("asin", np.arcsin, FLOATS)
AsinhOp = unary("asinh", np.arcsinh, FLOATS)
AtanOp = unary("atan", np.arctan, FLOATS)
AtanhOp = unary("atanh", np.arctanh, FLOATS)
CbrtOp = unary("cbrt", np.cbrt, FLOATS)
CosOp = unary("cos", np.cos, FLOATS)
CoshOp = unary("cosh", np.cosh, FLOATS)
ErfOp = unary("erf", _erf, FLOATS)
Exp2Op = unary("exp2", np.exp2, FLOATS)
Expm1Op = unary("expm1", np.expm1, FLOATS)
LogOp = unary("log", np.log, FLOATS)
Log10Op = unary("log10", np.log10, FLOATS)
Log2Op = unary("log2", np.log2, FLOATS)
Log1pOp = unary("log1p", np.log1p, FLOATS)
RsqrtOp = unary("rsqrt", _rsqrt, FLOATS)
SinOp = unary("sin", np.sin, FLOATS)
SinhOp = unary("sinh", np.sinh, FLOATS)
TanOp = unary("tan", np.tan, FLOATS)

# Functions of any numbers. `round` takes halves to even, `trunc` goes towards zero.
AbsOp = unary("abs", np.abs)
CeilOp = unary("ceil", np.ceil, ANY, None, FLAT)
CopyOp = unary("copy", np.copy)
FloorOp = unary("floor", np.floor, ANY, None, FLAT)
OnesLikeOp = unary("ones_like", np.ones_like, ANY, None, FLAT)
RoundOp = unary("round", np.round, ANY, None, FLAT)
SignOp = unary("sign", _sign, ANY, None, FLAT)
TruncOp = unary("trunc", np.trunc, ANY, None, FLAT)
ZerosLikeOp = unary("zeros_like", np.zeros_like, ANY, None, FLAT)
BitwiseNotOp = unary("bitwise_not", np.invert, INTEGERS)

# Predicates
IsFiniteOp = unary("isfinite", np.isfinite, ANY, i1)
IsInfOp = unary("isinf", np.isinf, ANY, i1)
IsNanOp = unary("isnan", np.isnan, ANY, i1)
LogicalNotOp = unary("logical_not", np.logical_not, BOOLEANS)

# Of two operands
Atan2Op = binary("atan2", np.arctan2, FLOATS)
CopysignOp = binary("copysign", np.copysign, FLOATS)
EqualOp = binary("equal", np.equal, ANY, i1)
GreaterOp = binary("greater", np.greater, ANY, i1)
HypotOp = binary("hypot", np.hypot, FLOATS)
LessOp = binary("less", np.less, ANY, i1)
PowerOp = binary("power", _power)


@irdl_op_definition
class ExpOp(Unary):
    name = "relay.exp"
    OPERAND: ClassVar[Kind] = FLOATS
    evaluate = plain(np.exp)


@irdl_op_definition
class SqrtOp(Unary):
    name = "relay.sqrt"
    OPERAND: ClassVar[Kind] = FLOATS
    evaluate = plain(np.sqrt)


@irdl_op_definition
class TanhOp(Unary):
    name = "relay.tanh"
    OPERAND: ClassVar[Kind] = FLOATS
    evaluate = plain(np.tanh)


@irdl_op_definition
class SigmoidOp(Unary):
    name = "relay.sigmoid"
    OPERAND: ClassVar[Kind] = FLOATS
    evaluate = plain(_sigmoid)


@irdl_op_definition
class NegativeOp(Unary):
    name = "relay.negative"
    evaluate = plain(np.negative)


@irdl_op_definition
class MaximumOp(Binary):
    name = "relay.maximum"
    evaluate = plain(np.maximum)


@irdl_op_definition
class MinimumOp(Binary):
    name = "relay.minimum"
    evaluate = plain(np.minimum)


@irdl_op_definition
class AddOp(Binary):
    name = "relay.add"
    traits = traits_def(Neutral(0, commutes=True))
    evaluate = plain(np.add)


@irdl_op_definition
class SubtractOp(Binary):
    name = "relay.subtract"
    traits = traits_def(Neutral(0, commutes=False))
    evaluate = plain(np.subtract)


@irdl_op_definition
class MultiplyOp(Binary):
    name = "relay.multiply"
    traits = traits_def(Neutral(1, commutes=True))
    evaluate = plain(np.multiply)


@irdl_op_definition
class DivideOp(Binary):
    """Integers divide towards zero."""

    name = "relay.divide"
    traits = traits_def(Neutral(1, commutes=False))
    evaluate = plain(divide)


@irdl_op_definition
class ReluOp(Unary):
    name = "relay.nn.relu"
    traits = traits_def(ScaleEquivariant())

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.maximum(x, x.dtype.type(0))


@irdl_op_definition
class LeakyReluOp(Unary):
    name = "relay.nn.leaky_relu"
    OPERAND: ClassVar[Kind] = FLOATS
    alpha = real(0.25)
    traits = traits_def(ScaleEquivariant())

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.where(x > 0, x, x * x.dtype.type(sig.get("alpha")))


@irdl_op_definition
class ClipOp(Unary):
    """Values below `a_min` become `a_min`, values above `a_max` become `a_max`; NaN stays."""

    name = "relay.clip"
    a_min = required_real()
    a_max = required_real()

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        low, high = (rounded(sig.get(name), dtype_name(sig.types[0].element_type)) for name in ("a_min", "a_max"))
        if not is_float(x.dtype):
            info = np.iinfo(x.dtype)
            # Bounds beyond the type's range do not bind; a fractional one binds at the next integer inside.
            low = math.ceil(max(low, info.min)) if low > info.min else info.min
            high = math.floor(min(high, info.max)) if high < info.max else info.max
        return np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        low, high = sig.get("a_min"), sig.get("a_max")
        if not is_integer(element := sig.types[0].element_type):
            return low == -math.inf and high == math.inf
        if is_small(element):
            return False
        info = np.iinfo(numpy_dtype(element).name) if element != i1 else None
        return info is not None and low <= info.min and high >= info.max


@irdl_op_definition
class CastOp(Unary):
    """To element type `dtype` (a TVM dtype name).

    A float beyond the range of a narrow or unsigned integer keeps the low bits that it has as a wider signed one.
    A small integer is the last bits of what it is made of; a small float the nearest, beyond the range infinity where
    there is one, else NaN. `round_mode`, "up", "down" or "nearest", is for powers of two (float8_e8m0fnu) only.
    """

    name = "relay.cast"
    dtype = required_string()
    round_mode = string("")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if (dtype := sig.str("dtype")) not in DTYPES:
            sig.fail(f"a dtype among {', '.join(DTYPES)}", repr(dtype))
        return [tensor_of(DTYPES[dtype], sig.shape(0))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return converted(x, sig.str("dtype"), sig.str("round_mode"))

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        return DTYPES[sig.str("dtype")] == sig.types[0].element_type


@irdl_op_definition
class ReinterpretOp(Unary):
    """The numbers of element type `dtype`, of as many bits, that have the bits of the operand's.

    A bool has 8 bits, of which any makes it true.
    """

    name = "relay.reinterpret"
    dtype = required_string()

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        width, dtype = element_bits(dtype_name(sig.types[0].element_type)), sig.str("dtype")
        if dtype not in DTYPES or element_bits(dtype) != width:
            sig.fail(f"a dtype of {width} bits", repr(dtype))
        return [tensor_of(DTYPES[dtype], sig.shape(0))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return reinterpreted(x, sig.str("dtype"))

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        return DTYPES[sig.str("dtype")] == sig.types[0].element_type


@irdl_op_definition
class CastLikeOp(Operator):
    """To the element type of `dtype_like`, of which nothing else counts; as `cast` does it."""

    name = "relay.cast_like"
    data = operand_def(TensorType)
    dtype_like = operand_def(TensorType)
    result = result_def(TensorType)
    # Not to take what makes `dtype_like`, which may have any shape, into a kernel.
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [tensor_of(sig.types[1].element_type, sig.shape(0))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, dtype_like: AnyArray) -> AnyArray:
        return converted(data, dtype_name(sig.types[1].element_type))

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        return sig.types[0].element_type == sig.types[1].element_type
