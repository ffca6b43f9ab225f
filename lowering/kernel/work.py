"""The amount of work that a kernel does for each op of its primitive function, by which its time is shared out.

An estimate from the tensor expressions, before any schedule: how often a loop is run again, and what stays in a cache,
is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FixedBitwidthType, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.sizes.kernel import nominal
from ...dialects.sizes.types import extents_of
from ...dialects.te import ComputeOp, FuncOp, IndexOp, ReadOp, ReturnOp, YieldOp
from .slots import slots_of

_ELEMENTARY = 16
"""Operations of an elementary function: reducing its argument, and a polynomial."""
_SHORT = (math.FmaOp, math.AbsFOp, math.AbsIOp, math.CeilOp, math.FloorOp, math.CopySignOp, math.SqrtOp)
"""Functions that a machine has instructions for."""


class Work(NamedTuple):
    """The work for one op."""

    operations: int
    """Scalar operations: a multiply-add is two, an elementary function 16; index arithmetic is none."""
    bytes: int
    """Read from arguments of the kernel; for what computes nothing, all that it reads and writes.

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
        return Work(0, sum(_bytes(value.type) for value in (*op.operands, *op.results)))
    points = _points(op)
    operations = points * operations_at_point(op)
    # What is read at more points than it has elements is read from a cache or a register from then on.
    moved = [(read.tensor, min(points * _width(read.tensor.type), _bytes(read.tensor.type))) for read in op.reads]
    if operations:
        return Work(operations, sum(size for tensor, size in moved if tensor in arguments))
    return Work(0, sum(size for _, size in moved) + sum(_bytes(result.type) for result in op.results))


def operations_at_point(op: ComputeOp) -> int:
    """Scalar operations for one point of a compute: its element, and for a reduction combining that with what is."""
    at_point = _of_block(op.block)
    if op.combiner is not None:
        at_point += sum(map(_cost, op.combiner.block.ops))
    elif op.reducer is not None:
        at_point += len(op.outputs)
    return at_point


def _points(op: ComputeOp) -> int:
    return prod(map(nominal, (*op.shape, *op.reduce_shape)))


def _of_block(block: Block) -> int:
    """Of the ops that depend on an element of a tensor; the others depend on indices only."""
    read: set[SSAValue] = set()
    cost = 0
    for op in block.ops:
        if isinstance(op, ReadOp) or not read.isdisjoint(op.operands):
            read.update(op.results)
            cost += _cost(op)
    return cost


def _cost(op: Operation) -> int:
    if isinstance(op, ReadOp | IndexOp | YieldOp | arith.ConstantOp | arith.SelectOp):
        return 0
    return _ELEMENTARY if op.name.startswith("math.") and not isinstance(op, _SHORT) else 1


def _width(type_: Attribute) -> int:
    """Bytes of an element."""
    element = cast("TensorType[Attribute]", type_).element_type
    return max(1, -(-element.bitwidth // 8)) if isinstance(element, FixedBitwidthType) else 8


def _bytes(type_: Attribute) -> int:
    return prod(map(nominal, extents_of(cast("TensorType[Attribute]", type_)))) * _width(type_)
