"""Conditions on blocks that several primitives have, and the removal of nests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import linear
from ...dialects.sizes import same_shape
from ...dialects.sizes.kernel import lifted
from ...dialects.tir import AllocOp, BlockOp, BufferType, ForOp, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ...passes.tir.analysis.accesses import root_of
from ...passes.tir.rewriting.ops import drop
from ...provenance.builder import LocatedBuilder
from ...provenance.walk import walk
from .accesses import block_of, name_of_buffer
from .bindings import Place, compact, maps_of, replace_value, resolved, set_maps
from .state import State, blocks_in, function_of, loops_of, refuse, steps_in


def tree_of(op: Operation) -> Operation:
    """The statement of the kernel's own block that an op is in."""
    func = function_of(op)
    while op.parent is not func.block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def position(op: Operation) -> int:
    """The number of the kernel's statement that an op is in."""
    return list(function_of(op).block.ops).index(tree_of(op))


def stores_of(func: PrimFuncOp, buffer: SSAValue) -> list[StoreOp]:
    """The stores to a buffer and to views of it, in order."""
    return [op for op in walk(func) if isinstance(op, StoreOp) and root_of(op.buffer) is buffer]


def loads_of(func: PrimFuncOp, buffer: SSAValue) -> list[LoadOp]:
    """The loads of a buffer and of views of it, in order."""
    return [op for op in walk(func) if isinstance(op, LoadOp) and root_of(op.buffer) is buffer]


def check_settled(primitive: str, block: BlockOp, buffers: Iterable[SSAValue], before: Operation) -> None:
    """Refuse where a buffer that a block reads is written at or behind the statement `before`."""
    func, limit = function_of(block), position(before)
    for buffer in buffers:
        for store in stores_of(func, buffer):
            if position(store) >= limit:
                text = f"expected {name_of_buffer(buffer)} to be complete before, got a store to it behind"
                refuse(primitive, text, block, *_named(block_of(store)))


def _named(block: BlockOp | None) -> list[Operation]:
    return [] if block is None else [block]


def check_own_values(primitive: str, block: BlockOp) -> None:
    """Refuse a block whose body uses values of the loops around it but by its variables."""
    func = function_of(block)
    inner = set(walk(block))
    for op in inner:
        for operand in op.operands if op is not block else ():
            owner = operand.owner
            own = owner in inner if isinstance(owner, Operation) else _inside(owner, block)
            top = owner.parent is func.block if isinstance(owner, Operation) else owner is func.block
            if not own and not top:
                refuse(primitive, "expected a body of its variables only, got one that uses a loop's variable", block)


def _inside(region_block: Block, block: BlockOp) -> bool:
    owner = region_block.parent_op()
    while owner is not None and owner is not block:
        owner = owner.parent_op()
    return owner is block


def the_store(primitive: str, block: BlockOp) -> StoreOp:
    """The one store of a block of loads, arithmetic and that store. Raises ScheduleError for another body."""
    stores = [op for op in block.block.ops if isinstance(op, StoreOp)]
    if block.init is not None:
        text = "expected a block that stores each element once, got a reduction"
        refuse(primitive, text, block, remedy=f'compute_at("{block.label.data}", ..)')
    if len(stores) != 1 or stores[0] is not block.block.last_op or any(op.regions for op in block.block.ops):
        refuse(primitive, f"expected a block of one store at its end, got {len(stores)} stores or loops", block)
    if any(kind.data != "spatial" for kind in block.kinds):
        refuse(primitive, "expected spatial variables only, got others", block)
    check_own_values(primitive, block)
    return stores[0]


