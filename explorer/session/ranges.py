"""The numbers of a session document that have a range: indexes into its tables, and what is never below a number.

The types of `document` and `films` name them, and `check` holds every number to its range by these types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Index:
    """The row of a table of `Session`; a least of -1 allows for none."""

    table: str
    least: int = 0


@dataclass(frozen=True)
class Least:
    """The least value of a number."""

    number: int


@dataclass(frozen=True)
class MayBeEmpty:
    """Columns of a table that are empty, all of them together, or as long as the others."""


class Columns:
    """A table: its lists are columns of one length."""


SourceOrNone: TypeAlias = Annotated[int, Index("sources", -1)]
GraphOrNone: TypeAlias = Annotated[int, Index("graphs", -1)]
LayerRow: TypeAlias = Annotated[int, Index("layers")]
LayerOrNone: TypeAlias = Annotated[int, Index("layers", -1)]
SetRow: TypeAlias = Annotated[int, Index("sets")]
SetOrNone: TypeAlias = Annotated[int, Index("sets", -1)]
ProgramRow: TypeAlias = Annotated[int, Index("programs")]
ProgramOrNone: TypeAlias = Annotated[int, Index("programs", -1)]
KernelRow: TypeAlias = Annotated[int, Index("kernels")]
KernelOrNone: TypeAlias = Annotated[int, Index("kernels", -1)]
CallRow: TypeAlias = Annotated[int, Index("calls")]
CallOrNone: TypeAlias = Annotated[int, Index("calls", -1)]
StageRow: TypeAlias = Annotated[int, Index("stages")]
StageOrNone: TypeAlias = Annotated[int, Index("stages", -1)]
PassOrNone: TypeAlias = Annotated[int, Index("passes", -1)]
OpRow: TypeAlias = Annotated[int, Index("ops")]
OpOrNone: TypeAlias = Annotated[int, Index("ops", -1)]
ScheduleOrNone: TypeAlias = Annotated[int, Index("schedules", -1)]
Count: TypeAlias = Annotated[int, Least(0)]
CountOrNone: TypeAlias = Annotated[int, Least(-1)]
Amount: TypeAlias = Annotated[float, Least(0)]
AmountOrNone: TypeAlias = Annotated[float, Least(-1)]


@cache
def ranges(cls: type) -> tuple[tuple[str, Index | Least], ...]:
    """Return path and range of each number in a dataclass: `[]` is each element of a list, `[1]` one of a tuple."""
    return tuple((path, mark) for path, kind in kinds(cls) for mark in _marks(kind) if isinstance(mark, Index | Least))


@cache
def tables(cls: type) -> dict[str, tuple[str, ...]]:
    """Return the path of each table of columns in a dataclass, and the names of its columns that may be empty."""
    columns: dict[str, tuple[str, ...]] = {}
    for path, kind in kinds(cls):
        if isinstance(kind, type) and issubclass(kind, Columns):
            hints = get_type_hints(kind, include_extras=True).items()
            columns[path] = tuple(name for name, hint in hints if MayBeEmpty() in _marks(hint))
    return columns


def _marks(kind: Any) -> tuple[object, ...]:
    return getattr(kind, "__metadata__", ())


def kinds(kind: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give the path and the type of all that is in a value of a type, itself first."""
    yield path, kind
    if _marks(kind):
        kind = get_args(kind)[0]
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        for name, hint in get_type_hints(kind, include_extras=True).items():
            yield from kinds(hint, f"{path}.{name}".removeprefix("."))
    elif origin is list:
        yield from kinds(arguments[0], f"{path}[]")
    elif origin is tuple:
        # An element of a tuple that is all alike has the path of each.
        alike = len(set(map(str, arguments))) == 1
        for number, argument in enumerate(arguments[:1] if alike else arguments):
            yield from kinds(argument, f"{path}[]" if alike else f"{path}[{number}]")
    elif origin is UnionType:
        for argument in arguments:
            if argument is not NoneType:
                yield from kinds(argument, path)
