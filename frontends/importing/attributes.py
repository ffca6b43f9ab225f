"""The attributes of nodes: the kinds that rows declare, and their reading, for all formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NoReturn, TypeVar, cast, overload

import numpy as np

from ...dialects.sizes import Size, SizeExpr
from .node_parts import Asked

T = TypeVar("T")
DefaultT = TypeVar("DefaultT")
REQUIRED: Any = object()
"""The default of an attribute that a node must state."""


def listed(words: Sequence[str]) -> str:
    """Return words as a phrase: `A, B or C`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def numbers_at_least(least: int | None, count: int | None = None) -> str:
    """Return an error's term for whole numbers from `least` on: `3 positive numbers`, `a number of at least 2`."""
    adjective = {None: "whole ", 0: "non-negative ", 1: "positive "}.get(least, "")
    end = f" of at least {least}" if least is not None and least > 1 else ""
    return f"a {adjective}number{end}" if count is None else f"{count} {adjective}numbers{end}"


def reaches(number: Size, least: int | None) -> bool:
    """Return whether a number may be at least `least`; for a size, a call decides."""
    return least is None or isinstance(number, SizeExpr) or number >= least


@dataclass(frozen=True)
class Attribute(ABC, Generic[T]):
    """An attribute that a row declares; a parameter of the row's function."""

    default: T | Callable[[Any], T] = REQUIRED
    """The value if a node does not state it; a function of the context if that depends on the node."""
    name: str = field(default="", kw_only=True)
    """The format's name of it, if that is not the name of the parameter."""
    what: ClassVar[str]
    """An error's term for its values."""

    def read(self, node: Attributes, parameter: str) -> T:
        """Return the attribute of a node; raises FrontendError for one that makes no sense."""
        name = self.name or parameter
        value = node.stated(name)
        if value is not None or (self.default is not None and node.states_nothing(name)):
            return self.decoded(node, name, value)
        if self.default is REQUIRED:
            node.fail(f"{self.what} as '{name}'", "none")
        default: Any = self.default
        return cast("T", default(node) if callable(default) else default)

    @abstractmethod
    def decoded(self, node: Attributes, name: str, value: Any) -> T:
        """Return a value in the form for the row's function; raises FrontendError for one of another kind."""


@dataclass(frozen=True)
class Int(Attribute[int | None]):
    """A whole number, or a size that a call decides."""

    least: int | None = field(default=None, kw_only=True)
    what = "a whole number"

    def decoded(self, node: Attributes, name: str, value: Any) -> int:
        number = node.whole(value)
        if number is None or not reaches(number, self.least):
            node.fail(f"{numbers_at_least(self.least)} as '{name}'", repr(value))
        return number


@dataclass(frozen=True)
class Ints(Attribute[tuple[int, ...] | None]):
    """A list of whole numbers or sizes; if there is a `count`, of so many."""

    count: Callable[[Any], int] | int | None = field(default=None, kw_only=True)
    """The length, or a function of the context if that depends on the node. A default of one number is repeated."""
    least: int | None = field(default=None, kw_only=True)
    what = "a list of whole numbers"

    def read(self, node: Attributes, parameter: str) -> tuple[int, ...] | None:
        numbers: Any = super().read(node, parameter)
        return (numbers,) * self._counted(node) if isinstance(numbers, int) else numbers

    def _counted(self, node: Attributes) -> int:
        return cast("int", self.count(node) if callable(self.count) else self.count)

    def decoded(self, node: Attributes, name: str, value: Any) -> tuple[int, ...]:
        count = self._counted(node) if self.count is not None else None
        items = node.items(value, count)
        numbers = None if items is None else [node.whole(item) for item in items]
        fit = [number is not None and reaches(number, self.least) for number in numbers or ()]
        if numbers is None or not all(fit) or len(fit) != (len(fit) if count is None else count):
            expected = numbers_at_least(self.least, count) if count is not None else self.what
            node.fail(f"{expected} as '{name}'", repr(value if items is None else list(items)))
        return tuple(cast("list[int]", numbers))


@dataclass(frozen=True)
class Float(Attribute[float | None]):
    """A number."""

    what = "a number"

    def read(self, node: Attributes, parameter: str) -> float | None:
        number = super().read(node, parameter)
        return None if number is None else node.rounded(number)

    def decoded(self, node: Attributes, name: str, value: Any) -> float:
        number = node.real(value)
        if number is None:
            node.fail(f"{self.what} as '{name}'", repr(value))
        return number


@dataclass(frozen=True)
class Floats(Attribute[tuple[float, ...] | None]):
    """A list of numbers."""

    what = "a list of numbers"

    def decoded(self, node: Attributes, name: str, value: Any) -> tuple[float, ...]:
        items = node.items(value, None)
        numbers = None if items is None else [node.real(item) for item in items]
        if numbers is None or None in numbers:
            node.fail(f"{self.what} as '{name}'", repr(value))
        return tuple(cast("list[float]", numbers))


