"""The values of a function that need names, where statements and expressions stand for its ops."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation
from xdsl.traits import MemoryEffectKind, get_effects, is_side_effect_free

from ...dialects import tir

BUFFERS = (tir.AllocOp, tir.AllocConstOp, tir.DeclBufferOp)
CHEAP = (arith.ConstantOp, tir.IndexOp)
"""What is computed anew wherever it is used."""


def is_value(op: Operation) -> bool:
    return len(op.results) == 1 and not op.regions and not isinstance(op, BUFFERS)


def named_values(func: tir.PrimFuncOp) -> set[Operation]:
    """The ops whose values get names."""
    named = set[Operation]()
    users: dict[Operation, set[Operation]] = {}
    """The statements, and the values with names, that a value is part of."""
    for op in reversed([op for op in func.walk() if is_value(op)]):
        own = set[Operation]()
        for use in op.results[0].uses:
            user = use.operation
            own |= users[user] if is_value(user) and user not in named else {user}
        users[op] = own
        if not isinstance(op, CHEAP) and (len(own) > 1 or _is_late(op, own)):
            named.add(op)
    return named


def _is_late(op: Operation, users: set[Operation]) -> bool:
    """Return whether the value may be another one, or is computed more often, where it is used."""
    if not users:
        return not is_side_effect_free(op)
    (user,) = users
    if user.parent is not op.parent:
        return True
    if is_side_effect_free(op):
        return False
    behind = op.next_op
    while behind is not None and behind is not user:
        if not _keeps(behind, op):
            return True
        behind = behind.next_op
    return False


def _keeps(behind: Operation, op: Operation) -> bool:
    """Return whether a later op leaves what an op reads as it is."""
    read, touched = get_effects(op), get_effects(behind)
    if read is None or touched is None:
        return False
    places = {effect.value for effect in read}
    written = {effect.value for effect in touched if effect.kind is MemoryEffectKind.WRITE}
    return not written or (None not in written | places and not written & places)
