"""The blocks around accesses, and the buffers that blocks access."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...dialects.tir import (
    BlockOp,
    LoadOp,
    StoreOp,
    buffer_of,
)
from ...passes.tir.analysis.accesses import root_of
from ...provenance.walk import walk


def block_of(op: Operation) -> BlockOp | None:
    """The innermost block around an op."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, BlockOp):
        parent = parent.parent_op()
    return parent


def buffers_of(block: BlockOp, *, writes: bool) -> list[SSAValue]:
    """The buffers that a block reads or writes, in order; what a reduction adds up in counts as written only.

    Of a view it is the buffer behind it.
    """
    stores = [op for op in walk(block) if isinstance(op, StoreOp)]
    written = list(dict.fromkeys(root_of(op.buffer) for op in stores))
    if writes:
        return written
    loads = dict.fromkeys(root_of(op.buffer) for op in walk(block) if isinstance(op, LoadOp))
    return [buffer for buffer in loads if block.init is None or buffer not in written]


def name_of_buffer(buffer: SSAValue) -> str:
    """Return the name of a buffer."""
    return buffer.name_hint or str(buffer_of(buffer))
