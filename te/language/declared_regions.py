"""The regions that a block is said to read and write, compared with those that its statements do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.affine import Range
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import size_of
from ...dialects.tir.block import BlockOp
from ...passes.tir.analysis.regions import Region, outside, regions_of, spelled
from ...provenance.span import leaves, positions
from ...support.dtypes import fail
from .blocks import Block, BufferRegion, allocated, in_order
from .expr import Expr, Extent, convert
from .tensor import Tensor

Form = Callable[[Expr], AffineExpr | None]


def check_regions(
    block: Block, op: BlockOp, buffers: Mapping[Tensor, SSAValue], form: Form, indices: Sequence[SSAValue]
) -> None:
    """Raise ScheduleError for a region that the statements of a block surely leave, or that is missing.

    op: the block's op, with its statements. form: an expression as an affine one of `indices`; None if it is none.
    """
    if not block.iter_vars and not block.reads and not block.writes:
        # The root block of TVM's texts says that it accesses nothing.
        return
    ranges: dict[SSAValue, Range] = {
        argument: (0, extent - 1) for argument, extent in zip(op.block.args, op.domain, strict=True)
    }
    inside = {buffers[buffer.tensor] for part in in_order(block) for buffer in allocated(part)}
    for word, declared, computed in zip(("reads", "writes"), (block.reads, block.writes), regions_of(op), strict=True):
        if declared is None:
            continue
        # What a block reads to write it anew need not be among its reads.
        counted = [*declared, *((block.writes or ()) if word == "reads" else ())]
        boxes = [_region(box, buffers, form, indices) for box in counted]
        for region in [region for region in computed if region.buffer not in inside]:
            own = [box for box in boxes if box is None or box.buffer is region.buffer]
            if not own:
                _refuse(block, op, word, "none of it", region)
            # Several boxes of a buffer may hold in turn what none of them holds alone.
            if len(own) == 1 and own[0] is not None and outside(own[0], region, ranges) is not None:
                _refuse(block, op, word, _spelled(own[0]), region)


def _region(
    box: BufferRegion, buffers: Mapping[Tensor, SSAValue], form: Form, indices: Sequence[SSAValue]
) -> Region | None:
    """Return a declared region; None for one that is not affine."""
    begins = [form(convert(one.min)) for one in box.region]
    ends = [_size(one.extent, form) for one in box.region]
    known = [begin for begin in begins if begin is not None]
    extents = [extent for extent in ends if extent is not None]
    buffer = buffers.get(box.buffer.tensor)
    if buffer is None or len(known) != len(begins) or len(extents) != len(ends):
        return None
    return Region(buffer, tuple(indices), tuple(known), tuple(extents), False)


def _size(extent: Extent, form: Form) -> Size | None:
    if isinstance(extent, int):
        return extent
    expr = form(convert(extent))
    return None if expr is None or expr.used_dims() else size_of(expr)


def _spelled(region: Region) -> str:
    names = [value.name_hint or "?" for value in region.variables]
    return spelled(region, names, region.buffer.name_hint or "a buffer")


def _refuse(block: Block, op: BlockOp, word: str, declared: str, region: Region) -> None:
    places = [place for leaf in leaves(op.location) for place in positions(leaf)]
    where = f"{places[0].file}:{places[0].line}:{places[0].column}: " if places else ""
    expected = f"T.{word} of {_spelled(region)}, as its statements do"
    fail(f"{where}block '{block.name_hint}': expected {expected}, got {declared}")
