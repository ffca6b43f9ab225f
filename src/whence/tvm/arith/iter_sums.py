"""Index expressions as sums of digits of iterators: their arithmetic, and how several become one iterator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whence.arith.forms import Forms
from whence.arith.iter_map import (
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    is_last,
    is_number,
    normalize_iter_map_to_expr,
    plus,
    times,
)
from whence.arith.iter_sizes import Symbols, ceiling, covers, divides
from whence.dialects.affine import FAR
from whence.dialects.sizes import Size, same
from whence.dialects.sizes.kernel import nominal
from whence.support.errors import FrontendError
from whence.te.language import expr as language
from whence.te.language.expr import Binary, Cast, Const, Expr, binary, compare, constant, convert
from whence.te.language.walks import children, operands_first

Key = tuple[int, str, str]
"""A digit: the id of its mark, its lower factor and its extent."""


class NoIterSum(FrontendError):
    """An expression that is no sum of iterators, or iterators that do not make one."""


@dataclass(frozen=True, eq=False)
class Constraint:
    """A limited iterator: the digits of which it is a sum, and the mark that stands for the sum.

    The sum is the mark's iterator plus `start`. The condition is `op` of the sum times `scale`, and `edge`.
    """

    splits: Mapping[Key, IterSplitExpr]
    mark: IterMark
    start: Size
    condition: Expr
    op: str
    scale: Expr
    edge: Expr

    def on(self, splits: Iterable[IterSplitExpr]) -> Expr:
        """Return the condition on the sum of these digits."""
        total = normalize_iter_map_to_expr(IterSumExpr(tuple(splits), constant(0, self.mark.dtype)))
        return compare(self.op, times(total, self.scale), self.edge)


def _from_0(var: Expr, low: Expr) -> Expr:
    """A variable less the start of its range."""
    if isinstance(low, Const) and low.value < 0:
        return Binary("add", var, constant(-low.value, low.dtype))
    return Binary("sub", var, low)


class IterSums:
    """The sums of digits of expressions over the loops of a domain.

    padded: a rest has the extent of its divisor, even if the loops do not reach all of it.
    partly: a part that is no sum of digits becomes part of the base, though it has loops inside; else NoIterSum.
    """

    def __init__(
        self,
        domain: Mapping[Any, language.Range],
        simplify_trivial: bool = True,
        padded: bool = False,
        partly: bool = False,
    ) -> None:
        self.symbols = Symbols()
        self.constraints: list[Constraint] = []
        self.overlaps: set[int] = set()
        """The marks of sums that have a value more than once."""
        self.pads: dict[int, tuple[IterSplitExpr, Expr]] = {}
        """Marks of a digit plus an offset."""
        self.loops: list[IterMark] = []
        self._padded, self._partly = padded, partly
        self.fusions: set[int] = set()
        """Marks of sums of digits."""
        self._fused: dict[tuple[tuple[Key, str], ...], IterMark] = {}
        self._padded_marks: dict[tuple[Key, str], IterMark] = {}
        self._variables: dict[int, IterSumExpr] = {}
        self._kept: list[object] = [domain]
        self._forms = Forms()
        for var, loop in domain.items():
            low, extent = convert(loop.min, var.dtype), convert(loop.extent, var.dtype)
            if simplify_trivial and is_number(extent, 1):
                self._variables[id(var)] = IterSumExpr((), low)
                continue
            mark = IterMark(var if is_number(low, 0) else _from_0(var, low), extent)
            self.loops.append(mark)
            self._variables[id(var)] = IterSumExpr((IterSplitExpr(mark),), low)

    def size(self, expr: Expr) -> Size:
        """Return a number of a digit as a size."""
        return self.symbols.size(expr)

    def split(self, mark: IterMark, lower: Size, extent: Size, scale: Size) -> IterSplitExpr:
        """Return a digit."""
        return IterSplitExpr(mark, *(self.symbols.expr(size, mark.dtype) for size in (lower, extent, scale)))

    def key(self, split: IterSplitExpr) -> Key:
        """Return what makes two digits the same but for their scales."""
        return id(split.source), str(self.size(split.lower_factor)), str(self.size(split.extent))

    def sum_of(self, expr: Expr) -> IterSumExpr:
        """Return an expression as a sum of digits. Raises NoIterSum."""
        sums: dict[int, IterSumExpr] = {}
        for node in operands_first([expr], sums):
            try:
                sums[id(node)] = self._sum(node, sums)
            except NoIterSum:
                if not self._partly:
                    raise
                sums[id(node)] = IterSumExpr((), node)
        return sums[id(expr)]

    def _sum(self, node: Expr, sums: Mapping[int, IterSumExpr]) -> IterSumExpr:
        if id(node) in self._variables:
            return self._variables[id(node)]
        parts = [sums[id(part)] for part in children(node)]
        moving = [part for part in parts if part.args]
        match node:
            case Binary(op="add" | "sub" as op):
                return self.plus(parts[0], parts[1], 1 if op == "add" else -1)
            case Binary(op="mul") if len(moving) < 2:
                return self._times(*(reversed(parts) if parts[1].args else parts))
            case Binary(op="floordiv" | "floormod" as op) if moving and not parts[1].args:
                return self.divided(op, parts[0], parts[1].base)
            case Cast() if moving and node.dtype in ("int32", "int64") and node.a.dtype in ("int32", "int64"):
                return parts[0]
            case Binary(op="floordiv" | "floormod" as op, b=Const(value=int() as by)) if not moving and by > 0:
                base = parts[0].base
                if isinstance(base, Const):
                    return IterSumExpr((), self._base(base, by)[op == "floormod"])
                return IterSumExpr((), node)
            case _ if not moving:
                return IterSumExpr((), node)
            case _:
                raise NoIterSum(f"expected sums, and quotients and rests by numbers, of loops, got {node}")

    def plus(self, a: IterSumExpr, b: IterSumExpr, sign: int = 1) -> IterSumExpr:
        """Return the sum or the difference; a digit that both have is one digit of it."""
        if not b.args and is_number(b.base, 0):
            return a
        splits = {self.key(split): split for split in a.args}
        for split in b.args:
            key, scale = self.key(split), self.size(split.scale) * sign
            if key in splits:
                scale = self.size(splits[key].scale) + scale
            splits[key] = self._scaled(split, scale)
        args = tuple(split for split in splits.values() if not is_number(split.scale, 0))
        return IterSumExpr(args, plus(a.base, b.base) if sign == 1 else binary("sub", a.base, b.base))

    def _scaled(self, split: IterSplitExpr, scale: Size) -> IterSplitExpr:
        return IterSplitExpr(
            split.source, split.lower_factor, split.extent, self.symbols.expr(scale, split.source.dtype)
        )

    def plain(self, split: IterSplitExpr) -> IterSplitExpr:
        """Return a digit without its scale."""
        return self._scaled(split, 1)

    def _times(self, a: IterSumExpr, b: IterSumExpr) -> IterSumExpr:
        if not a.args:
            return IterSumExpr((), times(a.base, b.base))
        factor = self.size(b.base)
        if same(factor, 0):
            return IterSumExpr((), constant(0, a.dtype))
        args = tuple(self._scaled(split, self.size(split.scale) * factor) for split in a.args)
        return IterSumExpr(args, times(a.base, self.symbols.expr(factor, a.dtype)))

    # How several digits become one iterator

    def fused(self, expr: IterSumExpr) -> IterSumExpr:
        """Return a sum of at most one digit: of an iterator that is the sum of the digits. Raises NoIterSum."""
        expr = self.limited(self.merged(expr))
        if len(expr.args) < 2:
            return expr
        order, base, extent, once = self._chain(expr)
        factors = [self._quotient(self.size(split.scale), base) for split in order]
        name = tuple((self.key(split), str(factor)) for split, factor in zip(order, factors, strict=True))
        if name not in self._fused:
            args = tuple(self._scaled(split, factor) for split, factor in zip(order, factors, strict=True))
            source = IterSumExpr(args, constant(0, expr.dtype))
            self._fused[name] = IterMark(source, self.symbols.expr(extent, expr.dtype))
            self.fusions.add(id(self._fused[name]))
            if not once or any(id(split.source) in self.overlaps for split in order):
                self.overlaps.add(id(self._fused[name]))
        return IterSumExpr((self._scaled(IterSplitExpr(self._fused[name]), base),), expr.base)

    def _quotient(self, scale: Size, base: Size) -> Size:
        if not divides(base, scale):
            raise NoIterSum(f"expected scales that are multiples of {base}, got {scale}")
        return scale // base

    def _chain(self, expr: IterSumExpr) -> tuple[list[IterSplitExpr], Size, Size, bool]:
        """The digits from the greatest scale on, their least scale, the extent of their sum, and if each value of it
        is there once."""
        left = list(expr.args)
        if any(isinstance(scale := self.size(split.scale), int) and scale < 1 for split in left):
            raise NoIterSum(f"expected positive scales, got {normalize_iter_map_to_expr(expr)}")
        base = min((self.size(split.scale) for split in left), key=nominal)
        reach: Size = 1
        order: list[IterSplitExpr] = []
        once = True
        while left:
            split, exact = self._next(left, base, reach)
            left = [other for other in left if other is not split]
            order.insert(0, split)
            step = self._quotient(self.size(split.scale), base)
            once = once and exact
            reach = reach * self.size(split.extent) if exact else reach + (self.size(split.extent) - 1) * step
        return order, base, reach, once

    def _next(self, left: list[IterSplitExpr], base: Size, reach: Size) -> tuple[IterSplitExpr, bool]:
        """The digit with which the values of a sum go on, and if no value comes again."""
        exact = [split for split in left if same(self.size(split.scale), base * reach)]
        unit = [split for split in exact if is_number(split.extent, 1)]
        if exact:
            return (unit or exact)[-1], True
        near = min(left, key=lambda split: nominal(self.size(split.scale)))
        if not covers(base * reach, self.size(near.scale)):
            raise NoIterSum(f"expected a scale of at most {base * reach}, got {near.scale}: there are gaps in the sum")
        return near, is_number(near.extent, 1)

    def merged(self, expr: IterSumExpr) -> IterSumExpr:
        """Return a sum in which neighbouring digits of an iterator are one, where their scales allow it."""
        args: list[IterSplitExpr] = list(expr.args)
        base, progress = expr.base, True
        while progress:
            progress = False
            for low in args:
                high = next((other for other in args if self._continues(low, other)), None)
                if high is not None:
                    args[args.index(low)] = self._joined(low, high)
                    args = [split for split in args if split is not high]
                    progress = True
                    break
            for position, split in enumerate(args if not self._padded else ()):
                if id(split.source) in self.pads and is_number(split.lower_factor, 1) and is_last(split):
                    inner, offset = self.pads[id(split.source)]
                    args[position] = self._scaled(inner, self.size(split.scale))
                    base, progress = plus(base, times(offset, split.scale)), True
        merged = IterSumExpr(tuple(args), base)
        return merged if len({self.key(split) for split in args}) == len(args) else self._summed(merged)

    def _summed(self, expr: IterSumExpr) -> IterSumExpr:
        total = IterSumExpr((), expr.base)
        for split in expr.args:
            total = self.plus(total, IterSumExpr((split,), constant(0, expr.dtype)))
        return self.merged(total)

    def _continues(self, low: IterSplitExpr, high: IterSplitExpr) -> bool:
        if high.source is not low.source or high is low:
            return False
        extent = self.size(low.extent)
        return same(self.size(high.lower_factor), self.size(low.lower_factor) * extent) and same(
            self.size(high.scale), self.size(low.scale) * extent
        )

    def _joined(self, low: IterSplitExpr, high: IterSplitExpr) -> IterSplitExpr:
        lower, extent = self.size(low.lower_factor), self.size(low.extent) * self.size(high.extent)
        if is_last(high):
            extent = ceiling(self.size(low.source.extent), lower)
        return self.split(low.source, lower, extent, self.size(low.scale))

    def limited(self, expr: IterSumExpr) -> IterSumExpr:
        """Return a sum with the iterators that stand for limited sums of digits, where it has all of these."""
        progress = True
        while progress:
            progress = False
            for constraint in self.constraints:
                splits = {self.key(split): split for split in expr.args}
                factor = self._factor(constraint, splits)
                if factor is None:
                    continue
                rest = tuple(split for key, split in splits.items() if key not in constraint.splits)
                limited = self._scaled(IterSplitExpr(constraint.mark), factor)
                base = self.symbols.expr(constraint.start * factor, expr.dtype)
                expr = IterSumExpr((*rest, limited), plus(expr.base, base))
                progress = True
        return expr

    def _factor(self, constraint: Constraint, splits: Mapping[Key, IterSplitExpr]) -> Size | None:
        """The number by which the limited sum is in a sum of these digits."""
        factors: list[Size] = []
        for key, part in constraint.splits.items():
            if key not in splits or not divides(self.size(part.scale), self.size(splits[key].scale)):
                return None
            factors.append(self.size(splits[key].scale) // self.size(part.scale))
        return factors[0] if all(same(factor, factors[0]) for factor in factors) else None

    def apart(self, splits: Iterable[IterSplitExpr], constraint: Constraint) -> bool:
        """Return whether digits have no part in common with those that are limited."""
        return all(
            self._distinct(split, other)
            for split in splits
            for other in constraint.splits.values()
            if split.source is other.source
        )

    def _distinct(self, a: IterSplitExpr, b: IterSplitExpr) -> bool:
        lowers = self.size(a.lower_factor), self.size(b.lower_factor)
        above = lowers[0] * self.size(a.extent), lowers[1] * self.size(b.extent)
        return divides(above[0], lowers[1]) or divides(above[1], lowers[0])

    # Quotients and rests

    def divided(self, op: str, expr: IterSumExpr, divisor: Expr) -> IterSumExpr:
        """Return the quotient or the rest by a positive number. Raises NoIterSum."""
        by = self.size(divisor)
        if isinstance(by, int) and by < 1:
            raise NoIterSum(f"expected a positive divisor, got {divisor}")
        expr = self.fused(expr)
        if not expr.args:
            return IterSumExpr((), binary(op, expr.base, divisor))
        split = expr.args[0]
        scale, zero = self.size(split.scale), constant(0, expr.dtype)
        high, low = self._base(expr.base, by)
        if divides(by, scale):
            if op == "floormod":
                return IterSumExpr((), low)
            return IterSumExpr((self._scaled(split, scale // by),), high)
        if not divides(scale, by):
            raise NoIterSum(f"expected a divisor that divides {scale}, or is a multiple of it, got {divisor}")
        offset, rest = (low, zero) if same(scale, 1) else self._base(low, scale)
        quotient, remainder = self._digits(split, offset, by // scale)
        if op == "floordiv":
            return self.plus(quotient, IterSumExpr((), high))
        if same(scale, 1):
            return remainder
        return self.plus(self._times(remainder, IterSumExpr((), split.scale)), IterSumExpr((), rest))

    def _base(self, base: Expr, divisor: Size) -> tuple[Expr, Expr]:
        """The quotient and the rest of a base."""
        size = self.size(base)
        if isinstance(size, int) and isinstance(divisor, int):
            return constant(size // divisor, base.dtype), constant(size % divisor, base.dtype)
        if divides(divisor, size):
            return self.symbols.expr(size // divisor, base.dtype), constant(0, base.dtype)
        number = self.symbols.expr(divisor, base.dtype)
        return tuple(self._forms.simplify(binary(op, base, number)) for op in ("floordiv", "floormod"))  # pyright: ignore[reportReturnType]

    def _digits(self, split: IterSplitExpr, offset: Expr, divisor: Size) -> tuple[IterSumExpr, IterSumExpr]:
        """The quotient and the rest of a digit of scale 1 plus an offset from 0 to below the divisor."""
        zero = constant(0, split.dtype)
        mark, lower, extent = split.source, self.size(split.lower_factor), self.size(split.extent)
        if is_number(offset, 0) and (is_last(split) or divides(divisor, extent)):
            high = ceiling(extent, divisor)
        else:
            mark, lower, ends = self._moved(split, offset)
            high, most = (ceiling(end, lower * divisor) for end in ends)
            if not same(high, most):
                raise NoIterSum(f"expected an extent that does not depend on {offset}, got {high} to {most}")
        if same(high, 1) and not self._padded:
            return IterSumExpr((), zero), IterSumExpr((self.plain(split),), offset)
        top = () if same(high, 1) and not self._padded else (self.split(mark, lower * divisor, high, 1),)
        rest = () if same(divisor, 1) else (self.split(mark, lower, divisor, 1),)
        return IterSumExpr(top, zero), IterSumExpr(rest, zero)

    def _moved(self, split: IterSplitExpr, offset: Expr) -> tuple[IterMark, Size, tuple[Size, Size]]:
        """The mark of a digit plus an offset, the lower factor in it, and its least and greatest extent."""
        inner, lower = self.plain(split), self.size(split.lower_factor)
        if not is_last(split):
            lower = 1
        elif id(split.source) in self.pads:
            root, before = self.pads[id(split.source)]
            if isinstance(before, Const) and isinstance(offset, Const) and isinstance(lower, int):
                inner, offset = root, constant(int(before.value) + int(offset.value) * lower, split.dtype)
            else:
                lower = 1
        elif isinstance(offset, Const) or same(lower, 1):
            inner, offset = IterSplitExpr(split.source), times(offset, self.symbols.expr(lower, split.dtype))
        else:
            lower = 1
        extent = self.size(inner.extent)
        if isinstance(size := self.size(offset), int):
            ends = extent + size, extent + size
        else:
            least, most = self._forms.bounds(offset)
            if most >= FAR:
                raise NoIterSum(f"expected an offset with a greatest value, got {offset}")
            ends = extent + least, extent + most
        name = (self.key(inner), str(offset))
        if name not in self._padded_marks:
            source = IterSumExpr((inner,), offset)
            mark = self._padded_marks[name] = IterMark(source, self.symbols.expr(ends[1], split.dtype))
            self.pads[id(mark)] = inner, offset
        return self._padded_marks[name], lower, ends

    def unified(self, indices: Sequence[IterSumExpr]) -> list[IterSumExpr]:
        """Return indices with the digits of an iterator at several offsets at that of the greatest, if it is one."""
        greatest: dict[Key, IterSplitExpr] = {}
        for split in (split for index in indices for split in index.args if id(split.source) in self.pads):
            key = self.key(self.pads[id(split.source)][0])
            if key not in greatest or self._above(split, greatest[key]):
                greatest[key] = split
        return [
            IterSumExpr(tuple(self._at_offset(split, greatest) for split in index.args), index.base)
            for index in indices
        ]

    def _above(self, a: IterSplitExpr, b: IterSplitExpr) -> bool:
        return nominal(self.size(a.lower_factor)) > nominal(self.size(b.lower_factor))

    def _at_offset(self, split: IterSplitExpr, greatest: Mapping[Key, IterSplitExpr]) -> IterSplitExpr:
        inner, offset = self.pads.get(id(split.source), (IterSplitExpr(split.source), constant(0, split.dtype)))
        if self.key(inner) not in greatest:
            return split
        mark = greatest[self.key(inner)].source
        moved = self.size(self.pads[id(mark)][1]) - self.size(offset)
        period = self.size(split.lower_factor) * self.size(split.extent)
        if mark is split.source or not divides(period, moved):
            return split
        return IterSplitExpr(mark, split.lower_factor, split.extent, split.scale)
