"""Maps of iterators: index expressions whose values a loop nest visits each, or each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from whence.arith.iter_map import (
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    is_last,
    is_number,
    normalize_iter_map_to_expr,
)
from whence.arith.iter_sizes import ceiling, covers, divides
from whence.arith.iter_sums import Constraint, IterSums, NoIterSum
from whence.dialects.sizes import Size, product, same, size_max, size_min
from whence.dialects.sizes.kernel import nominal
from whence.te.language import expr as language
from whence.te.language.expr import (
    Axis,
    Binary,
    Compare,
    Const,
    Expr,
    ExprLike,
    SizeVar,
    Var,
    constant,
    convert,
)
from whence.te.language.walks import walk

Domain = Mapping[Any, language.Range]
"""Loops, by their variables or axes."""


def detect_iter_map(
    indices: Sequence[ExprLike],
    input_iters: Domain,
    predicate: ExprLike = True,
    check_level: str | IterMapLevel = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Return each index as a digit of an iterator plus a base, where all are independent; else errors.

    input_iters: the loops. predicate: a condition on them, a conjunction of comparisons.
    simplify_trivial_iterators: loops of one iteration are numbers.
    """
    return detected(indices, IterSums(input_iters, simplify_trivial_iterators), predicate, check_level)


def detected(
    indices: Sequence[ExprLike], sums: IterSums, predicate: ExprLike, check_level: str | IterMapLevel
) -> IterMapResult:
    """Return the answer of `detect_iter_map` for the loops of `sums`."""
    level = IterMapLevel.from_str(check_level) if isinstance(check_level, str) else IterMapLevel(check_level)
    false = constant(False, "bool")
    try:
        limit(sums, convert(predicate))
        found = sums.unified([sums.fused(sums.sum_of(convert(index))) for index in indices])
        if level is not IterMapLevel.NoCheck:
            _Check(sums).run(found, level)
    except NoIterSum as error:
        return IterMapResult((), (str(error),), false)
    return IterMapResult(tuple(found), (), false)


def normalize_to_iter_sum(index: ExprLike, input_iters: Domain) -> IterSumExpr:
    """Return an expression as a sum of digits of loops, of falling scales; what is no digit is in its base."""
    sums = IterSums(input_iters, partly=True)
    (found,) = sums.unified([sums.merged(sums.sum_of(convert(index)))])
    found = sums.merged(found)
    order = sorted(found.args, key=lambda split: -nominal(sums.size(split.scale)))
    return IterSumExpr(tuple(order), found.base)


