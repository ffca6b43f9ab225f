"""What is left of a tiled loop of open size, in smaller tiles: each has registers of its own.

A tile of 6 rows leaves up to 5 of n rows. As a loop of so many passes they would keep their sums in memory; as tiles of
2 rows and of 1 they are unrolled as the whole tiles are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....dialects.affine import FAR, Linear, linear
from ....dialects.kernel_sizes import size_attribute
from ....dialects.sizes import Size, same
from ....dialects.tir import ForOp, IfOp, LoadOp
from ....dialects.tir.index_maps import Access, Ranges, simplify_maps, update, view

_SERIAL = StringAttr("serial")


class _Tile(NamedTuple):
    """Passes of the loop around that are computed together."""

    height: int
    rows: Size
    """Of all tiles."""
    loops: frozenset[Operation]
    """Those over the rows of a tile."""


def pieces(loop: ForOp, ranges: Ranges) -> list[ForOp] | None:
    """Loops over smaller tiles that do what `loop` does of its last tile, if that is not whole; new ones.

    None where the loop is not one over tiles that are unrolled.
    """
    inside: Ranges = {**ranges, loop.var: loop.bounds}
    inside.update((op.var, op.bounds) for op in loop.walk() if isinstance(op, ForOp) and op is not loop)
    tile = _tile(loop, inside)
    if tile is None:
        return None
    start = tile.rows // tile.height * tile.height
    rest = tile.rows - start
    found: list[ForOp] = []
    for height in dict.fromkeys((1 << (tile.height - 1).bit_length() // 2, 1)):
        piece = _piece(loop, tile, height, start, rest // height, inside)
        if piece is None:
            for one in found:
                one.erase()
            return None
        found.append(piece)
        start, rest = start + rest // height * height, rest % height
    return found


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
        if not isinstance(row, ForOp) or row.kind.data != "unrolled" or not same(factor, -1):
            return None
        if not same(row.trip_count, -step) or (last is not None and not same(last, form.constant)):
            return None
        height, last = -step, form.constant
        loops.add(row)
    return None if last is None else _Tile(height, last + 1, frozenset(loops))


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


def _piece(loop: ForOp, tile: _Tile, height: int, start: Size, count: Size, ranges: Ranges) -> ForOp | None:
    """A copy of a loop for `count` tiles of `height` rows, from row `start` on; None where an index is of no tile."""
    copy = loop.clone()
    copy.properties["kind"], copy.properties["extent"] = _SERIAL, size_attribute(count)
    known: Ranges = {**ranges, copy.var: copy.bounds}
    for old, op in zip(loop.walk(), copy.walk(), strict=True):
        if isinstance(op, ForOp) and op is not copy:
            if old in tile.loops:
                op.properties["extent"] = size_attribute(height)
            known[op.var] = op.bounds
        elif copy.var in op.operands:
            if not isinstance(op, Access) or not _moved(op, copy, tile.height, height, start, known):
                copy.erase()
                return None
    return copy


def _moved(op: Access, loop: ForOp, old: int, new: int, start: Size, ranges: Ranges) -> bool:
    """Let an access begin at row `start + new * loop` in place of `old * loop`, without guards of that."""
    # What the variable was: more than it is now, so that no index is resolved by it.
    seen = view(op, {**ranges, loop.var: (0, FAR)})
    position = seen.values.index(loop.var)
    exprs: list[AffineExpr] = []
    for expr in seen.map:
        form = linear(expr, seen.ranges)
        step = form.coefficient(position)
        if step is None or not same(step // old * old, step):
            return False
        times = step // old
        exprs.append(form.plus(Linear(((AffineDimExpr(position), times * new - step),), times * start)).expr)
    guard = tuple(e for e in seen.guard if same(linear(e, seen.ranges).coefficient(position) or 0, 0))
    now = tuple(ranges[v] if v is loop.var else r for v, r in zip(seen.values, seen.ranges, strict=True))
    update(op, seen.values, simplify_maps(tuple(exprs), guard, now))
    return True
