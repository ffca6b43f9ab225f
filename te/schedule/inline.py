"""Inlining: the stages marked so are computed where they are read, and vanish as stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.arith import AndIOp, CmpiOp, ConstantOp, SelectOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects import te
from ...dialects.affine import linear, substitute
from ...dialects.element_types import is_integer
from ...dialects.sizes.kernel import affine_map, lifted
from ...dialects.tir import UNBOUNDED
from ...provenance.builder import fill
from ...provenance.span import fuse
from .stage_state import StageState
from .stage_table import StageTable


def inline_stages(schedule: StageTable[StageState]) -> None:
    """Put every stage marked `compute_inline` into its readers and erase it, readers first.

    In that order a chain of n stages costs n copies: each body is copied once, into the stage that stays. What a reader
    reads several times at one point is computed once.

    A reader's own location stays; the stage that reads is from now on located at both.
    """
    for stage in [stage for stage in reversed(schedule.stages) if stage.inlined]:
        producer = stage.compute
        users = dict.fromkeys(use.operation.parent_op() for output in producer.outputs for use in output.uses)
        for consumer in users:
            assert isinstance(consumer, te.ComputeOp)
            values: dict[object, list[SSAValue]] = {}
            for read in [read for read in consumer.reads if read.tensor in producer.outputs]:
                key = _point(read)
                if key not in values:
                    values[key] = _body(producer, read)
                _replace(producer, read, values[key])
            consumer.location = fuse([consumer.location, producer.location])
        producer.detach()
        producer.erase()
        schedule.stages.remove(stage)


def _zero(type_: Attribute) -> Attribute:
    if is_integer(type_):
        return IntegerAttr(0, cast(IntegerType, type_))
    return FloatAttr(0.0, cast(AnyFloat, type_))


def _point(read: te.ReadOp) -> object:
    """Equal for reads of a producer that see the same of it, whichever of its tensors they read."""
    ranges = tuple([UNBOUNDED] * read.map.data.num_dims)
    exprs = tuple(linear(expr, ranges).expr for expr in read.map.data.results)
    return exprs, tuple(read.indices), read.otherwise is None


def _body(producer: te.ComputeOp, read: te.ReadOp) -> list[SSAValue]:
    """Insert the ops that compute `producer` at the point of a read, before it, and return their values."""
    block = read.parent_block()
    assert block is not None
    indices = list(read.indices)
    point = list(read.map.data.results)
    axis_of: dict[SSAValue, AffineExpr] = dict(zip(producer.axes, point, strict=True))
    values: dict[SSAValue, SSAValue] = {}

    def add(op: Operation) -> Operation:
        block.insert_op_before(op, read)
        return op

    def compose(map: AffineMap, operands: list[SSAValue]) -> tuple[AffineMap, list[SSAValue]]:
        """A map over the producer's axes as one over the reader's indices."""
        used = list(indices)
        dims: list[AffineExpr] = []
        for operand in operands:
            if operand in axis_of:
                dims.append(axis_of[operand])
            else:
                dims.append(AffineExpr.dimension(len(used)))
                used.append(values[operand])
        return affine_map(len(used), tuple(substitute(expr, dims) for expr in map.results)), used

    for op in producer.block.ops:
        match op:
            case te.ReadOp():
                map, used = compose(op.map.data, list(op.indices))
                otherwise = op.otherwise
                if otherwise is None and read.otherwise is not None:
                    otherwise = _zero(op.result.type)
                copy = add(te.ReadOp.make(op.tensor, map, used, otherwise))
            case te.IndexOp():
                copy = add(te.IndexOp.make(*compose(op.map.data, list(op.indices))))
            case te.YieldOp():
                break
            case _:
                copy = add(op.clone(values))
        copy.location = op.location
        for mine, theirs in zip(op.results, copy.results, strict=True):
            values[mine] = theirs
    return [values[value] for value in producer.yields]


def _replace(producer: te.ComputeOp, read: te.ReadOp, values: Sequence[SSAValue]) -> None:
    """Replace a read by the producer's expression at its point."""
    result = values[cast(OpResult, read.tensor).index]
    if read.otherwise is not None:
        block = read.parent_block()
        assert block is not None

        def add(op: Operation) -> Operation:
            block.insert_op_before(op, read)
            return op

        result = _guarded(producer, read, result, add)
    read.result.replace_all_uses_with(result)
    read.detach()
    read.erase()


def _guarded(
    producer: te.ComputeOp, read: te.ReadOp, value: SSAValue, emit: Callable[[Operation], Operation]
) -> SSAValue:
    """`value` where the point read lies inside the producer's shape, the read's else value elsewhere."""
    index = IndexType()

    def constant(attribute: Attribute, type_: Attribute) -> SSAValue:
        op = emit(ConstantOp.create(properties={"value": attribute}, result_types=[type_]))
        fill(op, read.location)
        return op.results[0]

    inside: SSAValue | None = None
    for expr, extent in zip(read.map.data.results, producer.shape, strict=True):
        at = emit(te.IndexOp.make(affine_map(read.map.data.num_dims, (expr,)), list(read.indices)))
        fill(at, read.location)
        # One unsigned comparison checks both ends.
        if isinstance(extent, int):
            end = constant(IntegerAttr(extent, index), index)
        else:
            size = emit(te.IndexOp.make(affine_map(0, (lifted(extent),)), []))
            fill(size, read.location)
            end = size.results[0]
        test = emit(CmpiOp(at.results[0], end, "ult"))
        fill(test, read.location)
        if inside is None:
            inside = test.results[0]
        else:
            both = emit(AndIOp(inside, test.results[0]))
            fill(both, read.location)
            inside = both.results[0]
    if inside is None:
        # A tensor without dimensions has one point.
        return value
    assert read.otherwise is not None
    select = emit(SelectOp(inside, value, constant(read.otherwise, value.type)))
    fill(select, read.location)
    return select.results[0]
