"""Operators by Relax's names, `op.add`, `op.nn.conv2d`: expressions of relay, from the table of Relax's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from whence.dialects.sizes import SizeExpr
from whence.relay.builders import TupleWrapper
from whence.relay.kernel_calls import call_dps_packed as call_dps_packed
from whence.relay.kernel_calls import call_tir as call_tir
from whence.relay.kernel_calls import call_tir_inplace as call_tir_inplace
from whence.relay.kernel_calls import match_cast as match_cast
from whence.support.errors import FrontendError
from whence.support.names import did_you_mean
from whence.syntax.relax.operators import rows
from whence.syntax.relax.rows import Row, Shape, bound
from whence.syntax.relax.terms import scalar
from whence.syntax.relax.terms import shape_of as _extents
from whence.syntax.relay.expr import Constant, Expr
from whence.syntax.relay.type_view import SPELLINGS


def prim_value(value: Any) -> Any:
    """Return a number, which stands for itself."""
    return value


def shape_of(expr: Expr) -> Shape:
    """Return the shape of a tensor, with the names of its sizes."""
    return Shape(_extents(expr))


class Namespace:
    """The operators whose names begin with `prefix`."""

    def __init__(self, prefix: str):
        self._prefix = prefix

    def __getattr__(self, name: str) -> Callable[..., Expr]:
        return operator(f"{self._prefix}{name}")

    def __dir__(self) -> list[str]:
        return sorted(name.removeprefix(self._prefix) for name in rows() if name.startswith(self._prefix))


@cache
def operator(name: str) -> Callable[..., Expr]:
    """Return the function of an operator; raises AttributeError for an unknown one."""
    row = rows().get(name)
    if row is None:
        raise AttributeError(f"module 'whence.relax.op' has no attribute '{name}'{did_you_mean(name, rows())}")

    def build(*args: Any, **named: Any) -> Expr:
        values = bound(row, _tensors(row, [_plain(arg) for arg in args]), {k: _plain(v) for k, v in named.items()})
        return row.expression(values)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Return a call of R.{name}({', '.join(p.name for p in row.parameters)})."
    return build


def _tensors(row: Row, args: Sequence[Any]) -> list[Any]:
    """Return positional arguments, where a number for a tensor is a constant of the dtype of another tensor."""
    pairs = zip(row.parameters, args, strict=False)
    like = next((arg for parameter, arg in pairs if isinstance(arg, Expr) and parameter.name != "condition"), None)
    result: list[Any] = []
    for parameter, arg in zip(row.parameters, args, strict=False):
        is_number = isinstance(arg, int | float) and not parameter.key and like is not None
        result.append(_scalar(arg, cast(Expr, like), row) if is_number else arg)
    return [*result, *args[len(result) :]]


def _scalar(value: float, like: Expr, row: Row) -> Constant:
    """Return a number in the dtype of a tensor; raises FrontendError for one that is no number of the dtype."""
    result = scalar(value, like)
    if isinstance(value, float) and result.data.dtype.kind in "iub" and result.data.item() != value:
        raise FrontendError(f"R.{row.name}: expected a number of {result.data.dtype.name}, got {value}")
    return result


def _plain(value: Any) -> Any:
    """Return an argument in the table's form: sizes of te as sizes, several results as one expression."""
    match value:
        case TupleWrapper():
            return value.astuple()
        case Shape():
            return Shape(_plain(item) for item in value)
        case list() | tuple():
            items = [_plain(item) for item in cast("Sequence[Any]", value)]
            has_tensors = any(isinstance(item, Expr) for item in items)
            return items if isinstance(value, list) or has_tensors else tuple(items)
        case int() | float() | str() | Expr() | SizeExpr() | None:
            return value
        case _:
            sizes = (size for read in SPELLINGS if (size := read(value)) is not None)
            return next(sizes, getattr(value, "value", value))


_FAMILIES = {name: Namespace(f"{name}.") for name in ("nn", "image", "vision")}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _FAMILIES.get(name) or operator(name)


def __dir__() -> list[str]:
    own = [name for name in globals() if not name.startswith("_")]
    return sorted({*own, *_FAMILIES, *(name for name in rows() if "." not in name)})
