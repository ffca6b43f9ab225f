"""Rows of local buffers as long as the vectors that masks let end inside them.

28 elements are a vector of 16 lanes and one of 12. Where a row ends with the 12, the other 4 lanes are the next row's:
LLVM keeps buffers in registers only where no two vectors overlap, so a row gets all lanes of its last vector. Masks
stay, and what they leave out is in no register twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.ir import Block, SSAValue

from ....dialects.affine import bounds, substitute
from ....dialects.tir import UNBOUNDED, AllocOp, BufferType, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ....dialects.tir.index_maps import Ranges, blocks_of, operands_of
from ....dialects.tir.lanes import lanes
from ....dialects.tir.masked import MaskedLoadOp, MaskedStoreOp
from ....provenance.walk import walk
from .ops import inline_before, record

_ACCESSES = LoadOp | StoreOp | MaskedLoadOp | MaskedStoreOp


def lengthen_rows(func: PrimFuncOp) -> None:
    """Lengthen the rows of local buffers that masked accesses end in, in place."""
    ends: dict[SSAValue, int] = {}
    for access, end in _masked(func.block, {}):
        ends[access.buffer] = max(end, ends.get(access.buffer, 0))
    for op in list(walk(func)):
        if not isinstance(op, AllocOp) or op.result not in ends:
            continue
        type_ = op.result.type
        *outer, row = type_.get_shape()
        plain = all(isinstance(use.operation, _ACCESSES) for use in op.result.uses)
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


def _masked(block: Block, ranges: Ranges) -> Iterator[tuple[MaskedLoadOp | MaskedStoreOp, int]]:
    """The masked accesses of local buffers to neighbours in a row, and where in it their last lanes end at most."""
    for op in block.ops:
        for inner, inside in blocks_of(op, ranges):
            yield from _masked(inner, inside)
        if not isinstance(op, MaskedLoadOp | MaskedStoreOp) or op.step != 1:
            continue
        if buffer_of(op.buffer).scope.data != "local":
            continue
        operands = operands_of(op.indices)
        last = op.map.data.results[-1]
        index = last if operands.dims is None else substitute(last, operands.dims)
        _, high = bounds(index, tuple(ranges.get(value, UNBOUNDED) for value in operands.values))
        if isinstance(high, int) and high < UNBOUNDED[1]:
            yield op, high + prod(lanes(op.mask.type))
