"""The words of Relax that a decorated function uses, by TVM's name `tvm.script.relax`: they are read, never run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from whence.script.reading import prim_func
from whence.script.words import Word
from whence.support.errors import FrontendError
from whence.support.names import did_you_mean
from whence.syntax.relax.operators import rows
from whence.syntax.relay.type_view import TensorType, TupleType, TypeView

SCRIPT_LETTER = "R"
_TYPES = ("Tensor", "Tuple", "Shape", "Any", "Object", "Callable", "Prim", "nn", "image", "vision")


def function(function: Any = None, **options: Any) -> Any:
    """Return the relay function that a function of Python is, as decorator; one in a class is read with that.

    options: TVM's `private` and `pure`, which the text of the function holds.
    """
    return prim_func(function, **options)


class _Type(Word):
    """The word of a type: called with what a type is made of, that type; a word where it only annotates."""

    def __init__(self, name: str, make: Callable[..., Any]):
        super().__init__(f"R.{name}")
        self._make = make

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._make(*args, **kwargs)
        except (FrontendError, TypeError):
            return self


def _tensor(shape: Any = None, dtype: str | None = None, ndim: int = -1) -> TensorType:
    """Return the type of a tensor; raises FrontendError where the text of a function alone says it."""
    extents = cast("Sequence[Any]", shape) if isinstance(shape, list | tuple) else ()
    if isinstance(shape, str) or any(isinstance(extent, str | Word) for extent in extents):
        raise FrontendError("R.Tensor: expected extents that are numbers or variables, got texts")
    return TensorType(cast(Any, shape), dtype or "float32", ndim=ndim)


def _tuple(*fields: Any) -> TupleType:
    items = cast("Sequence[Any]", fields[0] if len(fields) == 1 and isinstance(fields[0], list) else fields)
    if not all(isinstance(item, TypeView) for item in items):
        raise FrontendError("R.Tuple: expected types, got words")
    return TupleType(items)


def __getattr__(name: str) -> Any:
    if name in _MADE:
        return _Type(name, _MADE[name])
    if name in _TYPES or name in rows():
        return Word(f"R.{name}")
    raise AttributeError(f"module '{__name__}' has no word '{name}'{did_you_mean(name, [*_TYPES, *rows()])}")


_MADE: Mapping[str, Callable[..., Any]] = {"Tensor": _tensor, "Tuple": _tuple}
