"""Two float operations that are one: `-(x * c)` is `x * -c`, and `max(max(x, c), d)` is a maximum with one number.

LLVM computes them by one instruction whatever it is given, and names the line of the second. An op that stands for both
names the layers of both. All of it is exact, of zeros and infinities too: `-(x + c)` is not `-c - x`, where that is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, isnan
from typing import TypeAlias, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.tir.lanes import scalar_type
from ....provenance.span import fuse
from ..analysis.identities import number_of
from .constants import constant

Operand: TypeAlias = SSAValue | float
"""A value, or a number that becomes a constant."""


def merged(op: Operation) -> list[Operation] | None:
    """The ops that stand for `op` and for one whose result it reads, the last of them for the result of `op`.

    They stand in no block. None where there is nothing to merge.
    """
    rule = _RULES.get(type(op))
    if rule is None or (merge := rule(op)) is None:
        return None
    kind, operands, parts = merge
    if any(part.properties.get("fastmath") != op.properties.get("fastmath") for part in parts):
        return None
    location = fuse([*(part.location for part in parts), op.location])
    type_ = op.results[0].type
    ops: list[Operation] = []
    values: list[SSAValue] = []
    for operand in operands:
        if not isinstance(operand, SSAValue):
            number = constant(FloatAttr(operand, cast(AnyFloat, scalar_type(type_))), type_, location)
            ops.append(number)
            operand = number.result
        values.append(operand)
    ops.append(kind.create(operands=values, result_types=[type_], properties=dict(op.properties), location=location))
    return ops


Merge: TypeAlias = tuple[type[Operation], Sequence[Operand], Sequence[Operation]]
"""An op, its operands, and the ops that it stands for besides the one that it replaces."""


def _negative(value: SSAValue) -> arith.NegfOp | None:
    return value.owner if isinstance(value.owner, arith.NegfOp) else None


def _shared(value: SSAValue) -> bool:
    return len(list(value.uses)) > 1


def _orders(op: Operation) -> tuple[tuple[SSAValue, SSAValue], ...]:
    """The two operands in both orders."""
    a, b = op.operands
    return (a, b), (b, a)


def _of_negation(op: Operation) -> Merge | None:
    """-(x * c), -(x / c), -(c / x), -|x|."""
    inner = op.operands[0].owner
    if isinstance(inner, math.AbsFOp) and not _shared(inner.result):
        return math.CopySignOp, (inner.operand, -1.0), (inner,)
    if not isinstance(inner, arith.MulfOp | arith.DivfOp) or _shared(inner.result):
        return None
    a, b = inner.operands
    if (number := number_of(b)) is not None:
        return type(inner), (a, -number), (inner,)
    return None if (number := number_of(a)) is None else (type(inner), (-number, b), (inner,))


def _of_product(op: Operation) -> Merge | None:
    """-x * c, -x / c, c / -x, -x * -y, -x / -y."""
    a, b = op.operands
    first, second = _negative(a), _negative(b)
    if first is not None and second is not None:
        return type(op), (first.operand, second.operand), (first, second)
    if first is not None and (number := number_of(b)) is not None:
        return type(op), (first.operand, -number), (first,)
    if second is not None and (number := number_of(a)) is not None:
        return type(op), (-number, second.operand), (second,)
    return None


def _of_sum(op: Operation) -> Merge | None:
    """x + -y, -x + y."""
    for value, other in _orders(op):
        if (inner := _negative(other)) is not None:
            return arith.SubfOp, (value, inner.operand), (inner,)
    return None


def _of_difference(op: Operation) -> Merge | None:
    """x - -y, -x - c."""
    a, b = op.operands
    if (inner := _negative(b)) is not None:
        return arith.AddfOp, (a, inner.operand), (inner,)
    if (inner := _negative(a)) is not None and (number := number_of(b)) is not None:
        return arith.SubfOp, (-number, inner.operand), (inner,)
    return None


def _of_magnitude(op: Operation) -> Merge | None:
    """|-x|."""
    inner = _negative(op.operands[0])
    return None if inner is None else (math.AbsFOp, (inner.operand,), (inner,))


def _of_bound(sign: int) -> Callable[[Operation], Merge | None]:
    """max(max(x, c), d); of minima where `sign` is -1."""

    def order(number: float) -> tuple[float, float]:
        # -0 is less than 0.
        return sign * number, sign * copysign(1, number)

    def rule(op: Operation) -> Merge | None:
        for value, bound in _orders(op):
            inner, number = value.owner, number_of(bound)
            if number is None or not isinstance(inner, Operation) or type(inner) is not type(op) or _shared(value):
                continue
            for x, other in _orders(inner):
                if (first := number_of(other)) is not None and not isnan(first) and not isnan(number):
                    return type(op), (x, max(first, number, key=order)), (inner,)
        return None

    return rule


_RULES: dict[type[Operation], Callable[[Operation], Merge | None]] = {
    arith.NegfOp: _of_negation,
    arith.MulfOp: _of_product,
    arith.DivfOp: _of_product,
    arith.AddfOp: _of_sum,
    arith.SubfOp: _of_difference,
    math.AbsFOp: _of_magnitude,
    arith.MaximumfOp: _of_bound(1),
    arith.MinimumfOp: _of_bound(-1),
}