@dataclass(frozen=True)
class Flag(Attribute[bool | None]):
    """True or false, which some formats write as 1 or 0."""

    others: bool | None = field(default=True, kw_only=True)
    """The meaning of numbers other than 0 and 1; None if they are errors."""
    what = "true or false"

    def decoded(self, node: Attributes, name: str, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        if not node.flags_are_numbers or not isinstance(value, int):
            node.fail(f"{self.what} as '{name}'", repr(value))
        if value in (0, 1) or self.others is not None:
            return value == 1 if value in (0, 1) else bool(self.others)
        node.fail(f"{name} 0 or 1", str(value))


@dataclass(frozen=True)
class Word(Attribute[str | None]):
    """A word; if some are listed, one of these."""

    among: Sequence[str] = field(default=(), kw_only=True)
    what = "a word"

    def decoded(self, node: Attributes, name: str, value: Any) -> str:
        if not isinstance(value, str):
            node.fail(f"{self.what} as '{name}'", repr(value))
        if self.among and value not in self.among:
            node.fail(f"{name} {listed(self.among)}", repr(value))
        return value


@dataclass(frozen=True)
class Words(Attribute[tuple[str, ...] | None]):
    """A list of words."""

    what = "a list of words"

    def decoded(self, node: Attributes, name: str, value: Any) -> tuple[str, ...]:
        items = node.items(value, None)
        if items is None or not all(isinstance(item, str) for item in items):
            node.fail(f"{self.what} as '{name}'", repr(value))
        return tuple(cast("Sequence[str]", items))


@dataclass(frozen=True)
class Element(Attribute[np.dtype[Any] | None]):
    """An element type."""

    what = "an element type"

    def decoded(self, node: Attributes, name: str, value: Any) -> np.dtype[Any]:
        return node.element_type(name, value)


@dataclass(frozen=True)
class Stated(Attribute[Any]):
    """Any value, in the form of the format."""

    what = "a value"

    def decoded(self, node: Attributes, name: str, value: Any) -> Any:
        return value


class Attributes(ABC):
    """The attributes of a node, which note each request. A frontend defines how its format states them."""

    asked: Asked
    flags_are_numbers: ClassVar[bool] = False
    """True for a format that writes true and false as 1 and 0."""
    repeats: ClassVar[bool] = False
    """True for a format in which one number may stand for one along each axis."""

    @abstractmethod
    def stated(self, name: str) -> Any:
        """Return an attribute in Python's types: numbers, words, tuples, arrays; None if the node does not state it."""

    @abstractmethod
    def fail(self, expected: str, actual: str) -> NoReturn:
        """Raise a FrontendError about the node."""
        raise NotImplementedError

    def states_nothing(self, name: str) -> bool:
        """Return whether a node explicitly states that an attribute is empty, for which `stated` returns None."""
        return False

    def whole(self, value: Any) -> int | None:
        """Return a value as a whole number, which a float may hold; None for anything else."""
        if isinstance(value, SizeExpr):
            return cast("int", value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return int(value) if isinstance(value, float) and value.is_integer() else None

    def real(self, value: Any) -> float | None:
        """Return a value as a number; None for anything else."""
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def rounded(self, number: float) -> float:
        """Return a number, stated or the default, rounded to the precision of the format."""
        return number

    def items(self, value: Any, count: int | None) -> Sequence[Any] | None:
        """Return a value as a list, of `count` items if that is a number; None for anything else."""
        if isinstance(value, list | tuple):
            return cast("Sequence[Any]", value)
        if isinstance(value, int | float | SizeExpr) and (self.repeats or count == 1):
            return (value,) * (count or 1)
        return None

    def element_type(self, name: str, value: Any) -> np.dtype[Any]:
        """Return the element type that an attribute names."""
        if isinstance(value, np.dtype):
            return cast("np.dtype[Any]", value)
        self.fail(f"{Element.what} as '{name}'", repr(value))

    # Attributes that converters read only of some nodes of an operator.

    def int(self, name: str, default: Any = REQUIRED, *, least: int | None = None) -> int:
        """A whole number."""
        return cast("int", Int(default, least=least).read(self, name))

    @overload
    def ints(self, name: str, *, count: int | None = None, least: int | None = None) -> tuple[int, ...]: ...
    @overload
    def ints(self, name: str, default: int, *, count: int, least: int | None = None) -> tuple[int, ...]: ...
    @overload
    def ints(
        self, name: str, default: DefaultT, *, count: int | None = None, least: int | None = None
    ) -> tuple[int, ...] | DefaultT: ...
    def ints(self, name: str, default: Any = REQUIRED, *, count: int | None = None, least: int | None = None) -> Any:
        """A list of whole numbers."""
        return Ints(default, count=count, least=least).read(self, name)

    def float(self, name: str, default: float = REQUIRED) -> float:
        """A number."""
        return cast("float", Float(default).read(self, name))

    @overload
    def floats(self, name: str) -> tuple[float, ...]: ...
    @overload
    def floats(self, name: str, default: DefaultT) -> tuple[float, ...] | DefaultT: ...
    def floats(self, name: str, default: Any = REQUIRED) -> Any:
        """A list of numbers."""
        return Floats(default).read(self, name)

    def flag(self, name: str, default: bool = False, *, others: bool | None = True) -> bool:
        """True or false."""
        return bool(Flag(default, others=others).read(self, name))

    def word(self, name: str, default: str = REQUIRED, among: Sequence[str] = ()) -> str:
        """A word; if some are listed, one of these."""
        return cast("str", Word(default, among=among).read(self, name))

    @overload
    def words(self, name: str) -> tuple[str, ...]: ...
    @overload
    def words(self, name: str, default: DefaultT) -> tuple[str, ...] | DefaultT: ...
    def words(self, name: str, default: Any = REQUIRED) -> Any:
        """A list of words."""
        return Words(default).read(self, name)

    @overload
    def element(self, name: str = ...) -> np.dtype[Any]: ...
    @overload
    def element(self, name: str, default: DefaultT) -> np.dtype[Any] | DefaultT: ...
    def element(self, name: str = "dtype", default: Any = REQUIRED) -> Any:
        """An element type."""
        return Element(default).read(self, name)
