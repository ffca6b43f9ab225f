"""Operators by TVM's names: conversion of a call's arguments and attributes to those of an op."""

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
from ...dialects.relay.signature import Group
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
"""The lists of ints that TVM writes as lists of pairs."""
_SECTIONS = "indices_or_sections"
"""An attribute that is the number of equal parts if it is an int, and the indices where parts begin if it is a list."""


def operator_names() -> tuple[str, ...]:
    """Return TVM's names of all operators."""
    return tuple(operators())


def name_of(cls: type[Operator]) -> str:
    """Return TVM's name of an operator."""
    return cls.name.removeprefix(_PREFIX)


def operator_named(name: str) -> type[Operator]:
    """Return the class of an operator; raises FrontendError for an unknown name."""
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
    """Return attribute -> the kinds of values that it accepts."""
    kinds_of: dict[str, tuple[str, ...]] = {}
    for name, definition in cls.declared_attributes().items():
        default = definition.default_value
        if isinstance(default, IntegerAttr):
            kinds_of[name] = ("a bool" if cast("IntegerAttr[Any]", default).type == i1 else "an int",)
            continue
        accepted = tuple(kind for kind, sample in _SAMPLES if definition.constr.verifies(sample))
        kinds_of[name] = tuple(k for k in accepted if k != "a bool") if "an int" in accepted else accepted
    return kinds_of


def takes_sizes(cls: type[Operator], key: str) -> bool:
    """Return whether an attribute may be sizes that a call decides."""
    return cls.declared_attributes()[key].constr.verifies(_SIZE)


def attributes_of(
    cls: type[Operator], attrs: Mapping[str, Any], location: LocationAttr | None = None
) -> dict[str, Value]:
    """Return the values of attributes in the kinds that the operator declares; an int may stand for a list of one.

    Raises FrontendError for an unknown attribute, a missing one and a value of another kind.
    """
    kinds, name = attribute_kinds(cls), name_of(cls)
    if unknown := sorted(set(attrs) - set(kinds)):
        known = ", ".join(kinds) or "none"
        raise FrontendError(message(name, f"attributes among {known}", ", ".join(unknown), location))
    values: dict[str, Value] = {}
    if "sections" in kinds and isinstance(attrs.get(_SECTIONS), int):
        attrs = {**attrs, "sections": True}
    for key, definition in cls.declared_attributes().items():
        value = attrs.get(key)
        if value is not None:
            values[key] = _converted(cls, key, value, kinds[key], location)
        elif definition.default_value is None and not isinstance(definition, OptPropertyDef):
            raise FrontendError(message(name, f"attribute {key}", "none", location))
    return values


def _converted(cls: type[Operator], key: str, value: Any, kinds: Sequence[str], location: LocationAttr | None) -> Value:
    plain: Any = _plain(value)
    many = isinstance(plain, list)
    items: list[Any] = _flat(cast("list[Any]", plain)) if many else [plain]
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
            case "a string" if isinstance(plain, str):
                return plain
            case "a list of ints" if whole:
                return [int(item) for item in items]
            case "a list of floats" if numbers:
                return [float(item) for item in items]
            case _:
                continue
    expected = f"{' or '.join(kinds)} for {key}"
    raise FrontendError(message(name_of(cls), expected, repr(cast(object, plain)), location))


def _plain(value: Any) -> Any:
    """Return a value of numpy or of a constant in Python's types; sequences become lists."""
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
    """Return a flat list of the numbers in nested lists."""
    return [x for item in values for x in (_flat(cast("list[Any]", item)) if isinstance(item, list) else [item])]


def is_absent(expr: Expr) -> bool:
    """Return whether an argument is `()`, which stands for an omitted optional one."""
    return isinstance(expr, Tuple) and not expr.fields


def grouped(
    cls: type[Operator], args: Sequence[T], absent: Sequence[bool], location: LocationAttr | None = None
) -> list[T | None]:
    """Return one argument for each declared operand, None for an omitted optional one.

    Raises FrontendError when there are too few or too many.
    """
    declared = cls.operand_groups()
    required = sum(1 for group in declared if not (group.optional or _may_lack(group, declared)))
    if not required <= len(args) <= len(declared):
        expected = str(required) if required == len(declared) else f"{required} to {len(declared)}"
        names = ", ".join(group.name for group in declared)
        raise FrontendError(message(name_of(cls), f"{expected} arguments ({names})", str(len(args)), location))
    groups: list[T | None] = []
    for group, arg, missing in zip(declared, args, absent, strict=False):
        groups.append(None if group.optional and missing else arg)
    return groups + [None] * (len(declared) - len(groups))


def _may_lack(group: Group, declared: Sequence[Group]) -> bool:
    """Return whether a variadic operand behind others may be left out."""
    return group.variadic and group is declared[-1] and len(declared) > 1


def call_of(op: Operator) -> tuple[Op, list[tuple[int, ...] | int | None], dict[str, Any]]:
    """Return the callee, the operand indices of each argument, and the attributes that differ from their defaults."""
    sig, given = op.signature, op.properties
    operands = sig.arguments(list(range(len(op.operands))))
    while operands and (operands[-1] is None or (len(operands) > 1 and operands[-1] == ())):
        operands.pop()
    declared = type(op).declared_attributes()
    attrs = {key: sig.get(key) for key, d in declared.items() if key in given and given[key] != d.default_value}
    for key in _PAIRS & attrs.keys():
        attrs[key] = tuple(zip(attrs[key][::2], attrs[key][1::2], strict=True))
    if attrs.pop("sections", False):
        (attrs[_SECTIONS],) = attrs[_SECTIONS]
    return Op(name_of(type(op))), operands, attrs
