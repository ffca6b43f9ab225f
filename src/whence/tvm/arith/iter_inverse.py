"""The loops of which a map of iterators is made, as expressions of its indices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from whence.arith.analyzer import Analyzer
from whence.arith.iter_map import (
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    is_last,
    is_number,
    plus,
    times,
    variable_of,
)
from whence.arith.iter_sizes import ceiling, divides
from whence.arith.iter_sums import IterSums, NoIterSum
from whence.dialects.sizes import Size, same
from whence.dialects.sizes.kernel import nominal
from whence.support.errors import FrontendError, expectation
from whence.te.language.expr import Axis, Const, Expr, ExprLike, Var, binary, compare, constant, convert


def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[ExprLike]) -> dict[Var | Axis, Expr]:
    """Return the value of each loop of a bijective map of iterators, for these values of the indices.

    Raises FrontendError for sums of more than one digit, or as many outputs as there are no indices.
    """
    return Inverse(iter_map, outputs).loops


class Inverse:
    """The values of loops, and of all digits of the iterators in between, for values of indices."""

    def __init__(self, iter_map: Sequence[IterSumExpr], outputs: Sequence[ExprLike]) -> None:
        if len(iter_map) != len(outputs):
            raise FrontendError(expectation("inverse_affine_iter_map", f"{len(iter_map)} outputs", str(len(outputs))))
        self.marks = _above(iter_map)
        self.digits: dict[int, list[tuple[IterSplitExpr, Expr]]] = {}
        """Id of a mark -> its digits, with their values."""
        self.loops: dict[Var | Axis, Expr] = {}
        for index, output in zip(iter_map, outputs, strict=True):
            if len(index.args) > 1:
                raise FrontendError(expectation("inverse_affine_iter_map", "fused iterators", str(index)))
            for split in index.args:
                value = convert(output, split.dtype)
                value = value if is_number(index.base, 0) else binary("sub", value, index.base)
                self._hand(split, _divided(value, split.scale))
        for mark in self.marks:
            self._invert(mark)

    def value(self, mark: IterMark) -> Expr:
        """Return the sum of the digits of a mark."""
        total = constant(0, mark.dtype)
        for split, digit in self.digits[id(mark)]:
            total = plus(total, times(digit, split.lower_factor))
        return total

    def _hand(self, split: IterSplitExpr, value: Expr) -> None:
        self.digits.setdefault(id(split.source), []).append((split, value))

    def _invert(self, mark: IterMark) -> None:
        value, source = self.value(mark), mark.source
        if not isinstance(source, IterSumExpr):
            variable, start = variable_of(source)
            self.loops[variable] = Analyzer().simplify(value if start is None else binary("add", value, start))
            return
        if not is_number(source.base, 0):
            value = binary("sub", value, source.base)
            turns = isinstance(source.base, Const) and source.base.value > 0
            if turns and not any(is_last(split) for split, _ in self.digits[id(mark)]):
                # Digits of an iterator plus an offset begin again where the digit above them would change.
                value = binary("floormod", value, source.args[0].extent)
        for number, split in enumerate(source.args):
            digit = _divided(value, split.scale)
            self._hand(split, digit if number == 0 else binary("floormod", digit, split.extent))


def _divided(value: Expr, by: Expr) -> Expr:
    return value if is_number(by, 1) else binary("floordiv", value, by)


def _above(iter_map: Sequence[IterSumExpr]) -> list[IterMark]:
    """The marks of a map, each before those of which it is made."""
    order: list[IterMark] = []
    done: set[int] = set()
    stack = [(split.source, False) for index in iter_map for split in index.args]
    while stack:
        mark, left = stack.pop()
        if left:
            order.append(mark)
        elif id(mark) not in done:
            done.add(id(mark))
            stack.append((mark, True))
            if isinstance(mark.source, IterSumExpr):
                stack += [(split.source, False) for split in mark.source.args]
    return order[::-1]


def padding_of(sums: IterSums, indices: Sequence[IterSumExpr], outputs: Sequence[Expr], inverse: Inverse) -> Expr:
    """Return for which outputs from 0 on there is no iteration of a padded map.

    Raises NoIterSum where iterations have the same indices.
    """
    if any(id(mark) in sums.overlaps for mark in inverse.marks):
        raise NoIterSum("expected sums that have each value once")
    parts: list[Expr] = []
    for index, output in zip(indices, outputs, strict=True):
        if not is_number(index.base, 0):
            parts.append(compare("lt", output, index.base))
        if index.args and not is_number(scale := index.args[0].scale, 1):
            parts.append(compare("ne", binary("floormod", binary("sub", output, index.base), scale), 0))
    for mark in inverse.marks:
        parts += _padding(sums, mark, inverse.digits[id(mark)])
    return _any(parts)


def _any(parts: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: binary("or", a, b), parts) if parts else constant(False, "bool")


def _padding(sums: IterSums, mark: IterMark, digits: list[tuple[IterSplitExpr, Expr]]) -> list[Expr]:
    """A condition on the digits of a mark for which there is no iteration, if there is one."""
    size = sums.size

    def number(value: Size) -> Expr:
        return sums.symbols.expr(value, mark.dtype)

    rows = sorted(digits, key=lambda row: nominal(size(row[0].lower_factor)))
    period: Size = 1
    for split, _ in rows:
        if not same(size(split.lower_factor), period):
            raise NoIterSum(f"expected all digits of each iterator, got no digit of {mark.source} at {period}")
        period = period * size(split.extent)
    (top, value), lower = rows[-1], size(rows[-1][0].lower_factor)
    if not is_last(top):
        raise NoIterSum(f"expected all digits of each iterator, got {period} values of {size(mark.extent)}")
    rest = constant(0, mark.dtype)
    for split, digit in rows[-2::-1]:
        rest = plus(rest, times(digit, split.lower_factor))
    parts: list[Expr] = []
    offset = sums.pads[id(mark)][1] if id(mark) in sums.pads else constant(0, mark.dtype)
    if not is_number(offset, 0):
        parts.append(binary("and", compare("eq", value, 0), compare("lt", rest, offset)))
    whole = ceiling(size(mark.extent), lower)
    if not divides(lower, size(mark.extent)):
        end = size(mark.extent) % lower
        last = number(whole - 1) if isinstance(whole, int) else binary("floordiv", mark.extent, number(lower))
        limited = _from(rest, end, lower, number(end))
        if not same(whole, 1):
            limited = binary("and", compare("eq", value, last), limited)
        parts.append(limited if isinstance(end, int) else binary("and", compare("ne", number(end), 0), limited))
    if not same(whole, size(top.extent)):
        parts.append(_from(value, whole, size(top.extent), number(whole)))
    return [_any(parts)] if parts else []


def _from(value: Expr, start: Size, stop: Size, number: Expr) -> Expr:
    """The condition that a value below `stop` is at least `start`."""
    return compare("eq", number, value) if same(start + 1, stop) else compare("ge", value, number)
