"""Operator attributes: how they are declared, converted from Python, read, and spelled in the text.

Declared in an op class with one of the definers below, which name TVM's type and default:

    strides = ints(1, 1)
    groups = integer(1)
    data_layout = string("NCHW")

A list of ints may have symbolic sizes among them; then it is spelled `#relay.sizes<batch, 12, past + 1>`.
An attribute equal to its default is not printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..int_lists import numbers_of
from ..sizes import Size, SizeExpr
from ..sizes.types import SizesAttr, sizes_attr

Ints: TypeAlias = DenseArrayBase[IntegerType]
Reals: TypeAlias = DenseArrayBase[Float64Type]
Value: TypeAlias = bool | int | float | str | Sequence[int] | Sequence[float] | None


def ints_attr(values: Sequence[int]) -> Ints:
    return _ints_attr(tuple(map(int, values)))


@lru_cache(maxsize=1 << 12)
def _ints_attr(values: tuple[int, ...]) -> Ints:
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=1 << 12)
def _integer_attr(value: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, i64)


def reals_attr(values: Sequence[float]) -> Reals:
    return DenseArrayBase.from_list(f64, list(values))


def to_attribute(value: bool | int | float | str | Sequence[int] | Sequence[float] | Sequence[str]) -> Attribute:
    """The attribute that holds a Python value: int -> i64, float -> f64, bool -> i1, str, ints -> array<i64>.

    A symbolic size is a list of one. Names, and lists in a list, are an array of attributes. A list with floats in it
    -> array<f64>; an empty one is of ints.
    """
    match value:
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return _integer_attr(int(value))
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case _ if isinstance(size := cast(Any, value), SizeExpr):
            return sizes_attr([size])
        case _ if any(isinstance(v, str | list | tuple) for v in value):
            return ArrayAttr([to_attribute(cast(Any, v)) for v in value])
        case _ if any(isinstance(v, SizeExpr) for v in value):
            return sizes_attr(cast("Sequence[Size]", value))
        case _ if any(isinstance(v, float) for v in value):
            return reals_attr([float(v) for v in value])
        case _:
            return ints_attr(cast("Sequence[int]", value))


def to_python(attribute: Attribute) -> bool | int | float | str | tuple[int, ...] | tuple[float, ...]:
    """The inverse of `to_attribute`."""
    match attribute:
        case DenseArrayBase(elt_type=IntegerType()):
            return numbers_of(cast(Ints, attribute))
        case DenseArrayBase():
            return tuple(cast(Reals, attribute).get_values())
        case IntegerAttr():
            return bool(attribute.value.data) if attribute.type == i1 else attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case SizesAttr():
            return cast("tuple[int, ...]", attribute.sizes)
        case ArrayAttr():
            return cast("tuple[int, ...]", tuple([to_python(one) for one in attribute]))
        case _:
            raise TypeError(f"not an operator attribute: {attribute}")


def ints(*default: int) -> Ints:
    """A list of ints with a default."""
    return cast(Ints, prop_def(Ints | SizesAttr, default_value=ints_attr(default)))


def required_ints() -> Ints:
    """A list of ints that must be given."""
    return cast(Ints, prop_def(Ints | SizesAttr))


def optional_ints() -> Ints | None:
    """A list of ints or None."""
    return cast(Ints, opt_prop_def(Ints | SizesAttr))


def reals(*default: float) -> Reals:
    """A list of floats with a default."""
    return prop_def(Reals, default_value=reals_attr(default))


def optional_reals() -> Reals | None:
    """A list of floats or None."""
    return opt_prop_def(Reals)


def integer(default: int) -> IntegerAttr:
    return prop_def(IntegerAttr, default_value=IntegerAttr(default, i64))


def required_integer() -> IntegerAttr:
    """An int that must be given."""
    return prop_def(IntegerAttr)


def optional_integer() -> IntegerAttr | None:
    return opt_prop_def(IntegerAttr)


def integer_or_size(default: int) -> IntegerAttr:
    """An int, or one symbolic size."""
    return cast(IntegerAttr, prop_def(IntegerAttr | SizesAttr, default_value=IntegerAttr(default, i64)))


def real(default: float) -> FloatAttr:
    return prop_def(FloatAttr, default_value=FloatAttr(default, f64))


def real_or_size(default: float) -> FloatAttr:
    """A float, or one symbolic size."""
    return cast(FloatAttr, prop_def(FloatAttr | SizesAttr, default_value=FloatAttr(default, f64)))


def required_real() -> FloatAttr:
    return prop_def(FloatAttr)


def boolean(default: bool) -> IntegerAttr:
    return prop_def(IntegerAttr, default_value=BoolAttr.from_bool(default))


def string(default: str) -> StringAttr:
    return prop_def(StringAttr, default_value=StringAttr(default))


def required_string() -> StringAttr:
    return prop_def(StringAttr)


def print_value(attribute: Attribute, printer: Printer) -> None:
    if isinstance(attribute, SizesAttr):
        printer.print_attribute(attribute)
        return
    match value := to_python(attribute):
        case bool():
            printer.print_string("true" if value else "false")
        case str():
            printer.print_string_literal(value)
        case tuple():
            printer.print_string(f"[{', '.join(_spelled(number) for number in value)}]")
        case float():
            printer.print_string(_spelled(value))
        case _:
            printer.print_string(str(value))


def _spelled(value: object) -> str:
    """A number as xDSL reads it: `1.0e-12`, which Python writes without a point."""
    text = str(value)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text


def parse_value(parser: Parser) -> Attribute:
    if (text := parser.parse_optional_str_literal()) is not None:
        return StringAttr(text)
    if (flag := parser.parse_optional_boolean()) is not None:
        return BoolAttr.from_bool(flag)
    if (values := parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)) is not None:
        return to_attribute(values)
    negative = parser.parse_optional_punctuation("-") is not None
    if (special := parser.parse_optional_keyword_in(("inf", "nan"))) is not None:
        return FloatAttr(-float(special) if negative else float(special), f64)
    number = parser.parse_optional_number()
    if number is None:
        return parser.parse_attribute()
    return to_attribute(-number if negative else number)
