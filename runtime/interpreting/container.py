"""Values of programs by TVM's names: `ADT` for data types and tuples, `ConstructorValue` for values of constructors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from .flow import Adt


class Named(Protocol):
    """A constructor, as its values know it."""

    @property
    def name_hint(self) -> str: ...
    @property
    def tag(self) -> int: ...


class _IsFields(type):
    """The type of `ADT`, which counts tuples as instances because a virtual machine returns them."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, tuple) or (isinstance(instance, Adt) and not isinstance(instance, ConstructorValue))


class ADT(Adt, metaclass=_IsFields):
    """A value of a data type by its tag alone; tuples are instances, too."""

    __slots__ = ()

    def __init__(self, tag: int, fields: Sequence[Any]):
        super().__init__(tag, "", fields)


class ConstructorValue(Adt):
    """The value that a constructor makes of its fields."""

    __slots__ = ("_constructor",)

    def __init__(self, tag: int, fields: Sequence[Any], constructor: Named | None = None):
        super().__init__(tag, constructor.name_hint if constructor is not None else "", fields)
        self._constructor = constructor

    @property
    def constructor(self) -> Any:
        return self if self._constructor is None else self._constructor

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fields)


class String(str):
    """A text."""

    __slots__ = ()


def tuple_object(fields: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return fields as the value of a tuple."""
    return tuple(fields)
