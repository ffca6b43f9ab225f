"""Operators by TVM's names: how a call's arguments and attributes become those of an op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.irdl import OptPropertyDef

from ...dialects.relay.attributes import Value
from ...dialects.relay.operator import Operator
from ...dialects.sizes import SizeExpr
from ...dialects.sizes.types import SizesAttr
from ...provenance.diagnostics import message
from ...support.errors import FrontendError
from ...support.names import did_you_mean
from .attrs import operators
from .expr import Constant, Expr, Op, Tuple

T = TypeVar("T")

_PREFIX = "relay."
_PAIRS = {"pad_width", "paddings", "crops"}
"""Lists of ints that TVM writes as lists of pairs."""
_SECTIONS = "indices_or_sections"
"""An int stands for so many equal parts, a list for where parts begin."""


def operator_names() -> tuple[str, ...]:
    """TVM's names of all operators."""
    return tuple(operators())


def name_of(cls: type[Operator]) -> str:
    """TVM's name of an operator."""
    return cls.name.removeprefix(_PREFIX)


def operator_named(name: str) -> type[Operator]:
    """The class of an operator; raises FrontendError for an unknown name."""
    operator = operators().get(name)
    if operator is None:
        hint = did_you_mean(name, operators())
        raise FrontendError(f"expected the name of an operator, got '{name}'{hint}")
    return operator


_SIZE = SizesAttr(ArrayAttr([StringAttr("n")]))
_SAMPLES = (
    ("an int", IntegerAttr(1, i64)),
    ("a float", FloatAttr(1.0, f64)),
    ("a bool", IntegerAttr(1, i1)),
    ("a string", StringAttr("")),
    ("a list of ints", DenseArrayBase.from_list(i64, [1])),
    ("a list of floats", DenseArrayBase.from_list(f64, [1.0])),
)


@cache
def attribute_kinds(cls: type[Operator]) -> Mapping[str, tuple[str, ...]]:
    """Attribute -> what it may be."""
    found: dict[str, tuple[str, ...]] = {}
    for name, definition in cls.declared_attributes().items():
        default = definition.default_value
        if isinstance(default, IntegerAttr):
            found[name] = ("a bool" if cast("IntegerAttr[Any]", default).type == i1 else "an int",)
            continue
        kinds = tuple(kind for kind, sample in _SAMPLES if definition.constr.verifies(sample))
        found[name] = tuple(k for k in kinds if k != "a bool") if "an int" in kinds else kinds
    return found


def takes_sizes(cls: type[Operator], key: str) -> bool:
    """Return whether an attribute may be sizes that a call decides."""
    return cls.declared_attributes()[key].constr.verifies(_SIZE)


def attributes_of(
    cls: type[Operator], given: Mapping[str, Any], location: LocationAttr | None = None
) -> dict[str, Value]:
    """The values of attributes, as the operator declares them: an int where a list is declared is a list of one.

    Raises FrontendError for an unknown attribute, a missing one and a value of another kind.
    """
    kinds, name = attribute_kinds(cls), name_of(cls)
    if unknown := sorted(set(given) - set(kinds)):
        known = ", ".join(kinds) or "none"
        raise FrontendError(message(name, f"attributes among {known}", ", ".join(unknown), location))
    found: dict[str, Value] = {}
    if "sections" in kinds and isinstance(given.get(_SECTIONS), int):
        given = {**given, "sections": True}
    for key, definition in cls.declared_attributes().items():
        value = given.get(key)
        if value is not None:
            found[key] = _converted(cls, key, value, kinds[key], location)
        elif definition.default_value is None and not isinstance(definition, OptPropertyDef):
            raise FrontendError(message(name, f"attribute {key}", "none", location))
    return found


def _converted(cls: type[Operator], key: str, value: Any, kinds: Sequence[str], location: LocationAttr | None) -> Value:
    given: Any = _plain(value)
    many = isinstance(given, list)
    items: list[Any] = _flat(cast("list[Any]", given)) if many else [given]
    if any(isinstance(item, SizeExpr) for item in items):
        if not takes_sizes(cls, key) or not all(isinstance(item, int | SizeExpr) for item in items):
            raise FrontendError(
                message(name_of(cls), f"{' or '.join(kinds)} for {key}", f"the size {items[0]}", location)
            )
        return items
    numbers = all(isinstance(item, int | float) for item in items)
    whole = numbers and all(float(item).is_integer() for item in items)
    for kind in kinds:
        match kind:
            case "a bool" if numbers and not many:
                return bool(items[0])
            case "an int" if whole and not many:
                return int(items[0])
            case "a float" if numbers and not many:
                return float(items[0])
            case "a string" if isinstance(given, str):
                return given
            case "a list of ints" if whole:
                return [int(item) for item in items]
            case "a list of floats" if numbers:
                return [float(item) for item in items]
            case _:
                continue
    wanted = f"{' or '.join(kinds)} for {key}"
    raise FrontendError(message(name_of(cls), wanted, repr(cast(object, given)), location))


def _plain(value: Any) -> Any:
    """A value of numpy's, or a constant's, as Python has it; sequences as lists."""
    match value:
        case Constant():
            return value.data.tolist()
        case np.generic() | np.ndarray():
            return cast(Any, value).tolist()
        case np.dtype():
            return str(cast(Any, value))
        case list() | tuple():
            return [_plain(item) for item in cast("Sequence[Any]", value)]
        case _:
            return value


def _flat(values: list[Any]) -> list[Any]:
    """Numbers, those of pairs one after the other."""
    return [x for item in values for x in (_flat(cast("list[Any]", item)) if isinstance(item, list) else [item])]


def is_absent(expr: Expr) -> bool:
    """Return whether an argument stands for an optional one that is left out: `()`."""
    return isinstance(expr, Tuple) and not expr.fields


def grouped(
    cls: type[Operator], args: Sequence[T], absent: Sequence[bool], location: LocationAttr | None = None
) -> list[T | None]:
    """One argument for each declared operand, None for an optional one that is left out.

    Raises FrontendError when there are too few or too many.
    """
    declared = cls.operand_groups()
    least = sum(1 for group in declared if not group.optional)
    if not least <= len(args) <= len(declared):
        wanted = str(least) if least == len(declared) else f"{least} to {len(declared)}"
        names = ", ".join(group.name for group in declared)
        raise FrontendError(message(name_of(cls), f"{wanted} arguments ({names})", str(len(args)), location))
    found: list[T | None] = []
    for group, arg, missing in zip(declared, args, absent, strict=False):
        found.append(None if group.optional and missing else arg)
    return found + [None] * (len(declared) - len(found))


def call_of(op: Operator) -> tuple[Op, list[tuple[int, ...] | int | None], dict[str, Any]]:
    """The callee, the places of its operands by argument, and the attributes that differ from their defaults."""
    sig, given = op.signature, op.properties
    places = sig.arguments(list(range(len(op.operands))))
    while places and places[-1] is None:
        places.pop()
    declared = type(op).declared_attributes()
    attrs = {key: sig.get(key) for key, d in declared.items() if key in given and given[key] != d.default_value}
    for key in _PAIRS & attrs.keys():
        attrs[key] = tuple(zip(attrs[key][::2], attrs[key][1::2], strict=True))
    if attrs.pop("sections", False):
        (attrs[_SECTIONS],) = attrs[_SECTIONS]
    return Op(name_of(type(op))), places, attrs
