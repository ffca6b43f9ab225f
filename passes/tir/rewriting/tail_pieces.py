"""A loop of open size over tiles that are unrolled, as tiles whose rows past the end repeat the last row.

A tile of 6 rows leaves up to 5 of n rows. As a loop of so many passes they would keep their sums in memory; as one more
tile, or one of 3 rows, they are unrolled as the whole tiles are. Of these, rows past the end compute, and store, what
the last row does: nothing is read or written that is not there, and no branch is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr
from xdsl.traits import Pure

from ....dialects.affine import FAR, Linear, linear
from ....dialects.sizes import Size, ceil_div, same
from ....dialects.sizes.kernel import affine_map, lifted, size_attribute
from ....dialects.tir import PAST_THE_END, ForOp, IfOp, IndexOp, LoadOp, StoreOp, buffer_of
from ....dialects.tir.index_maps import Access, Ranges, simplify_maps, update, view
from ....provenance.walk import walk

_SERIAL = StringAttr("serial")
_POINTERS = 8
"""Rows of which each may have a pointer in a register; those of whole tiles lie apart by what is known."""


class _Tile(NamedTuple):
    """Passes of the loop around that are computed together, in loops of which some are unrolled."""

    height: int
    rows: Size
    """The rows of all tiles."""
    loops: frozenset[Operation]
    """The loops over the rows of a tile."""


def pieces(loop: ForOp, ranges: Ranges, asked: bool) -> tuple[Size, list[ForOp]] | None:
    """Return the number of passes of `loop` to be done as they are, and new loops that do the rest of its work.

    None where the loop is not one over tiles that are unrolled. asked: as many as possible are to be done as they are.
    """
    inside: Ranges = {**ranges, loop.var: loop.bounds}
    inside.update((op.var, op.bounds) for op in walk(loop) if isinstance(op, ForOp) and op is not loop)
    tile = _tile(loop, inside)
    if tile is None:
        return None
    height, rows = tile.height, tile.rows
    # A quarter of a large tile has enough sums for a core, and less code.
    part = height // 4 if asked and height >= _POINTERS else (height + 1) // 2
    full_tiles = rows // height
    if asked or height > _POINTERS or loop.kind.data == "parallel":
        plan = [(part, full_tiles * height, ceil_div(rows - full_tiles * height, part))]
    else:
        # A last tile that is more than half full is done as the whole ones are.
        tiles, full_tiles = (rows + height - part - 1) // height, 0
        plan = [(height, 0, tiles), (part, tiles * height, ceil_div(rows, height) - tiles)]
    loops: list[ForOp] = []
    for one, start, count in plan:
        piece = _Piece(loop, tile, one, start, count, inside)
        loops.append(piece.loop)
        if not piece.fill():
            for made in loops:
                made.erase()
            return None
    return full_tiles, loops


def _tile(loop: ForOp, ranges: Ranges) -> _Tile | None:
    """The tile that guards `rows - 1 - height * loop - row` of a loop tell; None where some guard tells another."""
    height, last = 0, None
    loops: set[Operation] = set()
    for form, position, values in _guards(loop, ranges):
        step = form.coefficient(position)
        others = [(atom, c) for atom, c in form.terms if atom != AffineDimExpr(position)]
        if not isinstance(step, int) or step > -2 or len(others) != 1 or (height and step != -height):
            return None
        ((atom, factor),) = others
        row = values[atom.position].owner.parent_op() if isinstance(atom, AffineDimExpr) else None
        if not isinstance(row, ForOp) or not same(factor, -1):
            return None
        if not same(row.trip_count, -step) or (last is not None and not same(last, form.constant)):
            return None
        height, last = -step, form.constant
        loops.add(row)
    is_unrolled = any(isinstance(row, ForOp) and row.kind.data == "unrolled" for row in loops)
    return _Tile(height, last + 1, frozenset(loops)) if last is not None and is_unrolled else None


def _guards(loop: ForOp, ranges: Ranges) -> Iterator[tuple[Linear, int, tuple[SSAValue, ...]]]:
    """The guard expressions that use the variable of a loop."""
    for op in loop.walk():
        if isinstance(op, IfOp | LoadOp) and loop.var in op.operands:
            seen = view(op, ranges)
            position = seen.values.index(loop.var)
            for expr in seen.guard:
                form = linear(expr, seen.ranges)
                if any(position in atom.used_dims() for atom, _ in form.terms):
                    yield form, position, seen.values


class _Piece:
    """A copy of a loop over tiles, for `count` tiles of some height from row `start` on."""

    def __init__(self, loop: ForOp, tile: _Tile, height: int, start: Size, count: Size, ranges: Ranges):
        self.tile, self.height, self.start, self.old = tile, height, start, loop
        self.loop = loop.clone()
        self.loop.properties["kind"], self.loop.properties["extent"] = _SERIAL, size_attribute(count)
        self.ranges: Ranges = {**ranges, self.loop.var: self.loop.bounds}
        self.rows: set[SSAValue] = set()
        """The variables of the loops over the rows of a tile."""
        self.nearest: dict[SSAValue, SSAValue] = {}
        """For such a variable, the row that it is of the tensor, or the last one."""
        self.read = {op.buffer for op in walk(self.loop) if isinstance(op, LoadOp)}

    def fill(self) -> bool:
        """Let the copy do what it is for; whether all its indices are those of tiles."""
        computing = set[Operation]()
        for old, op in zip(self.old.walk(), self.loop.walk(), strict=True):
            if isinstance(op, ForOp) and op is not self.loop:
                if old in self.tile.loops:
                    op.properties["extent"] = size_attribute(self.height)
                    self.rows.add(op.var)
                self.ranges[op.var] = op.bounds
        for op in list(walk(self.loop)):
            if op in computing:
                continue
            if isinstance(op, IfOp) and self._computes(op):
                inside = list(walk(op))
                computing.update(inside)
                if not all(self._moved(inner, clamped=True) for inner in inside):
                    return False
            elif not self._moved(op, clamped=PAST_THE_END in op.attributes):
                return False
        return True

    def _computes(self, branch: IfOp) -> bool:
        """Return whether a branch may compute a row again: each row is for elements of its own, and its values stay."""
        if branch.orelse is not None or self.loop.var not in branch.operands:
            return False
        for op in branch.block.walk():
            if isinstance(op, StoreOp):
                local = buffer_of(op.buffer).scope.data == "local"
                if self.rows.isdisjoint(op.indices) or local is (self.loop.var in op.indices):
                    return False
                if not local and op.buffer in self.read:
                    return False
            elif not isinstance(op, LoadOp | ForOp) and not op.has_trait(Pure):
                return False
        return True

    def _moved(self, op: Operation, *, clamped: bool) -> bool:
        """Let an access begin at row `start + height * loop`; False where what it uses of the loop is no row.

        clamped: past the end it is at the last row, and needs no guard of that.
        """
        var = self.loop.var
        if op is self.loop or var not in op.operands:
            return True
        if not isinstance(op, Access):
            return False
        # The former range of the variable is wider than now, so that no index is resolved by it.
        seen = view(op, {**self.ranges, var: (0, FAR)})
        position = seen.values.index(var)
        row = next((i for i, value in enumerate(seen.values) if value in self.rows), None)
        if clamped and row is None:
            return False
        values = seen.values
        if clamped and row is not None and seen.map:
            values = (*values, self._nearest(values[row]))
        exprs: list[AffineExpr] = []
        guard: list[AffineExpr] = []
        for target, parts in ((exprs, seen.map), (guard, seen.guard)):
            for expr in parts:
                form = linear(expr, seen.ranges)
                step = form.coefficient(position)
                if step is None or not same(step // self.tile.height * self.tile.height, step):
                    return False
                times = step // self.tile.height
                if same(times, 0):
                    target.append(expr)
                elif not clamped:
                    moved = ((AffineDimExpr(position), times * self.height - step),)
                    target.append(form.plus(Linear(moved, times * self.start)).expr)
                elif target is exprs:
                    assert row is not None
                    if not same(form.coefficient(row) or 0, times):
                        return False
                    moved = (
                        (AffineDimExpr(position), -step),
                        (AffineDimExpr(row), -times),
                        (AffineDimExpr(len(values) - 1), times),
                    )
                    target.append(form.plus(Linear(moved, 0)).expr)
        now = tuple(self.ranges[v] if v is var else r for v, r in zip(seen.values, seen.ranges, strict=True))
        if len(values) > len(now):
            now = (*now, (0, self.tile.rows - 1))
        update(op, values, simplify_maps(tuple(exprs), tuple(guard), now))
        return True

    def _nearest(self, row: SSAValue) -> SSAValue:
        """The row of the tensor that `row` of a tile is, or its last one; computed where the loop over rows begins."""
        if row not in self.nearest:
            loop = row.owner.parent_op()
            assert isinstance(loop, ForOp)
            row_expr = AffineDimExpr(0) * self.height + AffineDimExpr(1) + lifted(self.start)
            at = IndexOp.make(affine_map(2, (row_expr,)), [self.loop.var, row])
            last = IndexOp.make(affine_map(0, (lifted(self.tile.rows - 1),)), [])
            least = arith.MinSIOp(at.result, last.result)
            first = loop.block.first_op
            assert first is not None
            for op in (at, last, least):
                op.location = loop.location
                loop.block.insert_op_before(op, first)
            self.nearest[row] = least.result
        return self.nearest[row]
