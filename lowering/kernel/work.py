"""The amount of work that a kernel does for each op of its primitive function, by which its time is shared out.

An estimate from the tensor expressions, before any schedule: how often a loop is run again, and what stays in a cache,
is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.te import ComputeOp, FuncOp, ReturnOp
from ...te.schedule.counts import Access, body_of, touched_bytes
from .slots import slots_of


class Work(NamedTuple):
    """The work for one op."""

    operations: int
    """Scalar operations: a multiply-add is two, an elementary function 16; index arithmetic is none."""
    bytes: int
    """Read from arguments of the kernel, each element once; for what computes nothing, all that it reads and writes.

    What a group writes at its end counts for no op: the last one writes for all of them.
    """

    @property
    def weight(self) -> int:
        """Operations and bytes in one number: a core's vector units do about one operation in the time of a byte."""
        return self.operations + self.bytes


def stages_work(func: FuncOp) -> list[tuple[LocationAttr, Work]]:
    """The location and work of each stage of a te.func that is not scheduled yet."""
    arguments = set[SSAValue](func.block.args)
    return [(op.location, _of_stage(op, arguments)) for op in func.block.ops if not isinstance(op, ReturnOp)]


def slots_work(stages: Iterable[tuple[LocationAttr, Work]], slots: int) -> tuple[tuple[int, int], ...]:
    """The work behind each of `slots` slots; a stage that stands for several is shared out evenly over them."""
    operations, moved = [0] * slots, [0] * slots
    for location, stage in stages:
        behind = slots_of(location)
        for index, slot in enumerate(behind):
            operations[slot] += _part(stage.operations, index, len(behind))
            moved[slot] += _part(stage.bytes, index, len(behind))
    return tuple(zip(operations, moved, strict=True))


def _part(whole: int, index: int, parts: int) -> int:
    """Part number `index` of `parts` nearly equal ones that add up to the whole."""
    return whole * (index + 1) // parts - whole * index // parts


def _of_stage(op: Operation, arguments: set[SSAValue]) -> Work:
    if not isinstance(op, ComputeOp):
        return Work(0, sum(Access(value, ()).tensor_bytes for value in (*op.operands, *op.results)))
    body = body_of(op)
    if operations := body.points * body.operations:
        touched = touched_bytes(body.reads, body.extents)
        return Work(operations, sum(size for tensor, size in touched.items() if tensor in arguments))
    return Work(0, body.bytes)
