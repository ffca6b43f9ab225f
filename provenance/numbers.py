"""Numbers of ops: identities that can be written down.

An op gets its number when somebody first asks for it and keeps it wherever it moves; no other op of the process gets
it. A `clone` is another op, `same_module` the same ops in another module.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Annotated, TypeAlias, TypeVar

from xdsl.ir import Operation, OpResult, SSAValue

from ..runtime.values.moves import Move
from .walk import walk

OpT = TypeVar("OpT", bound=Operation)
OpNumber: TypeAlias = Annotated[int, "the number of an op"]
Value: TypeAlias = tuple[OpNumber, int]
"""The number of an op, and which of its results."""
ValueMove: TypeAlias = tuple[Value, Value | None, Move]
"""A value; the one that it is from now on, None if nothing computes it any more; and how that one has to be moved."""

_KEY = "op_number"
_fresh = count(1)


def number_of(op: Operation) -> int:
    """The number of an op, which gets one if it has none."""
    fields = vars(op)
    if (number := fields.get(_KEY)) is None:
        number = fields[_KEY] = next(_fresh)
    return number


def numbered(op: Operation) -> int:
    """The number of an op; 0 if nobody asked for it yet."""
    return vars(op).get(_KEY, 0)


def set_number(op: Operation, number: int) -> None:
    """Make `op` the op of a number, as it is read back."""
    vars(op)[_KEY] = number


def fresh_numbers(amount: int) -> range:
    """So many numbers that no op has or gets."""
    first = next(_fresh)
    for _ in range(amount - 1):
        next(_fresh)
    return range(first, first + amount)


def number_all(root: Operation) -> list[Operation]:
    """Number the ops at and below `root`; return those that had no number."""
    unknown = [op for op in walk(root) if _KEY not in vars(op)]
    for op in unknown:
        vars(op)[_KEY] = next(_fresh)
    return unknown


def same_module(module: OpT) -> OpT:
    """A copy of a module, or of a function, whose ops have the numbers of the original's."""
    copy = module.clone()
    number_alike(module, copy)
    return copy


def number_alike(original: Operation, copy: Operation) -> None:
    """Make a copy of an op, and what is in it, the same ops as the original and what is in that."""
    for op, twin in zip(walk(original), walk(copy), strict=True):
        vars(twin)[_KEY] = number_of(op)


def moves_of(old: Iterable[SSAValue], new: Iterable[SSAValue | None], move: Move = ()) -> list[ValueMove]:
    """Return what becomes of the old results of an op, for `Entry.moves`: values that are the same, but for a move."""
    pairs = [(value_of(before), value_of(after)) for before, after in zip(old, new, strict=True)]
    return [(before, after, move) for before, after in pairs if before is not None]


def value_of(value: SSAValue | None) -> Value | None:
    """The identity of an op's result; None for what no op computes."""
    return (number_of(value.op), value.index) if isinstance(value, OpResult) else None
