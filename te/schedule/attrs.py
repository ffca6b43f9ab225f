"""The marks that primitives put on iteration variables, by TVM's names: `s[T].iter_var_attrs[axis].bind_thread`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute

TYPES = {
    "data": 0,
    "thread": 1,
    "reduce": 2,
    "ordered": 3,
    "opaque": 4,
    "unrolled": 5,
    "vectorized": 6,
    "parallel": 7,
    "tensorized": 8,
}
"""TVM's numbers of what iteration variables are, and of what they are marked as."""


_PRAGMA = "pragma_"


@dataclass(frozen=True)
class IterVarAttr:
    """The marks of one iteration variable; None and () where a primitive said nothing."""

    iter_type: int
    bind_thread: object | None
    tensor_intrin: object | None
    pragma_keys: tuple[str, ...]
    pragma_values: tuple[int | str | None, ...]


def attr_of(sort: str, kind: str, thread: object, intrin: object, hints: dict[str, Attribute]) -> IterVarAttr:
    """The attributes of a variable of a sort that is marked so."""
    pragmas = {key.removeprefix(_PRAGMA): value for key, value in hints.items() if key.startswith(_PRAGMA)}
    values = tuple(map(_value, pragmas.values()))
    return IterVarAttr(TYPES.get(kind, TYPES[sort]), thread, intrin, tuple(pragmas), values)


def _value(value: Attribute) -> int | str | None:
    match value:
        case UnitAttr():
            return None
        case IntegerAttr():
            return value.value.data
        case StringAttr():
            return value.data
        case _:
            return str(value)
