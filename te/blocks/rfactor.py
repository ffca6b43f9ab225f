"""rfactor: the partial results of a reduction, by one of its loops, in a buffer of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import bounds
from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import affine_map, at_least, known
from ...dialects.tir import BlockOp, BufferType, ForOp, LoadOp, StoreOp, buffer_of
from ...dialects.tir.block import InitOp
from ...passes.tir.analysis.accesses import root_of
from ...passes.tir.analysis.dependence import accumulation
from ...passes.tir.rewriting.ops import drop
from ...provenance.builder import LocatedBuilder
from ...provenance.walk import walk
from .accesses import name_of_buffer
from .bindings import Place, joined, replaced, resolved
from .bodies import allocated, check_own_values, copied, covers, is_whole, move_access, ordered_loops, own_nest
from .loops import check_plain
from .state import State, blocks_in, loops_of, name_of, refuse

NAME = "rfactor"
_NEUTRAL: dict[type[Operation], float] = {
    arith.AddfOp: 0,
    arith.AddiOp: 0,
    arith.XOrIOp: 0,
    arith.OrIOp: 0,
    arith.MulfOp: 1,
    arith.MuliOp: 1,
    arith.AndIOp: -1,
}
"""The values that ops leave others as they are with; extremes may begin with any."""


class _Reduction(NamedTuple):
    """`init: C = start; C = C + term`, of a block."""

    block: BlockOp
    init: InitOp
    store: StoreOp
    load: LoadOp
    combined: Operation


class _Variables(NamedTuple):
    """The variables of the block of partial results, and what those of the reduction are by these."""

    axes: list[tuple[str, Size]]
    hints: list[str | None]
    bindings: list[Place]
    by: list[tuple[SSAValue, AffineExpr]]


def rfactor(state: State, loop: ForOp, factor_axis: int) -> BlockOp:
    """`for k: C += X[k]` -> `for k: C_rf[k] += X[k]; for k: C += C_rf[k]`; returns the block of C_rf.

    factor_axis: the dim of C_rf that the loop is. Raises ScheduleError for a loop that is not of the reduction alone,
    and for a reduction that does not start with the neutral value.
    """
    parts = _reduction(loop)
    block, buffer = parts.block, parts.store.buffer
    own_nest(NAME, block)
    check_own_values(NAME, block)
    if not covers(block):
        refuse(NAME, "expected a block that runs at all of its points, got another", block)
    touched = _touched(block, loop)
    _check_guards(block, loop)
    rank = len(buffer_of(buffer).shape)
    if not -rank - 1 <= factor_axis <= rank:
        text = f"expected a factor_axis in [{-rank - 1}, {rank}] for {name_of_buffer(buffer)}, got {factor_axis}"
        refuse(NAME, text, block, loop, remedy="factor_axis=0")
    axis = factor_axis % (rank + 1)
    shape = list(buffer_of(buffer).get_shape())
    shape.insert(axis, known(loop.trip_count))
    label = block.label.data
    type_ = BufferType.of(shape, buffer_of(buffer).element_type)
    partial = allocated(block, f"{name_of_buffer(buffer)}_rf", type_)
    final = _final(parts, loop, partial, axis)
    made = _partial(state.fresh(f"{label}_rf"), parts, loop, partial, axis, touched)
    tree = own_nest(NAME, block)
    assert tree.parent is not None
    tree.parent.insert_op_after(final[0], tree)
    assert block.parent is not None
    block.parent.insert_op_before(made, block)
    state.move(block, final[1])
    drop(block, NAME, "its partial results, and their sum, are blocks of their own")
    return made


def _reduction(loop: ForOp) -> _Reduction:
    """The reduction in a loop. Raises ScheduleError for other loops and bodies."""
    blocks = blocks_in(loop)
    if len(blocks) != 1:
        refuse(NAME, f"expected a loop of one block, got one of {len(blocks)}", loop)
    (block,) = blocks
    check_plain(NAME, [loop])
    if block.init is None:
        refuse(NAME, "expected a reduction that starts with tir.init, got a block without", block, loop)
    stores = [op for op in walk(block) if isinstance(op, StoreOp)]
    starts = [op for op in block.init.block.ops if isinstance(op, StoreOp)]
    ends = accumulation(stores[-1]) if stores else None
    if len(stores) != 2 or len(starts) != 1 or ends is None or stores[-1].parent is not block.block:
        refuse(NAME, "expected a block that adds a term to one element, got another body", block)
    load, combined = ends
    store = stores[-1]
    if store.value.type != buffer_of(store.buffer).element_type:
        refuse(NAME, "expected a reduction of elements, got one of vectors", block)
    if starts[0].buffer is not store.buffer or not is_whole(block, store):
        refuse(NAME, f"expected a reduction into all of {name_of_buffer(store.buffer)}, got another", block)
    reads = [op for op in walk(block) if isinstance(op, LoadOp) and root_of(op.buffer) is store.buffer]
    if reads != [load]:
        refuse(NAME, f"expected one read of {name_of_buffer(store.buffer)}, got several", block)
    neutral = _NEUTRAL.get(type(combined))
    if neutral is not None and _number(starts[0].value) != neutral:
        refuse(NAME, f"expected a start of {neutral}, which {combined.name} leaves as it is, got another", block)
    return _Reduction(block, block.init, store, load, combined)


def _number(value: SSAValue) -> float | None:
    if not isinstance(op := value.owner, arith.ConstantOp):
        return None
    constant = cast("Attribute", op.value)
    if not isinstance(constant, FloatAttr | IntegerAttr):
        return None
    return constant.value.data


def _touched(block: BlockOp, loop: ForOp) -> set[int]:
    """The reduce variables that a loop moves. Raises ScheduleError where it moves others, too."""
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    users = [{place.values[dim] for dim in expr.used_dims()} for expr in place.exprs]
    spatial = set[SSAValue]().union(*(u for u, kind in zip(users, block.kinds, strict=True) if kind.data != "reduce"))
    touched = {number for number, used in enumerate(users) if loop.var in used}
    reduce_loops = [each for each in loops_of(block) if each.var not in spatial]
    free = next((name_of(each) for each in reduce_loops if any(each.var in used for used in users)), "")
    if loop.var in spatial or not (touched or same(loop.trip_count, 1)):
        what = "of data" if loop.var in spatial else "that no variable depends on"
        remedy = f"the loop {free}" if free else ""
        refuse(
            NAME, f"expected a loop of the reduction alone, got {name_of(loop)}, one {what}", loop, block, remedy=remedy
        )
    for number in touched:
        if mixed := next((each for each in loops_of(block) if each.var in users[number] & spatial), None):
            refuse(NAME, f"expected loops of the reduction alone, got {name_of(mixed)} for both", block, mixed)
    return touched


def _check_guards(block: BlockOp, loop: ForOp) -> None:
    """Refuse conditions that leave partial results without a start, or that are of data and terms at once."""
    if len(block.guards) > 1:
        refuse(NAME, "expected one condition at most, got alternatives", block)
    reduced = _reduce_loops(block)
    for guard in block.guards:
        for expr in guard.results:
            place = resolved(Place((expr,), tuple(block.indices)))
            if not set(place.values) & reduced:
                continue
            others = [value for value in place.values if value in reduced and value is not loop.var]
            zero = {value: Place((AffineConstantExpr(0),), ()) for value in others}
            start = replaced(place, zero)
            if not at_least(bounds(start.exprs[0], start.ranges)[0], 0):
                text = f"expected a term for each pass of {name_of(loop)}, got a condition that leaves some without"
                refuse(NAME, text, block, loop, remedy="split by a factor of the extent")


def _reduce_loops(block: BlockOp) -> set[SSAValue]:
    """The variables of the loops around a block that its spatial variables do not depend on."""
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    spatial = {
        place.values[dim]
        for expr, kind in zip(place.exprs, block.kinds, strict=True)
        if kind.data != "reduce"
        for dim in expr.used_dims()
    }
    return set[SSAValue](each.var for each in loops_of(block)) - spatial


def _variables(block: BlockOp, loop: ForOp, touched: set[int]) -> _Variables:
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    made = _Variables([], [], [], [])
    positions: dict[SSAValue, int] = {}

    def add(kind: str, extent: Size, hint: str | None, binding: Place) -> AffineExpr:
        made.axes.append((kind, extent))
        made.hints.append(hint)
        made.bindings.append(binding)
        return AffineDimExpr(len(made.axes) - 1)

    def of_loop(each: ForOp, kind: str) -> None:
        if each.var not in positions:
            positions[each.var] = len(made.axes)
            add(kind, each.trip_count, f"v{name_of(each)}", Place((AffineDimExpr(0),), (each.var,)))

    of_loop(loop, "spatial")
    for number, (kind, extent) in enumerate(zip(block.kinds, block.domain, strict=True)):
        argument, expr = block.block.args[number], place.exprs[number]
        if number not in touched:
            own = add(kind.data, extent, argument.name_hint, Place((expr,), place.values))
            made.by.append((argument, own))
            continue
        used = {place.values[dim] for dim in expr.used_dims()}
        for each in loops_of(block):
            if each.var in used:
                of_loop(each, "reduce")
        dims = [AffineDimExpr(positions.get(value, 0)) for value in place.values]
        made.by.append((argument, expr.replace_dims_and_symbols(dims, ())))
    return made


def _partial(label: str, parts: _Reduction, loop: ForOp, partial: SSAValue, axis: int, touched: set[int]) -> BlockOp:
    """The block of partial results, to run where the reduction ran."""
    block = parts.block
    variables = _variables(block, loop, touched)
    guards = [Place(guard.results, tuple(block.indices)) for guard in block.guards]
    whole = joined(*variables.bindings, *guards)
    exprs = list(whole.exprs)
    maps = [tuple(exprs.pop(0) for _ in map) for map in (variables.axes, *(guard.exprs for guard in guards))]
    point, *where = [affine_map(len(whole.values), map) for map in maps]
    made = BlockOp.make(label, variables.axes, point, whole.values, where=where, hints=variables.hints)
    made.location, made.attributes = block.location, dict(block.attributes)
    arguments = tuple(made.block.args)
    by: Mapping[SSAValue, Place] = {
        argument: Place((expr,), arguments).simplified(units=True) for argument, expr in variables.by
    }
    ops, _ = copied(block.block.ops, by, {})
    made.block.add_ops(ops)
    for op in walk(made):
        if isinstance(op, LoadOp | StoreOp) and op.buffer is parts.store.buffer:
            _insert_axis(op, partial, axis, arguments[0])
    if all(kind != "reduce" for kind, _ in variables.axes):
        _keep_term(made)
    return made


def _keep_term(made: BlockOp) -> None:
    """`init: C_rf = start; C_rf = C_rf + term` -> `C_rf = term`, where there is one of them."""
    store, init = made.block.last_op, made.init
    ends = accumulation(store) if isinstance(store, StoreOp) else None
    assert ends is not None
    assert init is not None
    load, combined = ends
    (term,) = (operand for operand in combined.operands if operand is not load.result)
    combined.results[0].replace_all_uses_with(term)
    for op in (init, combined, load):
        drop(op, NAME, "a partial result is one term")


def _insert_axis(op: LoadOp | StoreOp, buffer: SSAValue, axis: int, value: SSAValue) -> None:
    """Let an access be one of a buffer with one more dim, at `value` there."""
    exprs = list(op.map.data.results)
    exprs.insert(axis, AffineDimExpr(len(op.indices)))
    values = [*op.indices, value]
    op.operands = [*op.operands, value]
    assert list(op.indices) == values
    move_access(op, buffer, exprs)


def _final(parts: _Reduction, loop: ForOp, partial: SSAValue, axis: int) -> tuple[Operation, BlockOp]:
    """The nest that combines the partial results, and its block."""
    block, reduced = parts.block, _reduce_loops(parts.block)
    around = [each for each in loops_of(block) if each is loop or each.var not in reduced]
    loops = ordered_loops([(name_of(each), known(each.trip_count)) for each in around])
    for new, old in zip(loops, around, strict=True):
        new.location = old.location
    fresh = {old.var: Place((AffineDimExpr(0),), (new.var,)) for new, old in zip(loops, around, strict=True)}
    spatial = [number for number, kind in enumerate(block.kinds) if kind.data != "reduce"]
    results = tuple(block.map.data.results[number] for number in spatial)
    guards = [
        place
        for guard in block.guards
        for expr in guard.results
        if not set((place := resolved(Place((expr,), tuple(block.indices)))).values) & reduced
    ]
    factor = Place((AffineDimExpr(0),), (loop.var,))
    whole = replaced(joined(factor, resolved(Place(results, tuple(block.indices))), *guards), fresh)
    count = len(spatial) + 1
    axes = [("reduce", loop.trip_count), *(("spatial", block.domain[number]) for number in spatial)]
    hints = [f"v{name_of(loop)}", *(block.block.args[number].name_hint for number in spatial)]
    made = BlockOp.make(
        block.label.data,
        axes,
        affine_map(len(whole.values), whole.exprs[:count]),
        whole.values,
        where=[affine_map(len(whole.values), whole.exprs[count:])] if guards else [],
        hints=hints,
    )
    made.location, made.attributes = block.location, dict(block.attributes)
    _fill(made, parts, partial, axis, spatial)
    if loops:
        loops[-1].block.add_op(made)
    return loops[0], made


def _fill(made: BlockOp, parts: _Reduction, partial: SSAValue, axis: int, spatial: Sequence[int]) -> None:
    """Add `init: C = start; C = C + C_rf`."""
    arguments = {
        parts.block.block.args[number]: Place((AffineDimExpr(0),), (argument,))
        for number, argument in zip(spatial, made.block.args[1:], strict=True)
    }
    own, _ = copied([parts.init, parts.load], arguments, {})
    made.block.add_ops(own)
    load = own[-1]
    assert isinstance(load, LoadOp)
    builder = LocatedBuilder(made.block, parts.store.location)
    term = load.clone()
    builder.add(term)
    _insert_axis(term, partial, axis, made.block.args[0])
    values: dict[SSAValue, SSAValue] = dict.fromkeys(parts.combined.operands, term.result)
    values[parts.load.result] = load.result
    total = parts.combined.clone(values)
    builder.add(total)
    (store,), _ = copied([parts.store], arguments, {parts.store.value: total.results[0]})
    builder.add(store)