def iter_map_simplify(
    indices: Sequence[ExprLike],
    input_iters: Domain,
    predicate: ExprLike = True,
    check_level: str | IterMapLevel = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[Expr]:
    """Return the indices in simpler forms where they are a map of iterators, else as they are."""
    exprs = [convert(index) for index in indices]
    result = detect_iter_map(exprs, input_iters, predicate, check_level, simplify_trivial_iterators)
    return [normalize_iter_map_to_expr(index) for index in result.indices] if result.indices else exprs


def conjuncts(condition: Expr) -> list[Expr]:
    """Return the parts of a conjunction, in order."""
    parts: list[Expr] = []
    stack = [condition]
    while stack:
        match stack.pop():
            case Binary(op="and", dtype="bool") as both:
                stack += [both.b, both.a]
            case part:
                parts.append(part)
    return parts


_OPPOSITE = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def limit(sums: IterSums, predicate: Expr) -> None:
    """Add the constraints of a conjunction of comparisons. Raises NoIterSum for another condition on the loops."""
    parts = [part for part in conjuncts(predicate) if not isinstance(part, Const) or not part.value]
    # Sums that are parts of other sums come first.
    for part in sorted(parts, key=lambda part: len(walk([part]))):
        if not isinstance(part, Compare) or part.op not in _OPPOSITE:
            raise NoIterSum(f"expected comparisons as the predicate, got {part}")
        expr = sums.plus(sums.sum_of(part.a), sums.sum_of(part.b), -1)
        if not expr.args:
            continue
        op = part.op
        if all(isinstance(scale := sums.size(split.scale), int) and scale < 0 for split in expr.args):
            expr, op = sums.plus(IterSumExpr((), constant(0, expr.dtype)), expr, -1), _OPPOSITE[op]
        _limit(sums, op, sums.fused(expr), part)


def _limit(sums: IterSums, op: str, expr: IterSumExpr, condition: Expr) -> None:
    """Add the constraint `scale * digit + base op 0`."""
    split = expr.args[0]
    scale, extent = sums.size(split.scale), sums.size(split.extent)
    if any(isinstance(node, Var | Axis) and not isinstance(node, SizeVar) for node in walk([expr.base])):
        raise NoIterSum(f"expected numbers and sizes as limits, got {condition}")
    edge = -sums.size(expr.base)
    low: Size = 0
    high = extent
    if op in ("gt", "ge", "eq"):
        low = _greater(low, ceiling(edge + (op == "gt"), scale))
    if op in ("lt", "le", "eq"):
        high = _less(high, (edge - (op == "lt")) // scale + 1)
    if covers(low, high):
        raise NoIterSum(f"expected an iteration for which {condition} holds, got none")
    source, parts = split.source.source, (sums.plain(split),)
    if is_number(split.lower_factor, 1) and is_last(split) and id(split.source) in sums.fusions:
        parts = cast("IterSumExpr", source).args
    mark = IterMark(IterSumExpr(parts, sums.symbols.expr(-low, expr.dtype)), sums.symbols.expr(high - low, expr.dtype))
    if id(split.source) in sums.overlaps:
        sums.overlaps.add(id(mark))
    splits = {sums.key(part): part for part in parts}
    number = sums.symbols.expr(edge, expr.dtype)
    sums.constraints.append(Constraint(splits, mark, low, condition, op, split.scale, number))


def _greater(a: Size, b: Size) -> Size:
    return a if covers(a, b) else b if covers(b, a) else size_max(a, b)


def _less(a: Size, b: Size) -> Size:
    return b if covers(a, b) else a if covers(b, a) else size_min(a, b)


def _text(split: IterSplitExpr) -> str:
    return str(normalize_iter_map_to_expr(split))


class _Check:
    """A check that digits are independent: that each combination of their values is there."""

    def __init__(self, sums: IterSums) -> None:
        self._sums = sums
        self._digits: dict[object, list[tuple[Expr, IterSplitExpr]]] = {}
        """Root -> its digits, with the offsets that they have."""
        self._extents: dict[object, Size] = {}
        self._marks: dict[int, IterMark] = {}
        self._splits: list[IterSplitExpr] = []

    def run(self, indices: Sequence[IterSumExpr], level: IterMapLevel) -> None:
        """Raise NoIterSum unless the map has the level."""
        pending = [split for index in indices for split in index.args]
        while pending:
            pending += self._use(pending.pop())
        for root, digits in self._digits.items():
            self._independent(self._extents[root], digits)
        for constraint in self._sums.constraints:
            self._respected(constraint)
        if level is IterMapLevel.Bijective:
            self._each_once()

    def _use(self, split: IterSplitExpr) -> list[IterSplitExpr]:
        """Note a digit; return those of which its iterator is made, if that is new."""
        mark, more = split.source, list[IterSplitExpr]()
        self._splits.append(split)
        if id(mark) in self._sums.pads:
            inner, offset = self._sums.pads[id(mark)]
            whole = is_number(inner.lower_factor, 1) and is_last(inner)
            root: object = id(inner.source) if whole else self._sums.key(inner)
            extent = self._sums.size(inner.extent)
            if whole:
                mark = inner.source
                self._splits.append(inner)
            elif root not in self._digits:
                more.append(inner)
        else:
            root, offset, extent = id(mark), constant(0, mark.dtype), self._sums.size(mark.extent)
        self._digits.setdefault(root, []).append((offset, split))
        self._extents[root] = extent
        if id(mark) not in self._marks:
            self._marks[id(mark)] = mark
            if id(mark) not in self._sums.pads and isinstance(mark.source, IterSumExpr):
                more += mark.source.args
        return more

    def _independent(self, extent: Size, digits: list[tuple[Expr, IterSplitExpr]]) -> None:
        size = self._sums.size
        rows = [(size(split.lower_factor), size(split.extent), offset, split) for offset, split in digits]
        rows.sort(key=lambda row: nominal(row[0]))
        period: Size = 1
        for number, (lower, digit, offset, split) in enumerate(rows):
            if number and not divides(period, lower):
                raise NoIterSum(f"expected independent iterators, got {_text(split)} beside another part of it")
            if is_last(split):
                if number + 1 < len(rows) or (number and not self._aligned(extent, lower, period, size(offset))):
                    raise NoIterSum(f"expected independent iterators, got {_text(split)} beside another part of it")
                return
            period = lower * digit
        if not covers(extent, period):
            raise NoIterSum(f"expected at least {period} iterations for {_text(rows[-1][-1])}, got {extent}")

    def _aligned(self, extent: Size, lower: Size, period: Size, offset: Size) -> bool:
        """Return whether the first and the last value of the last digit are there for all values below it."""
        if same(offset, 0) and divides(lower, extent):
            return True
        if not all(isinstance(number, int) for number in (extent, lower, period, offset)):
            return False
        return lower - offset % lower >= period and (offset + extent - 1) % lower + 1 >= period

    def _respected(self, constraint: Constraint) -> None:
        if id(constraint.mark) in self._marks:
            return
        inside: dict[int, IterMark] = {}
        stack = list(constraint.splits.values())
        for split in stack:
            if id(split.source) not in inside:
                inside[id(split.source)] = split.source
                if isinstance(source := split.source.source, IterSumExpr):
                    stack += source.args
        direct = {id(split.source) for split in constraint.splits.values()}
        if any(number in self._marks and number not in direct for number in inside) or not self._sums.apart(
            self._splits, constraint
        ):
            raise NoIterSum(f"expected indices that tell if {constraint.condition} holds, got a part of it")

    def _each_once(self) -> None:
        size = self._sums.size
        if any(not isinstance(offset, Const) for digits in self._digits.values() for offset, _ in digits):
            raise NoIterSum("expected numbers as offsets of iterators")
        if any(mark in self._sums.overlaps for mark in self._marks):
            raise NoIterSum("expected each value once, got sums that have values again")
        for root, digits in self._digits.items():
            # Digits from the lowest on without a gap, of which there are as many values as of the iterator.
            extents = product(size(split.extent) for _, split in digits)
            lowers = sorted((size(split.lower_factor) for _, split in digits), key=nominal)
            if len({id(split.source) for _, split in digits}) > 1:
                raise NoIterSum("expected digits of an iterator with one offset, got several")
            if not same(extents, self._extents[root]) or not same(lowers[0], 1):
                raise NoIterSum(f"expected all {self._extents[root]} values of an iterator in digits, got {extents}")
        if any(id(mark) not in self._marks for mark in self._sums.loops if not is_number(mark.extent, 1)):
            raise NoIterSum("expected all loops in the indices, got some of them")
