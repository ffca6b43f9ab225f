"""Maps of iterators in two parts, of outer loops and of inner ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from whence.arith.iter_affine import Domain, detected
from whence.arith.iter_map import (
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    is_last,
    is_number,
    variable_of,
)
from whence.arith.iter_sizes import divides
from whence.arith.iter_sums import IterSums, NoIterSum
from whence.dialects.sizes import Size, same
from whence.te.language.expr import Axis, Expr, ExprLike, Var, binary, constant


@dataclass(frozen=True)
class _Parts:
    """A sum in two parts: what the outer loops add, in units of `extent`, and what the inner ones do."""

    outer: IterSumExpr
    inner: IterSumExpr
    extent: Size
    """The number of values of the inner part."""
    outer_extent: Size


def subspace_divide(
    bindings: Sequence[ExprLike],
    input_iters: Domain,
    sub_iters: Sequence[Var | Axis],
    predicate: ExprLike = True,
    check_level: str | IterMapLevel = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[IterMark]]:
    """Return for each binding an outer and an inner part, `outer * inner.extent + inner`, and then the predicates.

    sub_iters: the loops of the inner parts. Predicates are the extents of the last two marks. [] where the bindings are
    no map of iterators, or an iterator, or a limit, is about outer loops inside of inner ones.
    """
    sums = IterSums(input_iters, simplify_trivial_iterators)
    result = detected(bindings, sums, predicate, check_level)
    if not result.indices:
        return []
    division = _Division(sums, {id(variable) for variable in sub_iters})
    try:
        marks = [division.of(index) for index in result.indices]
        conditions = division.conditions()
    except NoIterSum:
        return []
    return [*marks, [IterMark(constant(0, "int32"), condition) for condition in conditions]]


class _Division:
    def __init__(self, sums: IterSums, inner: set[int]) -> None:
        self._sums, self._inner = sums, inner
        self._kinds: dict[int, frozenset[bool]] = {}
        self._divided: dict[int, _Parts] = {}
        self._marks: dict[tuple[int, bool], IterMark] = {}

    def of(self, index: IterSumExpr) -> list[IterMark]:
        """Return the outer and the inner mark of an index. Raises NoIterSum."""
        size, dtype = self._sums.size, index.dtype
        zero = constant(0, dtype)
        if not index.args:
            return [IterMark(IterSumExpr((), zero), constant(1, dtype)), IterMark(index, constant(1, dtype))]
        split = index.args[0]
        parts = self._split(split)
        inner = IterSumExpr(self._scaled(parts.inner.args, size(split.scale)), index.base)
        outer = parts.outer
        if not parts.inner.args:
            outer = IterSumExpr(self._scaled(outer.args, size(split.scale)), zero)
        elif outer.args and not is_number(split.scale, 1):
            raise NoIterSum(f"expected an index of scale 1 in both loop nests, got {index}")
        return [
            IterMark(outer, self._sums.symbols.expr(parts.outer_extent, dtype)),
            IterMark(inner, self._sums.symbols.expr(parts.extent, dtype)),
        ]

    def _scaled(self, splits: Iterable[IterSplitExpr], factor: Size) -> tuple[IterSplitExpr, ...]:
        size, split = self._sums.size, self._sums.split
        return tuple(
            split(one.source, size(one.lower_factor), size(one.extent), size(one.scale) * factor) for one in splits
        )

    def kinds(self, mark: IterMark) -> frozenset[bool]:
        """Return if a mark is of inner loops, of others, or of both."""
        stack = [mark]
        while stack:
            one = stack[-1]
            below = [split.source for split in one.source.args] if isinstance(one.source, IterSumExpr) else []
            if missing := [part for part in below if id(part) not in self._kinds]:
                stack += missing
                continue
            if isinstance(one.source, IterSumExpr):
                self._kinds[id(one)] = frozenset[bool]().union(*(self._kinds[id(part)] for part in below))
            else:
                self._kinds[id(one)] = frozenset({id(variable_of(one.source)[0]) in self._inner})
            stack.pop()
        return self._kinds[id(mark)]

    def _split(self, split: IterSplitExpr) -> _Parts:
        """The parts of a digit without its scale."""
        kinds, digit = self.kinds(split.source), self._sums.plain(split)
        whole, none = IterSumExpr((digit,), constant(0, split.dtype)), IterSumExpr((), constant(0, split.dtype))
        extent = self._sums.size(split.extent)
        if False not in kinds:
            return _Parts(none, whole, extent, 1)
        if True not in kinds:
            return _Parts(whole, none, 1, extent)
        parts = self._mark(split.source)
        size, lower = self._sums.size, self._sums.size(split.lower_factor)
        if is_number(split.lower_factor, 1) and is_last(split):
            return parts
        if divides(parts.extent, lower):
            return _Parts(self._digit(parts.outer, lower // parts.extent, extent), none, 1, extent)
        if divides(lower * extent, parts.extent):
            return _Parts(none, self._digit(parts.inner, lower, extent), extent, 1)
        if not divides(lower, parts.extent) or not divides(parts.extent, lower * extent):
            raise NoIterSum(f"expected digits of outer and of inner loops, got {size(split.lower_factor)} in {split}")
        high, low = lower * extent // parts.extent, parts.extent // lower
        return _Parts(self._digit(parts.outer, 1, high), self._digit(parts.inner, lower, low), low, high)

    def _digit(self, expr: IterSumExpr, lower: Size, extent: Size) -> IterSumExpr:
        fused, number = self._sums.fused(expr), self._sums.symbols.expr
        quotient = fused if same(lower, 1) else self._sums.divided("floordiv", fused, number(lower, expr.dtype))
        return self._sums.divided("floormod", quotient, number(extent, expr.dtype))

    def _mark(self, mark: IterMark) -> _Parts:
        """The parts of a sum of which outer loops make the greater digits."""
        if id(mark) not in self._divided:
            self._divided[id(mark)] = self._parts_of(mark)
        return self._divided[id(mark)]

    def _parts_of(self, mark: IterMark) -> _Parts:
        assert isinstance(mark.source, IterSumExpr)
        if id(mark) not in self._sums.fusions:
            return self._limited(mark, mark.source)
        size = self._sums.size
        outer, inner = list[IterSplitExpr](), list[IterSplitExpr]()
        extent: Size = 1
        outer_extent: Size = 1
        for split in reversed(mark.source.args):
            parts, scale = self._split(split), size(split.scale)
            if outer and parts.inner.args:
                raise NoIterSum(f"expected inner loops inside of outer ones, got {mark.source}")
            inner = [*self._scaled(parts.inner.args, scale), *inner]
            extent = extent * parts.extent
            if parts.outer.args:
                step = scale * parts.extent
                if not divides(extent, step):
                    raise NoIterSum(f"expected outer loops over whole inner ones, got {mark.source}")
                outer = [*self._scaled(parts.outer.args, step // extent), *outer]
                outer_extent = outer_extent * parts.outer_extent
        zero = constant(0, mark.dtype)
        return _Parts(IterSumExpr(tuple(outer), zero), IterSumExpr(tuple(inner), zero), extent, outer_extent)

    def _limited(self, mark: IterMark, source: IterSumExpr) -> _Parts:
        """The parts of a limited sum, or of one with an offset, which is of loops of one kind."""
        kind, splits = self._one_kind(source.args, mark.source)
        key = id(mark), kind
        if key not in self._marks:
            self._marks[key] = IterMark(IterSumExpr(splits, source.base), mark.extent)
        zero, extent = constant(0, mark.dtype), self._sums.size(mark.extent)
        whole, none = IterSumExpr((IterSplitExpr(self._marks[key]),), zero), IterSumExpr((), zero)
        return _Parts(none, whole, extent, 1) if kind else _Parts(whole, none, 1, extent)

    def _one_kind(self, splits: Sequence[IterSplitExpr], where: Expr) -> tuple[bool, tuple[IterSplitExpr, ...]]:
        """Return if digits are of inner loops, and the digits, of loops of that kind alone."""
        parts = [(self._split(split), self._sums.size(split.scale)) for split in splits]
        if all(not part.outer.args for part, _ in parts):
            return True, tuple(one for part, scale in parts for one in self._scaled(part.inner.args, scale))
        if any(part.inner.args for part, _ in parts):
            raise NoIterSum(f"expected a limit on outer or on inner loops, got {where}")
        return False, tuple(one for part, scale in parts for one in self._scaled(part.outer.args, scale))

    def conditions(self) -> list[Expr]:
        """Return the conditions of outer and of inner loops. Raises NoIterSum for one of both."""
        sides: dict[bool, list[Expr]] = {False: [], True: []}
        for constraint in self._sums.constraints:
            kind, splits = self._one_kind(tuple(constraint.splits.values()), constraint.condition)
            sides[kind].append(constraint.on(splits))
        return [
            reduce(lambda a, b: binary("and", a, b), side) if side else constant(True, "bool")
            for side in sides.values()
        ]
