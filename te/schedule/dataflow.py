"""The primitives that make new stages: cache_read, cache_write, rfactor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.arith import AndIOp, CmpiOp, ConstantOp, SelectOp
from xdsl.dialects.builtin import (
    AffineSetAttr,
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
)

from ...dialects import te
from ...dialects.affine import below as less
from ...dialects.affine import bounds, substitute
from ...dialects.element_types import bit_width, is_integer, is_unsigned
from ...dialects.schedule.base import SCOPES
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import affine_map, lifted
from ...dialects.sizes.types import extents_of
from ...provenance.builder import LocatedBuilder
from ...support.errors import ScheduleError
from .itervar import IterVar
from .record import Record
from .relations import axis_values, full_region, loop_extents, loop_values, mixed_axes, overruns
from .stage import Stage
from .stage_state import StageState
from .stage_table import StageTable


def _number(type_: Attribute, value: float) -> Attribute:
    if is_integer(type_):
        return IntegerAttr(int(value), cast(IntegerType, type_))
    return FloatAttr(value, cast(AnyFloat, type_))


def _extreme(sign: int) -> Callable[[Attribute, bool], Attribute]:
    """The largest (1) or least (-1) value of a type."""

    def value(type_: Attribute, unsigned: bool) -> Attribute:
        if not is_integer(type_):
            return _number(type_, math.inf * sign)
        bits = bit_width(type_)
        low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        return _number(type_, high if sign > 0 else low)

    return value


_IDENTITY: dict[str, Callable[[Attribute, bool], Attribute]] = {
    "sum": lambda type_, _: _number(type_, 0),
    "prod": lambda type_, _: _number(type_, 1),
    "max": _extreme(-1),
    "min": _extreme(1),
}
"""Reducer -> what a reduction over nothing gives; of a type, unsigned or not."""


def _check_scope(primitive: str, stage: Stage, scope: str) -> None:
    if not isinstance(scope, str) or scope not in SCOPES:  # pyright: ignore[reportUnnecessaryIsInstance]
        stage.fail(primitive, f"expected a scope among {', '.join(SCOPES)}, got {scope!r}")


def _check_free(primitive: str, stage: Stage) -> None:
    """Fail when the loops of the stage cannot be given up, as other stages are computed in them."""
    stage.the_compute(primitive)
    inside = [s.label for s in stage.record.table.stages if s.attach is not None and s.attach.stage is stage]
    if inside:
        stage.fail(primitive, f"expected no stage inside '{stage.label}', got {', '.join(inside)}")


def _copy_of(
    tensors: Sequence[SSAValue],
    label: str,
    shape: Sequence[Size],
    names: Sequence[str],
    point: Sequence[AffineExpr],
    location: LocationAttr,
) -> tuple[te.ComputeOp, list[te.ReadOp]]:
    """A compute of `shape` whose elements are those of `tensors` at `point`, and its reads."""
    elements = [cast(TensorType[Attribute], tensor.type).element_type for tensor in tensors]
    copy = te.ComputeOp.make(label, shape, elements, names=names)
    builder = LocatedBuilder(copy.block, location)
    map = affine_map(len(shape), tuple(point))
    reads = [builder.add(te.ReadOp.make(tensor, map, list(copy.block.args))) for tensor in tensors]
    builder.add(te.YieldOp(*(read.result for read in reads)))
    copy.location = location
    return copy, reads


def cache_write(table: StageTable[Stage], stage: Stage, scope: str) -> Stage:
    _check_scope("cache_write", stage, scope)
    _check_free("cache_write", stage)
    layout = _relayout(stage)
    original = stage.compute
    label, location = original.label.data, original.location
    cached = layout.compute if layout is not None else original
    point = layout.point if layout is not None else [AffineDimExpr(i) for i in range(len(original.shape))]
    names = [axis.name for axis in stage.axes]
    copy, reads = _copy_of(cached.results, label, original.shape, names, point, location)
    block = cast(Block, original.parent)
    for result, mine in zip(original.results, copy.results, strict=True):
        result.replace_uses_with_if(mine, lambda use: use.operation not in reads)
    block.insert_op_after(copy, original)
    if cached is not original:
        block.insert_op_before(cached, original)
        original.detach()
        original.erase()
    cached.label = StringAttr(f"{label}.{scope}")
    for i, result in enumerate(cached.results):
        result.name_hint = cached.label.data if len(cached.results) == 1 else f"{cached.label.data}.v{i}"
    cache = Stage(stage.record, cached)
    cache.scope, cache.group = scope, stage.group
    cache.storage.inside = stage.storage.inside if layout is None else layout.inside
    table.stages.insert(table.stages.index(stage), cache)
    before, made_of = stage.axes, stage.made_of
    stage.relayout(copy)
    stage.cache = cache
    for axis, old in zip(stage.axes, before, strict=True):
        if old.intrin is None:
            axis.kind, axis.thread, axis.hints = old.kind, old.thread, old.hints
    if made_of is not None:
        cache.make_of(*made_of)
    return cache


@dataclass(frozen=True)
class _Relayout:
    """A compute whose axes are the loops of a stage."""

    compute: te.ComputeOp
    point: list[AffineExpr]
    """The point in it of the stage's element; dim i is the stage's axis i."""
    inside: AffineSetAttr | None
    """The points of it that are elements of the stage; None for all."""


def _relayout(stage: StageState) -> _Relayout | None:
    """Return the compute of a stage with its loops over data as axes; None where these are its axes.

    Raises ScheduleError where loops of the reduction were changed, or what was done to loops would be lost.
    """
    data = [axis for axis in stage.leaf if not axis.reduce]
    if any(axis.reduce and axis not in stage.reduce_axes for axis in stage.all_iter_vars):
        stage.fail("cache_write", "Can only relayout with in data parallel dimensions")
    for axis in stage.leaf:
        if axis.intrin is not None and (stage.made_of is None or data != stage.axes):
            stage.fail("cache_write", f"expected no tensorized loop, got {axis.name}")
        if axis not in stage.axes and (axis.kind != "serial" or axis.thread is not None or axis.hints):
            stage.fail("cache_write", f"expected a plain loop, as the cache gets others, got {axis}")
    if data == stage.axes:
        return None
    original = stage.compute
    extents = loop_extents(stage, full_region(original.shape))
    rank = len(data)
    compute = te.ComputeOp.make(
        original.label.data,
        [extents[axis] for axis in data],
        [output.type.element_type for output in original.outputs],
        reduce_extents=original.reduce_shape,
        reducer=original.reducer.data if original.reducer is not None else None,
        identity=_identity_of(original),
        names=[*(f"{axis.name}.c" for axis in data), *(axis.name for axis in stage.reduce_axes)],
    )
    compute.attributes |= original.attributes
    compute.location = original.location
    leaves: dict[IterVar, AffineExpr] = {axis: AffineDimExpr(i) for i, axis in enumerate(data)}
    values = axis_values(stage, extents, leaves)
    points: dict[SSAValue, AffineExpr] = {
        argument: values[axis] for argument, axis in zip(original.axes, stage.axes, strict=True)
    }
    points |= {argument: AffineDimExpr(rank + i) for i, argument in enumerate(original.reduce_axes)}
    _body(original, compute, points, (), original.inits)
    _copy_combiner(original, compute)
    below = {axis: AffineDimExpr(i) for i, axis in enumerate(stage.axes)}
    down = loop_values(stage, extents, below)
    rooms = [
        values[parent] * -1 + lifted(extents[parent] - 1)
        for parent in overruns(stage, extents)
        if not less(bounds(values[parent], [(0, extents[axis] - 1) for axis in data])[1], extents[parent])
    ]
    rooms = [AffineConstraintExpr(AffineConstraintKind.ge, room, AffineConstantExpr(0)) for room in rooms]
    rooms += _rooms_at(stage, [values[axis] for axis in stage.axes])
    inside = AffineSetAttr(AffineSet(rank, 0, tuple(rooms)))
    return _Relayout(compute, [down[axis] for axis in data], inside if rooms else None)


def _rooms_at(stage: StageState, point: Sequence[AffineExpr]) -> list[AffineConstraintExpr]:
    """The conditions under which a point of a stage, which runs past the end of what it caches, is in that."""
    constraints = () if stage.storage.inside is None else stage.storage.inside.data.constraints
    return [AffineConstraintExpr(c.kind, substitute(c.lhs, point), c.rhs) for c in constraints]


def cache_read(
    record: Record, table: StageTable[Stage], tensor: SSAValue, scope: str, readers: Sequence[Stage]
) -> Stage:
    name = table.tensor_name(tensor)
    if not readers:
        raise ScheduleError(f"cache_read: expected the stages that read the copy of {name}, got none")
    _check_scope("cache_read", readers[0], scope)
    if isinstance(tensor.owner, te.StateOp):
        readers[0].fail(
            "cache_read", f"expected a tensor that is computed, got {name}, of which a scan knows past rows"
        )
    for reader in readers:
        if reader in table.placeholders.values():
            reader.fail("cache_read", f"expected a stage that reads {name}, got {reader.kind}")
        if tensor not in reader.inputs:
            reader.fail("cache_read", f"Cannot find {name} in the inputs of {reader.label}")
    label = f"{name}.{scope}"
    labels = {stage.label for stage in table.stages}
    while label in labels:
        label = f"{label.removesuffix(f'.{scope}')}.d.{scope}"
    source = tensor.owner
    location = readers[0].location if isinstance(source, Block) else source.location
    shape = extents_of(cast(TensorType[Attribute], tensor.type))
    names = [f"ax{i}" for i in range(len(shape))]
    copy, _ = _copy_of([tensor], label, shape, names, [AffineDimExpr(i) for i in range(len(shape))], location)
    if isinstance(source, Block):
        first = table.func.block.first_op
        assert first is not None
        table.func.block.insert_op_before(copy, first)
        position = 0
    else:
        table.func.block.insert_op_after(copy, source)
        position = table.stages.index(table[tensor]) + 1
    for reader in readers:
        users: Sequence[Operation] = reader.compute.reads if reader.is_compute else [cast(Operation, reader.producer)]
        for user in users:
            for i, operand in enumerate(user.operands):
                if operand is tensor:
                    user.operands[i] = copy.result
    cache = Stage(record, copy)
    cache.scope = scope
    if not isinstance(source, Block) and table[tensor].scan is not None:
        # A value that a step of a scan computes exists only in that step.
        cache.group = table[tensor].group
    table.stages.insert(position, cache)
    return cache


def check_rfactor(stage: Stage, axis: IterVar, factor_axis: int) -> None:
    """Raise ScheduleError when the stage cannot be factored so."""
    original, rank = stage.compute, len(stage.compute.shape)
    _check_free("rfactor", stage)
    if original.reducer is None:
        stage.fail("rfactor", "expected a reduction, got none")
    if axis not in stage.leaf:
        stage.fail("rfactor", f"Operate on iter var {axis.name} that is no loop of the stage")
    if not axis.reduce:
        stage.fail("rfactor", f"Can only factor CommReduce axis, got {axis.name}")
    if mixed := [loop.name for loop in stage.leaf if loop in mixed_axes(stage)]:
        stage.fail("rfactor", f"expected loops over data or over terms, got {mixed[0]} over both")
    if not -rank - 1 <= factor_axis <= rank:
        stage.fail("rfactor", f"expected a factor axis from 0 to {rank}, got {factor_axis}")


def rfactor(table: StageTable[Stage], stage: Stage, axis: IterVar, factor_axis: int) -> Stage:
    """Factor a reduction that `check_rfactor` let pass."""
    original, rank = stage.compute, len(stage.compute.shape)
    assert original.reducer is not None
    position = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
    extents = loop_extents(stage, full_region(original.shape))
    label = original.label.data
    factored = _factored(stage, axis, position, extents)
    again = te.ComputeOp.make(
        f"{label}.repl",
        original.shape,
        [output.type.element_type for output in original.outputs],
        reduce_extents=[extents[axis]],
        reducer=original.reducer.data,
        identity=_identity_of(original),
        names=[*(a.name for a in stage.axes), f"{axis.name}.v"],
    )
    # What is combined again are parts, of which a condition has left out what it should.
    again.attributes |= {key: value for key, value in original.attributes.items() if key != te.PREDICATED}
    builder = LocatedBuilder(again.block, original.location)
    dims: list[AffineExpr] = [AffineDimExpr(i) for i in range(rank)]
    dims.insert(position, AffineDimExpr(rank))
    map = affine_map(rank + 1, tuple(dims))
    reads = [builder.add(te.ReadOp.make(part, map, list(again.block.args))) for part in factored.results]
    points: dict[SSAValue, AffineExpr] = {argument: AffineDimExpr(i) for i, argument in enumerate(original.axes)}
    starts = _copied(builder, original, original.inits, points, ())
    builder.add(te.YieldOp(*(read.result for read in reads), *starts))
    _copy_combiner(original, again)
    factored.location = again.location = original.location
    block = cast(Block, original.parent)
    block.insert_op_before(factored, original)
    block.insert_op_before(again, original)
    for result, mine in zip(original.results, again.results, strict=True):
        result.replace_all_uses_with(mine)
    original.detach()
    original.erase()
    partial = Stage(stage.record, factored)
    partial.group = stage.group
    if rooms := _rooms_at(stage, [AffineDimExpr(i + (i >= position)) for i in range(rank)]):
        partial.storage.inside = AffineSetAttr(AffineSet(rank + 1, 0, tuple(rooms)))
    table.stages.insert(table.stages.index(stage), partial)
    stage.relayout(again)
    return partial


def _factored(stage: StageState, axis: IterVar, position: int, extents: dict[IterVar, Size]) -> te.ComputeOp:
    """The reduction over all loops but `axis`, which is its data axis number `position`."""
    original = stage.compute
    rank = len(original.shape)
    left = [a for a in stage.leaf if a.reduce and a is not axis]
    shape, names = list(original.shape), [a.name for a in stage.axes]
    shape.insert(position, extents[axis])
    names.insert(position, axis.name)
    compute = te.ComputeOp.make(
        f"{original.label.data}.rf",
        shape,
        [output.type.element_type for output in original.outputs],
        reduce_extents=[extents[a] for a in left],
        reducer=original.reducer.data if left and original.reducer is not None else None,
        identity=_identity_of(original) if left else None,
        names=[*names, *(a.name for a in left)],
    )
    _copy_combiner(original, compute)
    of_starts = te.STARTS in original.attributes
    if left and of_starts:
        compute.attributes[te.STARTS] = UnitAttr()
    leaves: dict[IterVar, AffineExpr] = {a: AffineDimExpr(0) for a in stage.leaf if not a.reduce}
    leaves |= {a: AffineDimExpr(rank + 1 + i) for i, a in enumerate(left)}
    leaves[axis] = AffineDimExpr(position)
    values = axis_values(stage, extents, leaves)
    points: dict[SSAValue, AffineExpr] = {
        argument: AffineDimExpr(i + (i >= position)) for i, argument in enumerate(original.axes)
    }
    points |= {argument: values[a] for argument, a in zip(original.reduce_axes, stage.reduce_axes, strict=True)}
    guards = [(values[parent], extents[parent]) for parent in overruns(stage, extents) if parent.reduce]
    _body(original, compute, points, guards, original.inits if left and of_starts else ())
    return compute


def _body(
    original: te.ComputeOp,
    copy: te.ComputeOp,
    points: dict[SSAValue, AffineExpr],
    guards: Sequence[tuple[AffineExpr, Size]],
    starts: Sequence[SSAValue],
) -> None:
    """The body of `original` at `points`; what a reduction starts from where a guard reaches its limit.

    starts: those of its values that say what the reduction starts from, none where its reducer does.
    """
    builder = LocatedBuilder(copy.block, original.location)
    arguments: list[SSAValue] = list(copy.block.args)
    neutrals = original.inits if guards and te.STARTS in original.attributes else ()
    results = _copied(builder, original, [*original.yields, *starts, *neutrals], points, guards)
    results, values = results[: len(results) - len(neutrals)], results[len(results) - len(neutrals) :]
    if not guards:
        builder.add(te.YieldOp(*results))
        return
    inside: SSAValue | None = None
    for value, limit in guards:
        index = builder.add(te.IndexOp.make(*_over([value], arguments)))
        end: Operation = (
            ConstantOp(IntegerAttr(limit, IndexType()))
            if isinstance(limit, int)
            else te.IndexOp.make(affine_map(0, (lifted(limit),)), [])
        )
        test = builder.add(CmpiOp(index.result, builder.add(end).results[0], "slt")).result
        inside = test if inside is None else builder.add(AndIOp(inside, test)).result
    if inside is not None and original.reducer is not None:
        for i, (result, output) in enumerate(zip(results, original.outputs, strict=False)):
            if values:
                results[i] = builder.add(SelectOp(inside, result, values[i])).result
                continue
            if original.identity is not None:
                neutral = list(original.identity)[i]
            else:
                neutral = _IDENTITY[original.reducer.data](result.type, is_unsigned(output.type.element_type))
            constant = ConstantOp.create(properties={"value": neutral}, result_types=[result.type])
            results[i] = builder.add(SelectOp(inside, result, builder.add(constant).results[0])).result
    builder.add(te.YieldOp(*results))


def _identity_of(compute: te.ComputeOp) -> list[Attribute] | None:
    """Return the values that a custom reduction starts from; None for a known one."""
    return list(compute.identity) if compute.identity is not None else None


def _copy_combiner(original: te.ComputeOp, copy: te.ComputeOp) -> None:
    """Give a compute the combiner of another, if both have one."""
    if original.combiner is None or copy.combiner is None:
        return
    same = dict[SSAValue, SSAValue](zip(original.combiner.block.args, copy.combiner.block.args, strict=True))
    for mine, theirs in zip(copy.combiner.block.args, original.combiner.block.args, strict=True):
        mine.name_hint = theirs.name_hint
    copy.combiner.block.add_ops([op.clone(same) for op in original.combiner.block.ops])


def _over(exprs: Sequence[AffineExpr], used: Sequence[SSAValue]) -> tuple[AffineMap, list[SSAValue]]:
    """A map over just what `exprs` use."""
    named = sorted(set[int]().union(*(expr.used_dims() for expr in exprs)))
    new: list[AffineExpr] = [AffineDimExpr(named.index(i) if i in named else 0) for i in range(len(used))]
    return affine_map(len(named), tuple(substitute(e, new) for e in exprs)), [used[i] for i in named]


def _needed(original: te.ComputeOp, wanted: Sequence[SSAValue]) -> set[Operation]:
    """The operations of a body that some of its values are made of."""
    ops: set[Operation] = set()
    stack = list(wanted)
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, Operation) and owner.parent is original.block and owner not in ops:
            ops.add(owner)
            stack += owner.operands
    return ops


def _copied(
    builder: LocatedBuilder,
    original: te.ComputeOp,
    wanted: Sequence[SSAValue],
    points: dict[SSAValue, AffineExpr],
    guards: Sequence[tuple[AffineExpr, Size]],
) -> list[SSAValue]:
    """Some values of the body of `original`, computed at `points` by what `builder` adds to a block."""
    arguments: list[SSAValue] = list(builder.block.args)
    values: dict[SSAValue, SSAValue] = {}

    def access(map: AffineMap, indices: Sequence[SSAValue]) -> tuple[AffineMap, list[SSAValue]]:
        used, dims = list(arguments), list[AffineExpr]()
        for index in indices:
            if index in points:
                dims.append(points[index])
            else:
                dims.append(AffineDimExpr(len(used)))
                used.append(values[index])
        return _over([substitute(expr, dims) for expr in map.results], used)

    needed = _needed(original, wanted)
    for op in original.block.ops:
        if op not in needed:
            continue
        match op:
            case te.ReadOp():
                otherwise = op.otherwise
                if guards and otherwise is None:
                    otherwise = _number(op.result.type, 0)
                copy = te.ReadOp.make(op.tensor, *access(op.map.data, op.indices), otherwise)
            case te.IndexOp():
                copy = te.IndexOp.make(*access(op.map.data, op.indices))
            case _:
                copy = op.clone(values)
        copy.location = op.location
        builder.add(copy)
        values.update(zip(op.results, copy.results, strict=True))
    return [values[value] for value in wanted]
