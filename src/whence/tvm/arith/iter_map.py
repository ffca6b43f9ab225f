"""Iterators of index expressions: what a loop nest visits, taken apart and put together, by TVM's names.

An `IterMark` is an independent iterator from 0 to below its extent: a loop, or a sum of others. An `IterSplitExpr` is a
digit of one, `source floordiv lower_factor floormod extent * scale`, and an `IterSumExpr` adds digits and a base.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, cast

from whence.arith.iter_sizes import Symbols, ceiling, covers
from whence.dialects.sizes import same
from whence.te.language.expr import Axis, Binary, Const, Expr, ExprLike, Var, binary, constant, convert

_ONE: Any = 1
_ALL: Any = None


class IterMapLevel(IntEnum):
    """The demands on a map of iterators: each value once, each value, or none."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """Return the level of a name in any case; raises ValueError for another name."""
        levels = {level.name.lower(): level for level in IterMapLevel}
        if name.lower() not in levels:
            raise ValueError(f"expected one of {', '.join(levels)} as a level, got {name!r}")
        return levels[name.lower()]


class IterMapExpr(Expr):
    """A digit of an iterator, or a sum of digits."""


@dataclass(frozen=True, eq=False)
class IterMark:
    """An iterator from 0 to below `extent`: an expression of a loop's variable, or a sum of digits of iterators."""

    source: Expr
    extent: Expr

    def __post_init__(self) -> None:
        _convert(self, self.source.dtype, "extent")

    @property
    def dtype(self) -> str:
        return self.source.dtype


@dataclass(frozen=True, eq=False)
class IterSplitExpr(IterMapExpr):
    """A digit of an iterator; without `lower_factor` and `extent` all of it."""

    source: IterMark
    lower_factor: Expr = _ONE
    extent: Expr = _ALL
    scale: Expr = _ONE
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.source.dtype)
        if cast("Any", self.extent) is None:
            object.__setattr__(self, "extent", self.source.extent)
        _convert(self, self.dtype, "lower_factor", "extent", "scale")


@dataclass(frozen=True, eq=False)
class IterSumExpr(IterMapExpr):
    """A sum of digits, those of the greatest scale first, and a base without iterators."""

    args: tuple[IterSplitExpr, ...]
    base: Expr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(self.args))
        object.__setattr__(self, "dtype", self.args[0].dtype if self.args else convert(self.base).dtype)
        _convert(self, self.dtype, "base")


@dataclass(frozen=True, eq=False)
class IterMapResult:
    """The sums of `detect_iter_map`, one for each index, or none and the `errors`.

    padding_predicate: a condition that no iteration makes true, as no iterator is padded.
    """

    indices: tuple[IterSumExpr, ...]
    errors: tuple[str, ...]
    padding_predicate: Expr


def _convert(node: Any, dtype: str, *names: str) -> None:
    for name in names:
        value = getattr(node, name)
        object.__setattr__(node, name, value if isinstance(value, Expr) else constant(value, dtype))


def is_number(value: Expr, number: int) -> bool:
    """Return whether an expression is this number."""
    return isinstance(value, Const) and value.value == number


def plus(a: Expr, b: ExprLike) -> Expr:
    """The sum of two expressions; a negative number is subtracted."""
    number = b.value if isinstance(b, Const) else b
    if isinstance(a, Const) and a.value == 0:
        return convert(b, a.dtype)
    if isinstance(number, int) and number < 0 and not isinstance(a, Const):
        return binary("sub", a, -number)
    return binary("add", a, b)


def times(a: Expr, b: Expr) -> Expr:
    """The product of two expressions."""
    if is_number(a, 0) or is_number(b, 0):
        return constant(0, a.dtype)
    return b if is_number(a, 1) else binary("mul", a, b)


def variable_of(source: Expr) -> tuple[Var | Axis, Expr | None]:
    """The variable of a loop that a mark has as its source, and the start of its range if that is not 0."""
    if isinstance(source, Binary) and source.op == "add":
        return cast("Var", source.a), constant(-cast("Const", source.b).value, source.dtype)
    if isinstance(source, Binary):
        return cast("Var", source.a), source.b
    return cast("Var", source), None


def normalize_iter_map_to_expr(expr: Expr) -> Expr:
    """Return the plain expression of a digit or a sum; one of neither is returned as it is."""
    parts: dict[int, Expr] = {}
    stack: list[Any] = [expr]
    while stack:
        node = stack[-1]
        wanted = [part for part in _parts(node) if id(part) not in parts]
        if wanted:
            stack += wanted
            continue
        parts[id(node)] = _written(node, parts)
        stack.pop()
    return parts[id(expr)]


def _parts(node: Any) -> tuple[Any, ...]:
    match node:
        case IterSumExpr():
            return node.args
        case IterSplitExpr():
            return (node.source.source,)
        case _:
            return ()


def _written(node: Expr, parts: dict[int, Expr]) -> Expr:
    match node:
        case IterSumExpr():
            total, base = constant(0, node.dtype), node.base
            for split in node.args:
                total = plus(total, parts[id(split)])
            return total if is_number(base, 0) and node.args else plus(total, base)
        case IterSplitExpr():
            return times(_digit(node, parts[id(node.source.source)]), node.scale)
        case _:
            return node


def _digit(split: IterSplitExpr, value: Expr) -> Expr:
    mark = split.source
    if is_number(split.extent, 1) and not is_number(mark.extent, 1):
        return constant(0, split.dtype)
    if not is_last(split):
        value = binary("floormod", value, binary("mul", split.lower_factor, split.extent))
    return value if is_number(split.lower_factor, 1) else binary("floordiv", value, split.lower_factor)


def is_last(split: IterSplitExpr) -> bool:
    """Return whether there is no digit of the mark above this one, as far as the forms of numbers tell."""
    sizes = Symbols()
    lower, extent, whole = (sizes.size(part) for part in (split.lower_factor, split.extent, split.source.extent))
    return same(extent, ceiling(whole, lower)) or covers(lower * extent, whole)