def intermediate(primitive: str, block: BlockOp, store: StoreOp) -> AllocOp:
    """The allocation of what a block stores, whose one writer it is. Raises ScheduleError otherwise."""
    name = name_of_buffer(store.buffer)
    if not isinstance(owner := store.buffer.owner, AllocOp):
        refuse(primitive, f"expected an intermediate buffer, got {name}, an argument, of an output block", block)
    others = [op for op in stores_of(function_of(block), store.buffer) if not block.is_ancestor(op)]
    if others:
        refuse(primitive, f"expected {name} to have one writer, got another", block, *_named(block_of(others[0])))
    uses = (use.operation for use in store.buffer.uses)
    if wrong := next((op for op in uses if not isinstance(op, LoadOp | StoreOp)), None):
        refuse(primitive, f"expected loads and stores of {name}, got {wrong.name}", block)
    return owner


def is_argument(buffer: SSAValue) -> bool:
    """Return whether a buffer is an argument of the kernel."""
    return not isinstance(buffer.owner, Operation)


def plain_dims(block: BlockOp, op: LoadOp | StoreOp) -> list[int] | None:
    """The variables that are the indices of an access, one each; None for others, one twice, and those of a view."""
    if root_of(op.buffer) is not op.buffer:
        return None
    written = Place(op.map.data.results, tuple(op.indices))
    simple = written.simplified()
    dims: list[int] = []
    for own, simplified in zip(written.exprs, simple.exprs, strict=True):
        # A variable of one value is simplified to a number.
        place, expr = (written, own) if isinstance(own, AffineDimExpr) else (simple, simplified)
        if not isinstance(expr, AffineDimExpr):
            return None
        value = place.values[expr.position]
        if value not in block.block.args or (number := block.block.args.index(value)) in dims:
            return None
        dims.append(number)
    return dims


def is_whole(block: BlockOp, op: LoadOp | StoreOp) -> bool:
    """Return whether an access is at distinct variables that run over the whole buffer, all spatial ones among them."""
    dims = plain_dims(block, op)
    if dims is None or not same_shape([block.domain[d] for d in dims], buffer_of(op.buffer).get_shape()):
        return False
    spatial = {number for number, kind in enumerate(block.kinds) if kind.data == "spatial"}
    return set(dims) == spatial


def covers(block: BlockOp) -> bool:
    """Return whether the loops around a block surely run it at all points of its domain."""
    parent = block.parent_op()
    while not isinstance(parent, PrimFuncOp):
        if not isinstance(parent, ForOp) or not parent.is_known:
            return False
        parent = parent.parent_op()
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    if not all(isinstance(extent, int) for extent in block.domain):
        return False
    rooms = {str(Place((_room(expr, extent),), place.values).simplified()) for expr, extent in _points(block, place)}
    for guard in block.guards:
        for expr in guard.results:
            if str(resolved(Place((expr,), tuple(block.indices)))) not in rooms:
                return False
    used = [set[int](expr.used_dims()) for expr in place.exprs]
    if sum(map(len, used)) == len(set[int]().union(*used)):
        return all(_reaches(expr, place, extent) for expr, extent in _points(block, place))
    total: AffineExpr = AffineConstantExpr(0)
    size = 1
    for expr, extent in _points(block, place):
        total = total * lifted(extent) + expr
        size *= extent
    return not block.guards and _reaches(total, place, size)


def _points(block: BlockOp, place: Place) -> list[tuple[AffineExpr, int]]:
    return [(expr, extent) for expr, extent in zip(place.exprs, block.domain, strict=True) if isinstance(extent, int)]


def _room(expr: AffineExpr, extent: int) -> AffineExpr:
    return expr * -1 + (extent - 1)


def _reaches(expr: AffineExpr, place: Place, extent: int) -> bool:
    """Return whether an expression takes all values from 0 below `extent`."""
    form = linear(expr, place.ranges)
    parts: list[tuple[int, int]] = []
    for atom, factor in form.terms:
        if not isinstance(atom, AffineDimExpr) or not isinstance(factor, int) or factor < 0:
            return False
        high = place.ranges[atom.position][1]
        if not isinstance(high, int):
            return False
        parts.append((factor, high))
    reach = 0
    for factor, high in sorted(parts):
        if factor > reach + 1:
            return False
        reach += factor * high
    return form.constant == 0 and reach >= extent - 1


