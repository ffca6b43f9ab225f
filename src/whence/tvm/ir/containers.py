"""Python's values as TVM's objects: `convert`, `Array`, `Map`."""

from __future__ import annotations

from typing import Any, cast

from whence.runtime.interpreting.container import String
from whence.runtime.values.registry import PackedFunc
from whence.support.dtypes import natural_dtype
from whence.syntax.relay.expr import Expr as RelayExpr
from whence.syntax.relay.type_view import TypeView
from whence.te.language.expr import Expr, Source
from whence.te.language.math import const


class Array(list[Any]):
    """A sequence of objects."""

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(tuple(self))


class Map(dict[Any, Any]):
    """Objects by keys: texts, numbers or objects."""

    def items(self) -> Any:
        return list(super().items())


def convert(value: Any) -> Any:
    """Return an object: numbers become constants, lists and tuples an Array, dicts a Map, functions a PackedFunc.

    Objects and None are returned unchanged. Raises ValueError for values and keys of other kinds.
    """
    if value is None or isinstance(value, Array | Map | PackedFunc | RelayExpr | Expr | Source | TypeView):
        return value
    if isinstance(value, bool | int | float):
        return const(value, natural_dtype(value))
    if isinstance(value, str):
        return String(value)
    if isinstance(value, list | tuple):
        return Array(map(convert, cast("list[Any]", value)))
    if isinstance(value, dict):
        return Map({_key(key): convert(item) for key, item in cast("dict[Any, Any]", value).items()})
    if callable(value):
        return PackedFunc(getattr(value, "__name__", ""), value)
    if type(value).__module__ == "builtins":
        raise ValueError(f"don't know how to convert type {type(value)} to object")
    return value


def _key(key: Any) -> Any:
    if isinstance(key, bool | bytes | float | list | tuple | set | dict):
        raise ValueError("key of map must already been a container type")
    return key
