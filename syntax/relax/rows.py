"""Rows of the table of operators: an operator of Relax, the one of relay, and their parameters in Relax's order.

A row is text, `topk topk data k=1 largest:is_ascend[not]=True`. A parameter without `=` is an operand, `*data` a tuple
of operands, and `data?` may be missing; others are attributes with their default, `=!` without one. Behind a colon is
relay's name of an attribute, in brackets the form of its value: `shape` for one that Relax writes as R.shape, `tuple`
for a tuple of numbers, `not` for the opposite, `one` for a list of one number here that is a number there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ...dialects.sizes import SizeExpr
from ...support.errors import FrontendError
from ..relay.defaults import completed
from ..relay.expr import Call, Expr, Op, Tuple
from ..relay.operators import attribute_kinds, is_absent, operator_named

Values: TypeAlias = "Mapping[str, Any]"
"""The arguments of a call in Relax by name: expressions, lists of them, numbers, texts, shapes, or None."""
_PARAMETER = re.compile(r"(\*?)(\w+)(\??)(?::(\w+))?(?:\[(\w+)\])?(?:=(.+))?")
FOLLOWING = frozenset({"channels", "kernel_size", "units"})
"""Attributes of relay that follow from the type of a weight, and that Relax does not have."""


class Shape(tuple[Any, ...]):
    """A shape as a value of Relax: numbers and sizes."""


@dataclass(frozen=True)
class Parameter:
    """A parameter in Relax; `key` is relay's name of an attribute, "" for an operand."""

    name: str
    key: str = ""
    form: str = ""
    default: Any = None
    required: bool = True
    many: bool = False
    """True for an operand that is a tuple of tensors."""


@dataclass(frozen=True)
class Row:
    """An operator of Relax. `read` and `write` replace what the parameters say, if they are there.

    read: returns the expression for arguments of Relax. write: returns these for a call of relay, None if Relax cannot
    say it. An operator that only `read` knows has the relay name "".
    """

    name: str
    relay: str
    parameters: Sequence[Parameter]
    read: Callable[[Values], Expr] | None = None
    write: Callable[[Call], Values | None] | None = None

    def expression(self, values: Values) -> Expr:
        """Return the expression of a call; raises FrontendError for a value that relay's operator does not take."""
        if self.read is not None:
            return self.read(values)
        args = [_operand(values[p.name]) for p in self.parameters if not p.key]
        while args and is_absent(args[-1]):
            args.pop()
        attrs: dict[str, Any] = {}
        for parameter in self.parameters:
            value = values.get(parameter.name)
            if parameter.key and value is not None:
                attrs[parameter.key] = _to_relay(parameter, value)
        return Call(Op(self.relay), args, attrs)

    def arguments(self, call: Call) -> Values | None:
        """Return the arguments in Relax for a call of relay's operator; None if Relax cannot say it."""
        if self.write is not None:
            return self.write(call)
        attrs, own = completed(self.relay, call.attrs), {p.key for p in self.parameters}
        if any(key not in own and value != default_of(self.relay, key) for key, value in attrs.items()):
            return None
        args, values = iter(call.args), dict[str, Any]()
        for parameter in self.parameters:
            values[parameter.name] = (
                _to_relax(parameter, attrs.get(parameter.key)) if parameter.key else _argument(next(args, None))
            )
        return values


def _operand(value: Any) -> Expr:
    if value is None:
        return Tuple([])
    return Tuple(cast("list[Expr]", value)) if isinstance(value, list) else value


def _argument(value: Expr | None) -> Any:
    """Return an argument of relay as one of Relax, where a tuple without a name is a list."""
    if value is None or is_absent(value):
        return None
    return list(value.fields) if isinstance(value, Tuple) else value


def default_of(op: str, key: str) -> Any:
    """Return the default of an attribute of relay, None without one."""
    return completed(op, {}).get(key)


def _to_relay(parameter: Parameter, value: Any) -> Any:
    if parameter.form == "not":
        return not value
    if parameter.form == "one":
        return _one(value)
    if isinstance(parameter.default, list) and (isinstance(value, int) or len(value) == 1):
        # One number stands for all axes.
        return repeated(value, len(cast("list[Any]", parameter.default)))
    return list(cast("tuple[Any]", value)) if isinstance(value, tuple) else value


def _to_relax(parameter: Parameter, value: Any) -> Any:
    match parameter.form:
        case "not":
            return not value
        case "shape":
            return None if value is None else Shape(_items(value))
        case "tuple":
            return None if value is None else tuple(_items(value))
        case "one":
            return _one(value)
        case _:
            if isinstance(value, tuple):
                return list(cast("tuple[Any]", value))
            return None if value == "" else value


def repeated(value: Any, count: int) -> list[Any]:
    """Return a number for each of several axes, of a list, or of one number for all."""
    items = _items(value)
    return items * count if len(items) == 1 else items


def _items(value: Any) -> list[Any]:
    return [value] if isinstance(value, int | SizeExpr) else list(cast("Sequence[Any]", value))


def _one(value: Any) -> Any:
    items = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
    return items[0] if len(items) == 1 else cast("Any", value)


def parameters(text: str, relay: str) -> list[Parameter]:
    """Return the parameters that the text of a row declares."""
    result: list[Parameter] = []
    for part in text.split():
        match = _PARAMETER.fullmatch(part)
        assert match is not None, part
        many, name, optional, key, form, default = match.groups()
        if default is None:
            result.append(Parameter(name, many=bool(many), required=not optional))
            continue
        required = default == "!"
        value = None if required else ast.literal_eval(default)
        result.append(Parameter(name, key or name, form or "", value, required))
    if relay:
        known = attribute_kinds(operator_named(relay))
        assert all(p.key in known for p in result if p.key), (relay, [p.key for p in result])
    return result


def bound(row: Row, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all parameters for the arguments of a call; raises FrontendError if they do not fit."""
    names = [p.name for p in row.parameters]
    if len(args) > len(names):
        raise FrontendError(f"R.{row.name}: expected at most {len(names)} arguments, got {len(args)}")
    values = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name not in names:
            raise FrontendError(f"R.{row.name}: expected arguments among {', '.join(names)}, got {name}")
        if name in values:
            raise FrontendError(f"R.{row.name}: expected one value for {name}, got two")
        values[name] = value
    for parameter in row.parameters:
        if parameter.name not in values:
            if parameter.required:
                raise FrontendError(f"R.{row.name}: expected a value for {parameter.name}, got none")
            values[parameter.name] = parameter.default
    for parameter in row.parameters:
        if not parameter.key:
            _check_operand(row, parameter, values[parameter.name])
    return values


def _check_operand(row: Row, parameter: Parameter, value: Any) -> None:
    if isinstance(value, Expr) or (value is None and not parameter.required):
        return
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    if parameter.many and items and all(isinstance(item, Expr) for item in items):
        return
    kind = "tensors" if parameter.many else "a tensor"
    raise FrontendError(f"R.{row.name}: expected {kind} as {parameter.name}, got {value!r}")