def own_nest(primitive: str, block: BlockOp) -> Operation:
    """The statement of the kernel that holds a block and nothing else. Raises ScheduleError otherwise."""
    tree = tree_of(block)
    if tree is not block and blocks_in(tree) != [block]:
        text = f"expected a complete block in a nest of its own, got other blocks beside {block.label.data}"
        refuse(primitive, text, block)
    for loop in loops_of(block):
        if len(steps_in(loop)) != 1:
            refuse(primitive, "expected loops without other statements around the block, got some", block, loop)
    if len(loops_of(block)) != sum(1 for op in walk(tree) if isinstance(op, ForOp)) - _loops_inside(block):
        refuse(primitive, "expected loops only around the block, got others", block)
    return tree


def _loops_inside(block: BlockOp) -> int:
    return sum(isinstance(op, ForOp) for op in walk(block))


def remove_nest(state: State, primitive: str, block: BlockOp, *, gone: bool) -> None:
    """Take a block out of its loops, and away those that hold nothing else then. gone: the block goes, too."""
    loops = loops_of(block)
    if gone:
        state.consume(primitive, block)
        drop(block, primitive, "it is computed elsewhere")
    else:
        block.detach()
    for loop in reversed(loops):
        if steps_in(loop):
            break
        state.consume(primitive, loop)
        drop(loop, primitive, "nothing is left in it")


def ordered_loops(extents: Sequence[tuple[str, int]]) -> list[ForOp]:
    """New loops in one another, by name and extent."""
    loops = [ForOp.make(extent, hint=name) for name, extent in extents]
    for outer, inner in pairwise(loops):
        outer.block.add_op(inner)
    return loops


def copied(
    ops: Iterable[Operation], by: Mapping[Any, Place], known: Mapping[Any, SSAValue], state: State | None = None
) -> tuple[list[Operation], dict[SSAValue, SSAValue]]:
    """Copies of ops where index values are expressions, and the values that stand for theirs.

    known: values that stand for some; an op that gives nothing else is left out. state: its handles of what is in the
    ops become handles of the copies.
    """
    originals = list(ops)
    stand_ins = Block(arg_types=[value.type for value in by])
    values = {**known, **dict(zip(by, stand_ins.args, strict=True))}
    scratch, numbers = Block(), Block()
    for op in originals:
        if op.results and all(result in known for result in op.results):
            continue
        scratch.add_op(made := op.clone(values))
        values.update(zip(op.results, made.results, strict=True))
        if state is not None:
            for old, new in zip(walk(op), walk(made), strict=True):
                state.move(old, new)
    for own, place in zip(stand_ins.args, by.values(), strict=True):
        replace_value(own, place, LocatedBuilder(numbers, originals[0].location))
    made = [*numbers.ops, *scratch.ops]
    for op in made:
        op.detach()
    return made, values


def move_access(op: LoadOp | StoreOp, buffer: SSAValue, exprs: Sequence[AffineExpr]) -> None:
    """Let an access be one of another buffer, at expressions over its indices."""
    buffers = [operand for operand in op.operands if operand is op.buffer]
    assert buffers
    values, (_, *guards) = tuple(op.indices), maps_of(op)
    op.operands = [buffer if operand is op.buffer else operand for operand in op.operands]
    set_maps(op, values, [exprs, *guards])
    compact(op)


def allocated(block: BlockOp, name: str, type_: BufferType, scope: str = "") -> SSAValue:
    """A new buffer behind those at the top of a block's kernel, for which somebody asked a scope."""
    alloc = AllocOp(type_, scope)
    alloc.location = block.location
    alloc.result.name_hint = name
    func = function_of(block)
    place = func.block.first_op
    assert place is not None
    while isinstance(place.next_op, AllocOp):
        place = place.next_op
    if isinstance(place, AllocOp):
        func.block.insert_op_after(alloc, place)
    else:
        func.block.insert_op_before(alloc, place)
    return alloc.result
