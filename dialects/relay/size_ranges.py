"""The facts about a program's sizes: `sizes = {seq = [1, 512], batch = [1]}` on a function, from low to high."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, LocationAttr, ModuleOp, UnknownLoc, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ..sizes import Ranges, Size, symbols_of
from ..sizes.intervals import Range
from ..sizes.types import SizesAttr, extents_of, sizes_attr
from .core import FuncOp
from .signature import Tensor

SIZES = "sizes"
"""The attribute of a function."""
REQUIRED = "required_sizes"
"""The attribute of `@main` with sizes that no call may make negative."""
REQUIRED_BY = "required_by"
"""The attribute of `@main` with the location of what asked for each of them, if that is known."""
Required = tuple[Size, LocationAttr]
"""A size that no call may make negative, and the location of what asked for that."""

NARROWED_BY = "narrowed_by"
"""The attribute of `@main` with triples: number of an input, dimension, and the location of what made it another's."""


def set_ranges(func: FuncOp, ranges: Ranges) -> None:
    """Note the ranges of symbols, of those that the function's types have."""
    named = symbols_in(func)
    if entries := ranges_attr({name: range_ for name, range_ in ranges.items() if name in named}):
        func.attributes[SIZES] = entries


def ranges_attr(ranges: Ranges) -> DictionaryAttr | None:
    """The note of ranges; None where they say nothing."""
    entries: dict[str, Attribute] = {}
    for name, (low, high) in sorted(ranges.items()):
        if low or high is not None:
            numbers = [low or 0] if high is None else [low or 0, high]
            entries[name] = ArrayAttr([IntegerAttr(number, i64) for number in numbers])
    return DictionaryAttr(entries) if entries else None


def ranges_of(func: FuncOp) -> Ranges:
    """The ranges that a function notes. Raises VerifyException for a malformed note."""
    return ranges_in(func.attributes.get(SIZES))


def ranges_in(note: Attribute | None) -> Ranges:
    """Return the ranges in the attribute, like `ranges_of`."""
    if not isinstance(note, DictionaryAttr):
        return {}
    ranges: dict[str, Range] = {}
    for name, entry in note.data.items():
        numbers = [n.value.data for n in cast("ArrayAttr[Any]", entry)] if isinstance(entry, ArrayAttr) else []
        if len(numbers) not in (1, 2) or not all(isinstance(n, int) for n in numbers):
            raise VerifyException(f"{SIZES}: expected [low] or [low, high] of {name}, got {entry}")
        ranges[name] = numbers[0], numbers[1] if len(numbers) == 2 else None
    return ranges


_BOUND = re.compile(r"(?:(\d+)<=)?([^\W\d]\w*)(?:<=(\d+))?")


def spell_ranges(ranges: Ranges) -> str:
    """Ranges as text, `1<=batch<=8 seq<=512`, as bounds of input shapes are written."""
    bounds = sorted(ranges.items())
    return " ".join(
        f"{f'{low}<=' if low else ''}{name}{'' if high is None else f'<={high}'}" for name, (low, high) in bounds
    )


def parse_ranges(text: str) -> Ranges:
    """The inverse of `spell_ranges`. Raises ValueError for another text."""
    ranges: dict[str, Range] = {}
    for part in text.split():
        if (match := _BOUND.fullmatch(part)) is None:
            raise ValueError(f"expected bounds such as 1<=batch<=8 seq<=512, got {text!r}")
        ranges[match[2]] = int(match[1] or 0), int(match[3]) if match[3] else None
    return ranges


def set_required(func: FuncOp, required: Sequence[Required]) -> None:
    """Note what no call may make negative; of equal sizes, the first one's location. Numbers from 0 on say nothing."""
    func.attributes.pop(REQUIRED, None)
    func.attributes.pop(REQUIRED_BY, None)
    open_ones = [(size, location) for size, location in required if not isinstance(size, int) or size < 0]
    if distinct := list({str(size): (size, location) for size, location in reversed(open_ones)}.values())[::-1]:
        func.attributes[REQUIRED] = sizes_attr([size for size, _ in distinct])
        if not all(isinstance(location, UnknownLoc) for _, location in distinct):
            func.attributes[REQUIRED_BY] = ArrayAttr([location for _, location in distinct])


def required_of(func: FuncOp) -> tuple[Required, ...]:
    """Return what no call may make negative; where nobody says who asked for it, the function did."""
    attribute, by = func.attributes.get(REQUIRED), func.attributes.get(REQUIRED_BY)
    sizes = attribute.sizes if isinstance(attribute, SizesAttr) else ()
    locations = cast("Sequence[LocationAttr]", by.data if isinstance(by, ArrayAttr) else [func.location] * len(sizes))
    if len(locations) != len(sizes):
        raise VerifyException(f"{REQUIRED_BY}: expected {len(sizes)} locations, got {len(locations)}")
    return tuple(zip(sizes, locations, strict=True))


def set_narrowed(func: FuncOp, layers: Mapping[tuple[int, int], LocationAttr]) -> None:
    """Note by what extents of inputs, `(input, dimension)`, are other sizes than the model says."""
    if layers:
        entries = [ArrayAttr([IntegerAttr(i, i64), IntegerAttr(axis, i64), by]) for (i, axis), by in layers.items()]
        func.attributes[NARROWED_BY] = ArrayAttr[Attribute](entries)


def narrowed_of(func: FuncOp) -> dict[tuple[int, int], LocationAttr]:
    """Return the locations that `set_narrowed` noted."""
    entries = cast("ArrayAttr[ArrayAttr[Any]]", func.attributes.get(NARROWED_BY, ArrayAttr([])))
    return {(entry.data[0].value.data, entry.data[1].value.data): entry.data[2] for entry in entries}


def symbols_in(func: FuncOp) -> tuple[str, ...]:
    """The symbols of a function's inputs, each once, in the order in which they are met."""
    symbols: dict[str, None] = {}
    for type_ in func.function_type.inputs:
        if isinstance(getattr(type_, "encoding", None), SizesAttr):
            for size in extents_of(cast(Tensor, type_)):
                symbols.update(dict.fromkeys(symbols_of(size)))
    return tuple(symbols)


def main_of(module: ModuleOp) -> FuncOp:
    """The function `@main`. Raises VerifyException when there is none."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise VerifyException("expected a function @main, got none")


def is_sized(module: ModuleOp) -> bool:
    """Return whether `@main` of a module takes arrays of sizes that a call decides."""
    return bool(symbols_in(main_of(module)))
