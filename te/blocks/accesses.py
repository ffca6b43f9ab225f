"""The accesses below an op, and the elements that they name in terms of loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure

from ...dialects.tir import (
    AllocConstOp,
    AllocOp,
    BlockOp,
    ForOp,
    IfOp,
    IndexOp,
    InitOp,
    LoadOp,
    PrimFuncOp,
    StoreOp,
    buffer_of,
)
from ...dialects.tir.lanes import lanes
from ...provenance.walk import walk
from .bindings import Place, place_of
from .state import refuse

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


def elements(primitive: str, root: Operation) -> list[Access]:
    """The accesses below `root`. Raises ScheduleError for statements of which it cannot tell what they access."""
    found: list[Access] = []
    for op in walk(root):
        match op:
            case LoadOp() | StoreOp():
                value = op.result if isinstance(op, LoadOp) else op.value
                if lanes(value.type):
                    refuse(primitive, "expected accesses of single elements, got a vector's", *_around(op))
                found.append(Access(op, place_of(op)))
            case BlockOp() | ForOp() | IfOp() | InitOp() | PrimFuncOp() | AllocOp() | AllocConstOp() | ConstantOp():
                pass
            case IndexOp():
                pass
            case _ if op.has_trait(Pure):
                pass
            case _:
                refuse(primitive, f"expected loads, stores and arithmetic, got {op.name}", *_around(op))
    return found


def _around(op: Operation) -> list[Operation]:
    block = next(iter(_blocks_around(op)), None)
    return [] if block is None else [block]


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
