"""Intermediate buffers of which each pass of a loop has one of its own, so that passes may run at once."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.affine import linear
from ...dialects.sizes.kernel import known, lifted
from ...dialects.tir import AllocOp, BlockOp, BufferType, ForOp, LoadOp, StoreOp, buffer_of
from ...dialects.tir.buffer import STACK_LIMIT
from ...passes.tir.analysis.dependence import carried
from ...passes.tir.compact_buffers import compacted
from .accesses import block_of, name_of_buffer
from .bindings import Place, joined, place_of, resolved
from .bodies import is_whole
from .legality import check_parallel, extent_of, inside
from .state import loops_of, refuse


def check_at_once(primitive: str, loop: ForOp) -> None:
    """Let passes of a loop run at once: buffers that are of one pass alone become local to it.

    Raises ScheduleError where passes still depend on each other, and for buffers that are larger than a stack holds.
    """
    while (conflict := carried(loop).conflict) is not None:
        buffer = conflict.first.buffer
        if not is_private(buffer, loop):
            break
        _make_local(primitive, buffer, loop)
    check_parallel(primitive, loop)


def _make_local(primitive: str, buffer: SSAValue, loop: ForOp) -> None:
    """Allocate a buffer in each pass of a loop; `tir-compact-buffers` makes it as large as what a pass uses."""
    alloc, type_ = buffer.owner, buffer_of(buffer)
    assert isinstance(alloc, AllocOp)
    used = compacted(alloc, loop)
    if known(used.nbytes) > STACK_LIMIT:
        text = f"expected at most {STACK_LIMIT} bytes of {name_of_buffer(buffer)} in each pass, got {used.nbytes}"
        refuse(primitive, text, loop)
    made = AllocOp(BufferType.of(type_.get_shape(), type_.element_type, "local"))
    made.location, made.result.name_hint = alloc.location, buffer.name_hint
    first = loop.block.first_op
    assert first is not None
    loop.block.insert_op_before(made, first)
    buffer.replace_all_uses_with(made.result)
    alloc.detach()
    alloc.erase()


def is_private(buffer: SSAValue, loop: ForOp) -> bool:
    """Return whether each pass of a loop reads elements of an intermediate that it has stored before, and no others."""
    ops = list(dict.fromkeys(use.operation for use in buffer.uses))
    if not isinstance(buffer.owner, AllocOp) or not buffer_of(buffer).is_static:
        return False
    if not all(isinstance(op, LoadOp | StoreOp) and loop.is_ancestor(op) for op in ops):
        return False
    writers = list(dict.fromkeys(block_of(op) for op in ops if isinstance(op, StoreOp)))
    writer = writers[0] if len(writers) == 1 else None
    if writer is None:
        return False
    own = [op for op in ops if isinstance(op, LoadOp | StoreOp) and writer.is_ancestor(op)]
    if not all(is_whole(writer, op) for op in own) or len({place_of(op) for op in own}) != 1:
        return False
    if writer.init is None and any(isinstance(op, LoadOp) for op in own):
        return False
    others = [op for op in ops if isinstance(op, LoadOp) and not writer.is_ancestor(op)]
    return all(_feeds(writer, own[0], load, loop) for load in others)


def _feeds(writer: BlockOp, own: LoadOp | StoreOp, load: LoadOp, loop: ForOp) -> bool:
    """Return whether a block stores, in each pass of a loop, all elements that a load behind it reads in that pass."""
    common = next((each for each in reversed([*loops_of(writer)]) if each.is_ancestor(load)), None)
    if common is None or not (common is loop or loop.is_ancestor(common)) or not _before(writer, load, common):
        return False
    free = inside(common)
    if not all(set(_binding(writer, n).values) <= free for n, kind in enumerate(writer.kinds) if kind.data == "reduce"):
        return False
    store, read = place_of(own), place_of(load)
    if not _runs_everywhere(writer, common):
        return False
    used = [{store.values[dim] for dim in expr.used_dims()} & free for expr in store.exprs]
    if sum(map(len, used)) != len(set[SSAValue]().union(*used)):
        return False
    return all(
        _covers(Place((mine,), store.values), Place((other,), read.values), free)
        for mine, other in zip(store.exprs, read.exprs, strict=True)
    )


def _before(first: Operation, second: Operation, common: ForOp) -> bool:
    """Return whether the statement of a loop that an op is in is before the one of another op."""
    statements = list(common.block.ops)
    one, other = (next(n for n, op in enumerate(statements) if op.is_ancestor(each)) for each in (first, second))
    return one < other


def _runs_everywhere(writer: BlockOp, common: ForOp) -> bool:
    """Return whether loops run a block in each pass of `common`, but for what is beyond the buffer's ends."""
    around: list[Operation] = [writer]
    while around[-1] is not common:
        parent = around[-1].parent_op()
        if not isinstance(parent, ForOp) or not parent.is_run():
            return False
        around.append(parent)
    rooms = {
        str(Place((expr,), place.values).simplified())
        for place, extent in ((_binding(writer, number), extent) for number, extent in enumerate(writer.domain))
        for expr in (place.exprs[0], place.exprs[0] * -1 + lifted(extent - 1))
    }
    point = tuple(writer.indices)
    guards = [str(resolved(Place((expr,), point))) for guard in writer.guards for expr in guard.results]
    return len(writer.guards) <= 1 and set(guards) <= rooms


def _binding(block: BlockOp, number: int) -> Place:
    return resolved(Place((block.map.data.results[number],), tuple(block.indices)))


def _covers(stored: Place, read: Place, free: set[SSAValue]) -> bool:
    """Return whether the values of one index, as loops run, are all among those of another."""
    own, other = extent_of(stored, free), extent_of(read, free)
    if own is None or other is None or not _is_dense(stored, free):
        return False
    apart = joined(other[0], own[0])
    form = linear(apart.exprs[0] + apart.exprs[1] * -1, apart.ranges)
    return not form.terms and isinstance(form.constant, int) and 0 <= form.constant <= own[1] - other[1]


def _is_dense(place: Place, free: set[SSAValue]) -> bool:
    """Return whether an index takes all values between its first and its last one."""
    reach = 0
    parts: list[tuple[int, int]] = []
    for atom, factor in linear(place.exprs[0], place.ranges).terms:
        if {place.values[dim] for dim in atom.used_dims()} & free:
            high = place.ranges[atom.position][1] if isinstance(atom, AffineDimExpr) else None
            if not isinstance(factor, int) or factor < 0 or not isinstance(high, int):
                return False
            parts.append((factor, high))
    for factor, high in sorted(parts):
        if factor > reach + 1:
            return False
        reach += factor * high
    return True
