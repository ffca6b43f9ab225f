"""The regions of buffers that a block reads and writes, over its variables and those of the loops around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ....dialects.affine import FAR, Linear, Range, below, linear, linear_bounds, spell, substitute
from ....dialects.sizes import Size, same
from ....dialects.sizes.kernel import lifted
from ....dialects.tir import UNBOUNDED, BlockOp, buffer_of
from .accesses import Nest, Touch, Variable


@dataclass(frozen=True)
class Region:
    """A box of a buffer: in each dimension `extents` elements from `begins` on.

    The first elements are expressions of `variables`, index values of the block and around it. exact: each element of
    the box is accessed; otherwise it is a hull of those that are.
    """

    buffer: SSAValue
    variables: tuple[SSAValue, ...]
    begins: tuple[AffineExpr, ...]
    extents: tuple[Size, ...]
    exact: bool


@dataclass(frozen=True)
class _Side:
    """One dimension of a region: from `begin` + `low` to `begin` + `high`, the two of numbers and sizes."""

    begin: Linear
    low: Size
    high: Size
    exact: bool

    @property
    def extent(self) -> Size:
        return self.high - self.low + 1


def regions_of(block: BlockOp) -> tuple[list[Region], list[Region]]:
    """Return the regions that a block reads and those that it writes, one for each buffer in the order of accesses.

    Buffers that live in the block are left out, and so is among the reads what a block with an init part writes.
    """
    nest = Nest(*block.block.ops, within=block)
    found = _Regions(block, nest)
    touches = [touch for touch in nest.touches if not _lives_in(touch.buffer, block)]
    written = {touch.buffer for touch in touches if touch.writes}
    sides: list[list[Region]] = []
    for writes in (False, True):
        chosen = [touch for touch in touches if touch.writes == writes or touch.access is None]
        if not writes and block.init is not None:
            chosen = [touch for touch in chosen if touch.buffer not in written]
        buffers = dict.fromkeys(touch.buffer for touch in chosen)
        sides.append([found.region(buffer, [one for one in chosen if one.buffer is buffer]) for buffer in buffers])
    reads, writes_ = sides
    return reads, writes_


def region_in(root: Operation, touches: Sequence[Touch], nest: Nest) -> Region:
    """Return the hull of accesses of one buffer in one pass of a loop, or one run of a block.

    root: the loop or block; its variables, and those around it, stand still. nest: that of the accesses.
    """
    return _Regions(root, nest).region(touches[0].buffer, touches)


def holds(outer: Region, inner: Region, nest: Nest) -> bool:
    """Return whether a box surely has all elements of another one, of the same buffer."""
    variables = list(dict.fromkeys([*outer.variables, *inner.variables]))
    ranges = tuple(nest.range_of(variable) for variable in variables)

    def forms(region: Region) -> Iterable[Linear]:
        dims = [AffineDimExpr(variables.index(variable)) for variable in region.variables]
        return (linear(substitute(expr, dims), ranges) for expr in region.begins)

    for mine, more, other, extent in zip(forms(outer), outer.extents, forms(inner), inner.extents, strict=True):
        low, high = linear_bounds(other.plus(mine, -1), ranges)
        if not (_not_above(0, low) and _not_above(high + extent, more)):
            return False
    return True


def _lives_in(buffer: SSAValue, block: BlockOp) -> bool:
    return not isinstance(buffer, BlockArgument) and block.is_ancestor(buffer.owner)


class _Regions:
    """The variables of one block or loop: which are free, and the ranges of all."""

    def __init__(self, block: Operation, nest: Nest):
        self.block = block
        self.nest = nest
        self.variables: list[Variable] = []
        self.ranges: tuple[Range, ...] = ()
        self.free: set[int] = set()

    def region(self, buffer: SSAValue, touches: Sequence[Touch]) -> Region:
        """Return the hull of accesses of one buffer."""
        self.variables = list(dict.fromkeys(v for touch in touches if touch.access for v in touch.access.variables))
        self.ranges = tuple(self.nest.range_of(variable) for variable in self.variables)
        self.free = {number for number, variable in enumerate(self.variables) if self._is_free(variable)}
        whole = [_Side(Linear((), 0), 0, extent - 1, False) for extent in buffer_of(buffer).get_shape()]
        boxes = [self._box(touch, whole) for touch in touches]
        sides = boxes[0]
        for box in boxes[1:]:
            sides = self._joined(sides, box, whole)
        begins = tuple(side.begin.plus(Linear((), side.low)).expr for side in sides)
        used = sorted({dim for expr in begins for dim in expr.used_dims()})
        dims: list[AffineExpr] = [AffineConstantExpr(0)] * len(self.variables)
        for number, dim in enumerate(used):
            dims[dim] = AffineDimExpr(number)
        return Region(
            buffer,
            # A beginning is of free variables alone.
            tuple(cast("SSAValue", self.variables[dim]) for dim in used),
            tuple(substitute(expr, dims) for expr in begins),
            tuple(side.extent for side in sides),
            all(side.exact for side in sides),
        )

    def _is_free(self, variable: Variable) -> bool:
        if not isinstance(variable, SSAValue) or variable in self.nest.data:
            return False
        owner = variable.owner if not isinstance(variable, BlockArgument) else variable.block.parent_op()
        return owner is self.block or owner is None or not self.block.is_ancestor(owner)

    def _box(self, touch: Touch, whole: Sequence[_Side]) -> list[_Side]:
        if touch.access is None or len(touch.access.map) != len(whole):
            return list(whole)
        numbers = [AffineDimExpr(self.variables.index(variable)) for variable in touch.access.variables]
        exprs = [substitute(expr, numbers) for expr in touch.access.map]
        # A variable in two dimensions runs along a diagonal.
        inner = [expr.used_dims() - self.free for expr in exprs]
        apart = sum(map(len, inner)) == len(set[int]().union(*inner))
        always = touch.certain and not touch.access.clauses and apart
        return [self._side(expr, other, always) for expr, other in zip(exprs, whole, strict=True)]

    def _side(self, expr: AffineExpr, whole: _Side, always: bool) -> _Side:
        form = linear(expr, self.ranges)
        begin = Linear(tuple(term for term in form.terms if term[0].used_dims() <= self.free), form.constant)
        inner = Linear(tuple(term for term in form.terms if term not in begin.terms), 0)
        ends = linear_bounds(inner, self.ranges)
        if _is_open(ends):
            return whole
        return _Side(begin, *ends, always and _is_dense(inner, self.ranges))

    def _joined(self, left: Sequence[_Side], right: Sequence[_Side], whole: Sequence[_Side]) -> list[_Side]:
        """The hull of two boxes; exact if one holds the other, or they lie beside one another in one dimension."""
        pairs = [self._with(a, b, other) for a, b, other in zip(left, right, whole, strict=True)]
        differing = [number for number, (_, how) in enumerate(pairs) if how != "same"]
        hows = {pairs[number][1] for number in differing}
        exact = {
            "left": all(side.exact for side in left),
            "right": all(side.exact for side in right),
            "both": all(side.exact for side in (*left, *right)) and len(differing) == 1,
        }
        if not hows:
            is_exact = exact["left"] or exact["right"]
        else:
            is_exact = len(hows) == 1 and exact.get(next(iter(hows)), False)
        return [_Side(side.begin, side.low, side.high, is_exact) for side, _ in pairs]

    def _with(self, a: _Side, b: _Side, whole: _Side) -> tuple[_Side, str]:
        """The hull of two sides, and which of them it is: "same", "left", "right", of "both" or "apart"."""
        apart = b.begin.plus(a.begin, -1)
        if not apart.terms:
            low, high = b.low + apart.constant, b.high + apart.constant
            if same(low, a.low) and same(high, a.high):
                return a, "same"
            if not below(low, a.low) and _not_above(a.low, low) and _not_above(high, a.high):
                return a, "left"
            if _not_above(low, a.low) and _not_above(a.high, high):
                return _Side(a.begin, low, high, False), "right"
            if _not_above(a.low, low) and _not_above(a.high, high):
                return _Side(a.begin, a.low, high, False), "both" if _not_above(low, a.high + 1) else "apart"
            if _not_above(low, a.low) and _not_above(high, a.high):
                return _Side(a.begin, low, a.high, False), "both" if _not_above(a.low, high + 1) else "apart"
            return whole, "apart"
        ends = [self._ends(side) for side in (a, b)]
        if any(map(_is_open, ends)):
            return whole, "apart"
        (low, high), (other_low, other_high) = ends
        if not all(isinstance(end, int) for pair in ends for end in pair):
            return whole, "apart"
        return _Side(Linear((), 0), min(low, other_low), max(high, other_high), False), "apart"

    def _ends(self, side: _Side) -> Range:
        low, high = linear_bounds(side.begin, self.ranges)
        return low + side.low, high + side.high


def _not_above(a: Size, b: Size) -> bool:
    return below(a, b + 1)


def _is_open(ends: Range) -> bool:
    """Return whether nothing is known of one of two ends."""
    return any(isinstance(end, int) and abs(end) >= FAR for end in ends)


def _is_dense(form: Linear, ranges: Sequence[Range]) -> bool:
    """Return whether a sum of variables takes each value between its ends."""
    reached: Size = 0
    steps: list[tuple[Size, Size]] = []
    for atom, factor in form.terms:
        if not isinstance(atom, AffineDimExpr):
            return False
        low, high = ranges[atom.position]
        steps.append((abs(factor) if isinstance(factor, int) else factor, high - low))
    for factor, span in sorted(steps, key=lambda step: step[0] if isinstance(step[0], int) else 1 << 62):
        if not _not_above(factor, reached + 1):
            return False
        reached = reached + factor * span
    return True


def outside(declared: Region, computed: Region, ranges: dict[SSAValue, Range]) -> int | None:
    """Return a dimension in which some computed elements are surely not in a declared region; None if none is proven.

    ranges: the first and last values of variables, each of which they take.
    """
    variables = list(dict.fromkeys([*declared.variables, *computed.variables]))
    limits = tuple(ranges.get(variable, UNBOUNDED) for variable in variables)

    def forms(region: Region) -> Iterable[Linear]:
        dims = [AffineDimExpr(variables.index(variable)) for variable in region.variables]
        return (linear(substitute(expr, dims), limits) for expr in region.begins)

    sides = zip(forms(declared), declared.extents, forms(computed), computed.extents, strict=True)
    for number, (wide, more, narrow, extent) in enumerate(sides):
        before = narrow.plus(wide, -1)
        behind = before.plus(Linear((), extent - more))
        if below(_ends(before, limits)[0], 0) or below(0, _ends(behind, limits)[1]):
            return number
    return None


def _ends(form: Linear, ranges: tuple[Range, ...]) -> Range:
    """The least and the most of a form, if it takes them; 0 where that is not known."""
    ends = linear_bounds(form, ranges)
    is_plain = all(isinstance(atom, AffineDimExpr) for atom, _ in form.terms)
    return ends if is_plain and not _is_open(ends) else (0, 0)


def spelled(region: Region, names: Sequence[str], name: str) -> str:
    """Return a region as a text such as `A[i:i + 4, 0]`."""
    parts: list[str] = []
    for begin, extent in zip(region.begins, region.extents, strict=True):
        first = spell(begin, names)
        parts.append(first if same(extent, 1) else f"{first}:{spell(begin + lifted(extent), names)}")
    return f"{name}[{', '.join(parts) or '()'}]"
