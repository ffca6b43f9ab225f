"""The attributes of a call, with access by name as in TVM: `call.attrs.data_layout`."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from ...dialects.relay import DYNAMIC, OPERATORS, OUTSIDE
from ...dialects.relay.attributes import to_python
from ...dialects.relay.operator import Operator
from .type_view import Extent


@cache
def operators() -> Mapping[str, type[Operator]]:
    """Return the operators by TVM's names, which have no prefix `relay.`; those that are registered later, too."""
    return ChainMap({cls.name.removeprefix("relay."): cls for cls in (*OPERATORS, *DYNAMIC)}, OUTSIDE)


class Attrs(dict[str, Any]):
    """The explicit attributes of an operator's call; as Python attributes also the others, with their defaults."""

    def __init__(self, op: str, attrs: Mapping[str, Any]):
        super().__init__(attrs)
        self._op = op

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return _extents(self[name])
        operator = operators().get(self._op)
        if operator is None:
            raise AttributeError(f"{self._op}: expected an operator, got attribute {name} of something else")
        declared = operator.declared_attributes()
        if name not in declared:
            names = ", ".join(declared) or "none"
            raise AttributeError(f"{self._op}: expected an attribute among {names}, got {name}")
        default = declared[name].default_value
        return None if default is None else _extents(to_python(default))

    def __missing__(self, name: str) -> Any:
        """Return the default of an omitted attribute; raises KeyError for one that the operator does not have."""
        try:
            return getattr(self, name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def get_int(self, name: str) -> int:
        """An attribute as an int."""
        return int(getattr(self, name))

    def get_int_tuple(self, name: str) -> tuple[int, ...]:
        """An attribute as ints."""
        return tuple(int(extent) for extent in getattr(self, name))

    def get_str(self, name: str) -> str:
        """An attribute as text; "" for None."""
        value = getattr(self, name)
        return "" if value is None else str(value)


def _extents(value: Any) -> Any:
    """Return a value; integers in a sequence have a field `value`, as in TVM."""
    if isinstance(value, list | tuple):
        items = cast("list[object]", value)
        extents = [Extent(item) if type(item) is int else item for item in items]
        return tuple(extents) if isinstance(value, tuple) else extents
    return value


class FunctionAttrs(dict[str, Any]):
    """The attributes of a function, also accessible as Python attributes: `func.attrs.Compiler`."""

    def __init__(self, attrs: Mapping[str, Any]):
        super().__init__({key: _number(value) for key, value in attrs.items()})

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"expected an attribute among {', '.join(self) or 'none'}, got {name}")


def _number(value: Any) -> Any:
    """Return the number of a constant from the language of another level: `tir.IntImm("int32", 1)` is 1."""
    return (
        value.value
        if hasattr(value, "dtype") and isinstance(getattr(value, "value", None), int | float | str)
        else value
    )
