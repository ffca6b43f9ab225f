"""The accesses below an op, and the elements that they name in terms of loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from xdsl.ir import Operation, SSAValue

from ...dialects.tir import (
    BlockOp,
    LoadOp,
    StoreOp,
    buffer_of,
)
from ...provenance.walk import walk
from .bindings import Place

Element: TypeAlias = LoadOp | StoreOp


class Access(NamedTuple):
    """A load or store of one element."""

    op: Element
    place: Place
    """The element, over loop variables."""

    @property
    def buffer(self) -> SSAValue:
        return self.op.buffer

    @property
    def writes(self) -> bool:
        return isinstance(self.op, StoreOp)


def _blocks_around(op: Operation) -> Iterator[BlockOp]:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, BlockOp):
            yield parent
        parent = parent.parent_op()


def block_of(op: Operation) -> BlockOp | None:
    """The innermost block around an op."""
    return next(iter(_blocks_around(op)), None)


def buffers_of(block: BlockOp, *, writes: bool) -> list[SSAValue]:
    """The buffers that a block reads or writes, in order; what a reduction adds up in counts as written only."""
    stores = [op for op in walk(block) if isinstance(op, StoreOp)]
    written = list(dict.fromkeys(op.buffer for op in stores))
    if writes:
        return written
    loads = dict.fromkeys(op.buffer for op in walk(block) if isinstance(op, LoadOp))
    return [buffer for buffer in loads if block.init is None or buffer not in written]


def name_of_buffer(buffer: SSAValue) -> str:
    """Return the name of a buffer."""
    return buffer.name_hint or str(buffer_of(buffer))
