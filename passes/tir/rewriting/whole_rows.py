"""Rows of local buffers as long as the vectors that masks let end inside them.

28 elements are a vector of 16 lanes and one of 12. Where a row ends with the 12, the other 4 lanes are the next row's:
LLVM keeps buffers in registers only where no two vectors overlap, so a row gets all lanes of its last vector. Masks
stay, and what they leave out is in no register twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeAlias

from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ....dialects.affine import bounds, substitute
from ....dialects.tir import UNBOUNDED, AllocOp, BufferType, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ....dialects.tir.index_maps import Ranges, blocks_of, operands_of
from ....dialects.tir.lanes import lanes
from ....dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from ....provenance.walk import walk
from .ops import inline_before, record

Access: TypeAlias = LoadOp | StoreOp | MaskedLoadOp | MaskedStoreOp


def lengthen_rows(func: PrimFuncOp) -> None:
    """Lengthen the rows of local buffers that masked accesses end in, in place.

    A vector that goes on in the next row, or whose lanes are not neighbours, counts on rows as they are.
    """
    ends: dict[SSAValue, int] = {}
    fixed = set[SSAValue]()
    for access, last in _vectors(func.block, {}):
        row = buffer_of(access.buffer).get_shape()[-1]
        count = _lanes(access)
        used = min(count, _unmasked(access))
        if access.step not in (0, 1) or not isinstance(row, int) or last is None or (access.step and last + used > row):
            fixed.add(access.buffer)
        elif access.step:
            ends[access.buffer] = max(last + count, ends.get(access.buffer, 0))
    for op in list(walk(func)):
        if not isinstance(op, AllocOp) or op.result not in ends or op.result in fixed:
            continue
        type_ = op.result.type
        *outer, row = type_.get_shape()
        plain = all(isinstance(use.operation, Access) for use in op.result.uses)
        if outer and plain and isinstance(row, int) and ends[op.result] > row:
            wide = BufferType.of([*outer, ends[op.result]], type_.element_type, type_.scope.data)
            _replace(op, AllocOp(wide), f"vectors end past the {row} elements of a row")


def _replace(old: AllocOp, new: AllocOp, reason: str) -> None:
    new.location, new.attributes, new.result.name_hint = old.location, old.attributes, old.result.name_hint
    inline_before(Block([new]), old)
    old.result.replace_all_uses_with(new.result)
    record("LengthenRows", old, reason, [new])
    old.detach()
    old.erase()


def _lanes(op: Access) -> int:
    value = op.result if isinstance(op, LoadOp | MaskedLoadOp) else op.value
    return prod(lanes(value.type))


def _unmasked(op: Access) -> int:
    """The number of lanes, from the first one on, behind which a mask surely leaves all out."""
    mask = op.mask.owner if isinstance(op, MaskedLoadOp | MaskedStoreOp) else None
    if not isinstance(mask, MaskOp):
        return _lanes(op)
    counts = [
        expr.value + 1
        for expr, step in zip(mask.map.data.results, mask.by_lane, strict=True)
        if step == -1 and isinstance(expr, AffineConstantExpr)
    ]
    return min([_lanes(op), *counts])


def _vectors(block: Block, ranges: Ranges) -> Iterator[tuple[Access, int | None]]:
    """The accesses of local buffers by vectors, and the last place in a row at which their first lanes may be."""
    for op in block.ops:
        for inner, inside in blocks_of(op, ranges):
            yield from _vectors(inner, inside)
        if not isinstance(op, Access) or buffer_of(op.buffer).scope.data != "local" or _lanes(op) < 2:
            continue
        operands = operands_of(op.indices)
        last = op.map.data.results[-1]
        index = last if operands.dims is None else substitute(last, operands.dims)
        high = bounds(index, tuple(ranges.get(value, UNBOUNDED) for value in operands.values))[1]
        yield op, high if isinstance(high, int) else None
