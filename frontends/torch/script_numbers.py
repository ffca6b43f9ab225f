# pyright: basic
"""Operators of TorchScript on numbers, lists and texts, computed in Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .script_values import Tensor

Function = Callable[..., Any]


def _first(value: Any, *rest: Any) -> Any:
    return value


def _append(items: list[Any], item: Any) -> list[Any]:
    items.append(item)
    return items


def _extend(items: list[Any], more: list[Any]) -> None:
    items.extend(more)


def _insert(items: list[Any], at: int, item: Any) -> None:
    items.insert(at, item)


def _put(items: Any, at: Any, item: Any) -> Any:
    items[at] = item
    return items


def _sliced(items: list[Any], start: int | None = None, end: int | None = None, step: int = 1) -> list[Any]:
    return items[slice(start, None if end is None else min(end, len(items)), step)]


def _is(a: Any, b: Any) -> bool:
    return a is b if a is None or b is None else a == b


def _found(items: Any, item: Any) -> bool:
    return item in items


def _get(table: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return table.get(key, default)


def _round_to_zero(a: float, b: float) -> int:
    return int(a / b)


def _format(text: str, *values: Any) -> str:
    return text.format(*("a tensor" if isinstance(value, Tensor) else value for value in values))


def _most(*values: Any) -> Any:
    return max(values[0]) if len(values) == 1 else max(values)


def _least(*values: Any) -> Any:
    return min(values[0]) if len(values) == 1 else min(values)


LISTS: Mapping[str, Function] = {
    "aten::Delete": lambda items, at: operator.delitem(items, at),
    "aten::__contains__": _found,
    "aten::__getitem__": operator.getitem,
    "aten::_set_item": _put,
    "aten::append": _append,
    "aten::clear": lambda items: items.clear(),
    "aten::copy": lambda items: items.copy(),
    "aten::dict": lambda *pairs: dict(*pairs),
    "aten::extend": _extend,
    "aten::format": _format,
    "aten::get": _get,
    "aten::insert": _insert,
    "aten::items": lambda table: list(table.items()),
    "aten::join": lambda text, items: text.join(items),
    "aten::keys": list,
    "aten::len": len,
    "aten::list": list,
    "aten::pop": lambda items, *at: items.pop(*at),
    "aten::reverse": lambda items: items.reverse(),
    "aten::slice": _sliced,
    "aten::sort": lambda items, reverse=False: items.sort(reverse=reverse),
    "aten::str": str,
    "aten::values": lambda table: list(table.values()),
}
"""Operators whose first argument is a list, a text or a dictionary; its items may be computed at a call."""

PLAIN: Mapping[str, Function] = {
    "aten::__is__": _is,
    "aten::__isnot__": lambda a, b: not _is(a, b),
    "aten::__not__": operator.not_,
    "aten::__round_to_zero_floordiv": _round_to_zero,
    "aten::_unwrap_optional": _first,
    "aten::cpu": _first,
    "aten::cuda": _first,
    "aten::floordiv": operator.floordiv,
    "aten::warn": lambda *values: None,
    "prim::Print": lambda *values: None,
    "prim::Uninitialized": lambda: None,
    "prim::abs": abs,
    "prim::data": _first,
    "prim::device": lambda tensor: "cpu",
    "prim::is_cuda": lambda tensor: False,
    "prim::is_quantized": lambda tensor: False,
    "prim::is_sparse": lambda tensor: False,
    "prim::max": _most,
    "prim::min": _least,
    "prim::requires_grad": lambda tensor: False,
    "prim::unchecked_cast": _first,
    "prim::unchecked_unwrap_optional": _first,
}
"""Operators whose result is one of their arguments, or does not depend on elements."""

NUMBERS: Mapping[str, tuple[str, Function]] = {
    "aten::Float": ("torch.sym_float", float),
    "aten::Int": ("torch.sym_int", int),
    "aten::__and__": ("_operator.and_", operator.and_),
    "aten::__not__": ("torch.sym_not", operator.not_),
    "aten::__or__": ("_operator.or_", operator.or_),
    "aten::add": ("_operator.add", operator.add),
    "aten::ceil": ("math.ceil", math.ceil),
    "aten::div": ("_operator.truediv", operator.truediv),
    "aten::eq": ("_operator.eq", operator.eq),
    "aten::floor": ("math.floor", math.floor),
    "aten::floordiv": ("_operator.floordiv", operator.floordiv),
    "aten::ge": ("_operator.ge", operator.ge),
    "aten::gt": ("_operator.gt", operator.gt),
    "aten::le": ("_operator.le", operator.le),
    "aten::lt": ("_operator.lt", operator.lt),
    "aten::mul": ("_operator.mul", operator.mul),
    "aten::ne": ("_operator.ne", operator.ne),
    "aten::neg": ("_operator.neg", operator.neg),
    "aten::remainder": ("_operator.mod", operator.mod),
    "aten::sub": ("_operator.sub", operator.sub),
    "prim::max": ("torch.sym_max", max),
    "prim::min": ("torch.sym_min", min),
}
"""Operator on computed numbers -> the operator of exported programs, and its function in Python."""
