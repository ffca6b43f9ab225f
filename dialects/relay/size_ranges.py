"""What a program knows of its sizes: `sizes = {seq = [1, 512], batch = [1]}` on a function, from low to high."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ..size_bounds import Range
from ..size_types import SizesAttr, extents_of
from ..sizes import Ranges, Size, symbols_of
from .core import FuncOp
from .signature import Tensor

SIZES = "sizes"
"""The attribute of a function."""
REQUIRED = "required_sizes"
"""The attribute of `@main` with sizes that no call may make negative."""


def set_ranges(func: FuncOp, ranges: Ranges) -> None:
    """Note the ranges of symbols, of those that the function's types have."""
    named = symbols_in(func)
    entries: dict[str, Attribute] = {}
    for name, (low, high) in sorted(ranges.items()):
        if name in named and (low or high is not None):
            numbers = [low or 0] if high is None else [low or 0, high]
            entries[name] = ArrayAttr([IntegerAttr(number, i64) for number in numbers])
    if entries:
        func.attributes[SIZES] = DictionaryAttr(entries)


def ranges_of(func: FuncOp) -> Ranges:
    """The ranges that a function notes. Raises VerifyException for a malformed note."""
    found = func.attributes.get(SIZES)
    if not isinstance(found, DictionaryAttr):
        return {}
    ranges: dict[str, Range] = {}
    for name, entry in found.data.items():
        numbers = [n.value.data for n in cast("ArrayAttr[Any]", entry)] if isinstance(entry, ArrayAttr) else []
        if len(numbers) not in (1, 2) or not all(isinstance(n, int) for n in numbers):
            raise VerifyException(f"{SIZES}: expected [low] or [low, high] of {name}, got {entry}")
        ranges[name] = numbers[0], numbers[1] if len(numbers) == 2 else None
    return ranges


def required_of(func: FuncOp) -> tuple[Size, ...]:
    """What no call may make negative."""
    found = func.attributes.get(REQUIRED)
    return found.sizes if isinstance(found, SizesAttr) else ()


def symbols_in(func: FuncOp) -> tuple[str, ...]:
    """The symbols of a function's inputs, each once, in the order in which they are met."""
    found: dict[str, None] = {}
    for type_ in func.function_type.inputs:
        if isinstance(getattr(type_, "encoding", None), SizesAttr):
            for size in extents_of(cast(Tensor, type_)):
                found.update(dict.fromkeys(symbols_of(size)))
    return tuple(found)


def main_of(module: ModuleOp) -> FuncOp:
    """The function `@main`. Raises VerifyException when there is none."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise VerifyException("expected a function @main, got none")
