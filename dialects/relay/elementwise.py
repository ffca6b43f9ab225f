"""Elementwise and broadcasting operators."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..element_types import DTYPES
from .attributes import real, required_real, required_string
from .operator import BROADCAST, ELEMWISE, Operator, Signature, Tensor


class Unary(Operator):
    """Result of the operand's type."""

    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(ELEMWISE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [sig.types[0]]


@irdl_op_definition
class AbsOp(Unary):
    name = "relay.abs"


@irdl_op_definition
class AcosOp(Unary):
    name = "relay.acos"


@irdl_op_definition
class AcoshOp(Unary):
    name = "relay.acosh"


@irdl_op_definition
class AsinOp(Unary):
    name = "relay.asin"


@irdl_op_definition
class AsinhOp(Unary):
    name = "relay.asinh"


@irdl_op_definition
class AtanOp(Unary):
    name = "relay.atan"


@irdl_op_definition
class AtanhOp(Unary):
    name = "relay.atanh"


@irdl_op_definition
class BitwiseNotOp(Unary):
    """Of integers and booleans."""

    name = "relay.bitwise_not"

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if not isinstance(sig.types[0].element_type, IntegerType):
            sig.fail("an operand of integers or booleans", str(sig.types[0]))
        return [sig.types[0]]


@irdl_op_definition
class CeilOp(Unary):
    name = "relay.ceil"


@irdl_op_definition
class CopyOp(Unary):
    name = "relay.copy"


@irdl_op_definition
class CosOp(Unary):
    name = "relay.cos"


@irdl_op_definition
class CoshOp(Unary):
    name = "relay.cosh"


@irdl_op_definition
class ErfOp(Unary):
    name = "relay.erf"


@irdl_op_definition
class ExpOp(Unary):
    name = "relay.exp"


@irdl_op_definition
class FloorOp(Unary):
    name = "relay.floor"


@irdl_op_definition
class LogOp(Unary):
    name = "relay.log"


@irdl_op_definition
class Log10Op(Unary):
    name = "relay.log10"


@irdl_op_definition
class Log2Op(Unary):
    name = "relay.log2"


@irdl_op_definition
class LogicalNotOp(Unary):
    """Of booleans."""

    name = "relay.logical_not"

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if sig.types[0].element_type != i1:
            sig.fail("a boolean operand", str(sig.types[0]))
        return [sig.types[0]]


@irdl_op_definition
class NegativeOp(Unary):
    name = "relay.negative"


@irdl_op_definition
class OnesLikeOp(Unary):
    name = "relay.ones_like"


@irdl_op_definition
class ReluOp(Unary):
    name = "relay.nn.relu"


@irdl_op_definition
class RoundOp(Unary):
    """Round half to even."""

    name = "relay.round"


@irdl_op_definition
class RsqrtOp(Unary):
    name = "relay.rsqrt"


@irdl_op_definition
class SigmoidOp(Unary):
    name = "relay.sigmoid"


@irdl_op_definition
class SignOp(Unary):
    """-1, 0 or 1; NaN stays."""

    name = "relay.sign"


@irdl_op_definition
class SinOp(Unary):
    name = "relay.sin"


@irdl_op_definition
class SinhOp(Unary):
    name = "relay.sinh"


@irdl_op_definition
class SqrtOp(Unary):
    name = "relay.sqrt"


@irdl_op_definition
class TanOp(Unary):
    name = "relay.tan"


@irdl_op_definition
class TanhOp(Unary):
    name = "relay.tanh"


@irdl_op_definition
class TruncOp(Unary):
    """Round towards zero."""

    name = "relay.trunc"


@irdl_op_definition
class ZerosLikeOp(Unary):
    name = "relay.zeros_like"


class Predicate(Unary):
    """A unary operator whose result is boolean."""

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [TensorType(i1, sig.shape(0))]


@irdl_op_definition
class IsFiniteOp(Predicate):
    name = "relay.isfinite"


@irdl_op_definition
class IsInfOp(Predicate):
    name = "relay.isinf"


@irdl_op_definition
class IsNanOp(Predicate):
    name = "relay.isnan"


@irdl_op_definition
class ClipOp(Unary):
    """Values below `a_min` become `a_min`, values above `a_max` become `a_max`; NaN stays."""

    name = "relay.clip"
    a_min = required_real()
    a_max = required_real()


@irdl_op_definition
class LeakyReluOp(Unary):
    name = "relay.nn.leaky_relu"
    alpha = real(0.25)


@irdl_op_definition
class CastOp(Unary):
    """To element type `dtype` (a TVM dtype name)."""

    name = "relay.cast"
    dtype = required_string()

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if (dtype := sig.str("dtype")) not in DTYPES:
            sig.fail(f"a dtype among {', '.join(DTYPES)}", repr(dtype))
        return [TensorType(DTYPES[dtype], sig.shape(0))]


def broadcast_shape(sig: Signature, left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """The numpy broadcast of two shapes."""
    rank = max(len(left), len(right))
    padded = zip((1,) * (rank - len(left)) + tuple(left), (1,) * (rank - len(right)) + tuple(right), strict=True)
    shape: list[int] = []
    for a, b in padded:
        if a != b and a != 1 and b != 1:
            sig.fail("shapes that broadcast", f"{list(left)} and {list(right)}")
        shape.append(b if a == 1 else a)
    return tuple(shape)


class Binary(Operator):
    """Both operands of one element type, shapes broadcast as numpy's."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(BROADCAST)

    @classmethod
    def element(cls, operand: Attribute) -> Attribute:
        """The result's element type for the operands'."""
        return operand

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [TensorType(cls.element(sig.same_element()), broadcast_shape(sig, sig.shape(0), sig.shape(1)))]


class Compare(Binary):
    """A binary operator whose result is boolean."""

    @classmethod
    def element(cls, operand: Attribute) -> Attribute:
        return i1


@irdl_op_definition
class AddOp(Binary):
    name = "relay.add"


@irdl_op_definition
class SubtractOp(Binary):
    name = "relay.subtract"


@irdl_op_definition
class MultiplyOp(Binary):
    name = "relay.multiply"


@irdl_op_definition
class DivideOp(Binary):
    """Integers divide towards zero."""

    name = "relay.divide"


@irdl_op_definition
class PowerOp(Binary):
    name = "relay.power"


@irdl_op_definition
class MaximumOp(Binary):
    name = "relay.maximum"


@irdl_op_definition
class MinimumOp(Binary):
    name = "relay.minimum"


@irdl_op_definition
class EqualOp(Compare):
    name = "relay.equal"


@irdl_op_definition
class LessOp(Compare):
    name = "relay.less"


@irdl_op_definition
class GreaterOp(Compare):
    name = "relay.greater"


OPERATORS: list[type[Operator]] = [
    AbsOp,
    AcosOp,
    AcoshOp,
    AsinOp,
    AsinhOp,
    AtanOp,
    AtanhOp,
    BitwiseNotOp,
    CeilOp,
    CopyOp,
    CosOp,
    CoshOp,
    ErfOp,
    ExpOp,
    FloorOp,
    LogOp,
    Log10Op,
    Log2Op,
    LogicalNotOp,
    NegativeOp,
    OnesLikeOp,
    ReluOp,
    RoundOp,
    RsqrtOp,
    SigmoidOp,
    SignOp,
    SinOp,
    SinhOp,
    SqrtOp,
    TanOp,
    TanhOp,
    TruncOp,
    ZerosLikeOp,
    IsFiniteOp,
    IsInfOp,
    IsNanOp,
    ClipOp,
    LeakyReluOp,
    CastOp,
    AddOp,
    SubtractOp,
    MultiplyOp,
    DivideOp,
    PowerOp,
    MaximumOp,
    MinimumOp,
    EqualOp,
    LessOp,
    GreaterOp,
]
