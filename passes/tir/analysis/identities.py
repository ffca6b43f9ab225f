"""Arithmetic that gives one of its operands: `x + 0`, `min(x, x)`, `-(-x)`. Of floats what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.tir import SelectOp
from ....dialects.tir.lanes import scalar_type

Identity: TypeAlias = Callable[[SSAValue, SSAValue], SSAValue | None]


def unchanged(op: Operation) -> SSAValue | None:
    """The operand that the result of `op` is; None where it may be another value."""
    if isinstance(op, arith.SelectOp | SelectOp):
        _, first, second = op.operands
        return first if first is second else None
    if isinstance(op, arith.NegfOp):
        return op.operand.owner.operand if isinstance(op.operand.owner, arith.NegfOp) else None
    identity = IDENTITIES.get(type(op))
    return None if identity is None else identity(op.operands[0], op.operands[1])


def number_of(value: SSAValue) -> float | None:
    """The number that a value is, in all lanes; None for others. True is -1, as all bits of it are set."""
    if not isinstance(value.owner, arith.ConstantOp):
        return None
    constant: Attribute = value.owner.value
    number: object = None
    if isinstance(constant, DenseIntOrFPElementsAttr):
        number = constant.get_values()[0] if constant.is_splat() else None
    elif isinstance(constant, IntegerAttr | FloatAttr):
        number = cast(float, constant.value.data)
    if not isinstance(number, int | float):
        return None
    return -abs(number) if scalar_type(value.type) == i1 else number


def _neutral(wanted: float, *, both: bool = False) -> Identity:
    def find(a: SSAValue, b: SSAValue) -> SSAValue | None:
        if number_of(b) == wanted:
            return a
        return b if both and number_of(a) == wanted else None

    return find


def _multiply(a: SSAValue, b: SSAValue) -> SSAValue | None:
    for factor, other in ((b, a), (a, b)):
        if (number := number_of(factor)) in (0, 1):
            return other if number else factor
    return None


def _same(a: SSAValue, b: SSAValue) -> SSAValue | None:
    return a if a is b else None


def _and(a: SSAValue, b: SSAValue) -> SSAValue | None:
    for bits, other in ((b, a), (a, b)):
        if (number := number_of(bits)) in (0, -1):
            return other if number else bits
    return _same(a, b)


def _or(a: SSAValue, b: SSAValue) -> SSAValue | None:
    for bits, other in ((b, a), (a, b)):
        if (number := number_of(bits)) in (0, -1):
            return bits if number else other
    return _same(a, b)


def _xor(a: SSAValue, b: SSAValue) -> SSAValue | None:
    if number_of(b) == 0:
        return a
    # Twice the same number, as in `not (not x)`.
    inner = a.owner
    if isinstance(inner, arith.XOrIOp) and (number := number_of(b)) is not None and number_of(inner.rhs) == number:
        return inner.lhs
    return None


IDENTITIES: Mapping[type[Operation], Identity] = {
    arith.AddiOp: _neutral(0, both=True),
    arith.SubiOp: _neutral(0),
    arith.MuliOp: _multiply,
    arith.MulfOp: _neutral(1, both=True),
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.XOrIOp: _xor,
    **dict.fromkeys((arith.DivfOp, arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp), _neutral(1)),
    **dict.fromkeys((arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp), _neutral(0)),
    **dict.fromkeys((arith.MinSIOp, arith.MinUIOp, arith.MinimumfOp), _same),
    **dict.fromkeys((arith.MaxSIOp, arith.MaxUIOp, arith.MaximumfOp), _same),
}
