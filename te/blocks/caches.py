"""cache_read and cache_write: a copy of a buffer that a block reads, or of what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.sizes import Size
from ...dialects.sizes.kernel import affine_map, known
from ...dialects.tir import AllocOp, BlockOp, BufferType, DeclBufferOp, ForOp, LoadOp, StoreOp, buffer_of
from ...provenance.builder import LocatedBuilder
from ...provenance.walk import walk
from ...support.errors import ScheduleError
from .accesses import block_of, buffers_of, name_of_buffer
from .bindings import compact
from .bodies import allocated, covers, is_argument, is_whole, loads_of, ordered_loops, position, stores_of, tree_of
from .state import State, function_of, name_of, refuse

SCOPES = ("global", "shared", "local")


def buffer_at(primitive: str, block: BlockOp, index: object, *, writes: bool) -> SSAValue:
    """The buffer of a number or name among those that a block reads or writes."""
    buffers = buffers_of(block, writes=writes)
    what = "writes" if writes else "reads"
    names = [name_of_buffer(buffer) for buffer in buffers]
    if isinstance(index, str) and names.count(index) == 1:
        return _of_kernel(primitive, block, buffers[names.index(index)])
    if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(buffers):
        return _of_kernel(primitive, block, buffers[index])
    listed = ", ".join(f"{number} {name}" for number, name in enumerate(names)) or "none"
    refuse(primitive, f"expected a buffer that the block {what} ({listed}), got {index!r}", block)


def numbered(block: BlockOp, index: object, *, writes: bool) -> object:
    """The number of a buffer that a block reads or writes, where a name says which; anything else is returned."""
    names = [name_of_buffer(buffer) for buffer in buffers_of(block, writes=writes)]
    return names.index(index) if isinstance(index, str) and names.count(index) == 1 else index


def _of_kernel(primitive: str, block: BlockOp, buffer: SSAValue) -> SSAValue:
    """Refuse a buffer of which each pass of a loop has its own, and one that is accessed through views."""
    views = [use.operation for use in buffer.uses if isinstance(use.operation, DeclBufferOp)]
    if views:
        name, other = name_of_buffer(buffer), block_of(views[0])
        text = f"expected accesses of {name} itself, got a view of it"
        refuse(primitive, text, block, *([other] if other is not None else []), remedy=f"{primitive} before")
    loop = buffer.owner.parent_op() if isinstance(buffer.owner, Operation) else None
    if isinstance(loop, ForOp):
        text = (
            f"expected a buffer of the whole kernel, got {name_of_buffer(buffer)}, one of each pass of {name_of(loop)}"
        )
        refuse(primitive, text, block, loop, remedy=f"{primitive} before")
    return buffer


def check_scope(primitive: str, scope: str, block: BlockOp) -> None:
    """Refuse a storage scope that there is not."""
    if scope not in SCOPES:
        refuse(primitive, f"expected a storage scope among {', '.join(SCOPES)}, got {scope}", block)


class Side(NamedTuple):
    """A buffer that is copied from or to, and the element at the variables of the copy."""

    buffer: SSAValue
    exprs: tuple[AffineExpr, ...]


def identity(count: int) -> tuple[AffineExpr, ...]:
    """The expressions of `count` variables themselves."""
    return tuple(AffineDimExpr(dim) for dim in range(count))


def whole(buffer: SSAValue) -> Side:
    """A buffer, at the variables themselves."""
    return Side(buffer, identity(len(buffer_of(buffer).shape)))


def _copy(label: str, shape: Sequence[Size], source: Side, target: Side, builder: LocatedBuilder) -> BlockOp:
    """Add a nest over a shape that copies elements."""
    rank = len(shape)
    loops = ordered_loops([(f"ax{dim}", known(extent)) for dim, extent in enumerate(shape)])
    hints = [f"v{dim}" for dim in range(rank)]
    axes = [("spatial", extent) for extent in shape]
    block = BlockOp.make(label, axes, affine_map(rank, identity(rank)), [loop.var for loop in loops], hints=hints)
    inner = LocatedBuilder(block.block, builder.location)
    load = inner.add(LoadOp.make(source.buffer, affine_map(rank, source.exprs), block.block.args))
    store = inner.add(StoreOp.make(load.result, target.buffer, affine_map(rank, target.exprs), block.block.args))
    compact(load)
    compact(store)
    if loops:
        loops[-1].block.add_op(block)
    builder.add(loops[0] if loops else block)
    return block


def _cache(block: BlockOp, like: SSAValue, scope: str) -> SSAValue:
    """Return a new buffer like another, at the top of the kernel."""
    type_ = BufferType.of(buffer_of(like).get_shape(), buffer_of(like).element_type)
    return allocated(block, f"{name_of_buffer(like)}_{scope}", type_, scope)


def copy_beside(
    block: BlockOp, tree: Operation, label: str, shape: Sequence[Size], source: Side, target: Side, *, behind: bool
) -> BlockOp:
    """Add a nest that copies elements for a block before or behind a statement, and return its block."""
    scratch = Block()
    made = _copy(label, shape, source, target, LocatedBuilder(scratch, block.location))
    nest = scratch.first_op
    assert nest is not None
    nest.detach()
    parent = tree.parent
    assert parent is not None
    if behind:
        parent.insert_op_after(nest, tree)
    else:
        parent.insert_op_before(nest, tree)
    return made


def check_complete(primitive: str, block: BlockOp, buffer: SSAValue, tree: Operation) -> None:
    """Refuse where a buffer is written at a statement or behind, or has open extents."""
    name = name_of_buffer(buffer)
    for store in stores_of(function_of(block), buffer):
        if position(store) >= position(tree):
            writer = block_of(store)
            text = f"expected {name} to be complete before it is read first, got a store to it there or behind"
            refuse(primitive, text, block, *([writer] if writer is not None else []))
    if not buffer_of(buffer).is_static:
        refuse(primitive, f"expected a buffer of known extents, got {buffer_of(buffer)}", block)


def cache_read(state: State, block: BlockOp, index: object, scope: str, consumers: list[BlockOp]) -> BlockOp:
    """`C += A[..]` -> `A_local = A; C += A_local[..]`. Raises ScheduleError where A changes in between."""
    buffer = buffer_at("cache_read", block, index, writes=False)
    check_scope("cache_read", scope, block)
    func, name = function_of(block), name_of_buffer(buffer)
    readers = [load for load in loads_of(func, buffer) if not consumers or block_of(load) in consumers]
    if not readers:
        labels = ", ".join(each.label.data for each in consumers)
        refuse("cache_read", f"expected consumers that read {name}, got {labels}", block, *consumers)
    trees = [tree_of(load) for load in readers]
    first = min(trees, key=position)
    check_complete("cache_read", block, buffer, first)
    cache = _cache(block, buffer, scope)
    shape, label = buffer_of(buffer).get_shape(), state.fresh(f"{name}_{scope}")
    made = copy_beside(block, first, label, shape, whole(buffer), whole(cache), behind=False)
    for load in readers:
        load.operands = [cache if operand is buffer else operand for operand in load.operands]
    return made


def accesses_by(block: BlockOp, buffer: SSAValue) -> list[LoadOp | StoreOp]:
    """The accesses of a buffer by a block."""
    return [op for op in walk(block) if isinstance(op, LoadOp | StoreOp) and op.buffer is buffer]


def check_own(primitive: str, block: BlockOp, buffer: SSAValue) -> list[LoadOp | StoreOp]:
    """The accesses of a buffer by the block that writes it whole, in one go.

    Raises ScheduleError where other blocks store to it, or read it in the nest of this one or before, where it has open
    extents, and where the block does not write all of an argument.
    """
    name, own, func = name_of_buffer(buffer), accesses_by(block, buffer), function_of(block)
    accesses: list[LoadOp | StoreOp] = [*stores_of(func, buffer), *loads_of(func, buffer)]
    for op in accesses:
        if op not in own and (isinstance(op, StoreOp) or position(op) <= position(block)):
            other = block_of(op)
            what = "a store to it by another block" if isinstance(op, StoreOp) else "a read of it in the nest or before"
            text = f"expected {name} to be this block's own, got {what}"
            refuse(primitive, text, block, *([other] if other is not None else []))
    if not buffer_of(buffer).is_static:
        refuse(primitive, f"expected a buffer of known extents, got {buffer_of(buffer)}", block)
    stores = [op for op in own if isinstance(op, StoreOp)]
    if is_argument(buffer) and not (covers(block) and all(is_whole(block, op) for op in stores)):
        refuse(primitive, f"expected a block that stores all of {name}, got one of parts of it", block)
    if block.init is None and any(isinstance(op, LoadOp) for op in own):
        refuse(primitive, f"expected a block that does not begin with what is in {name}, got one that does", block)
    return own


def cache_write(state: State, block: BlockOp, index: object, scope: str) -> BlockOp:
    """`C = ..` -> `C_local = ..; C = C_local`. Raises ScheduleError where others write C, or read it in the nest."""
    buffer = buffer_at("cache_write", block, index, writes=True)
    check_scope("cache_write", scope, block)
    own = check_own("cache_write", block, buffer)
    cache = _cache(block, buffer, scope)
    shape, label = buffer_of(buffer).get_shape(), state.fresh(f"{name_of_buffer(buffer)}_{scope}")
    made = copy_beside(block, tree_of(block), label, shape, whole(cache), whole(buffer), behind=True)
    for op in own:
        op.operands = [cache if operand is buffer else operand for operand in op.operands]
    return made


def set_scope(block: BlockOp, index: object, scope: str) -> None:
    """`C` -> `C_local`, of the scope local. An argument, which is global, has no other: ScheduleError."""
    buffer = buffer_at("set_scope", block, index, writes=True)
    check_scope("set_scope", scope, block)
    name = name_of_buffer(buffer)
    if is_argument(buffer):
        if scope == "global":
            return
        remedy = f'cache_write("{block.label.data}", {index!r}, "{scope}")'
        refuse(
            "set_scope", f"expected an intermediate buffer, got {name}, an argument of the kernel", block, remedy=remedy
        )
    owner = buffer.owner
    assert isinstance(owner, AllocOp)
    buffer.name_hint = f"{name}_{scope}"
    made = AllocOp(buffer_of(buffer), scope)
    owner.properties.clear()
    owner.properties.update(made.properties)


def kind_and_index(primitive: str, buffer: object) -> tuple[str, object]:
    """`read` or `write`, "" for either, and the number or name of a buffer, of what users pass for one."""
    if isinstance(buffer, str):
        return "", buffer
    pair = list(cast("Sequence[object]", buffer)) if isinstance(buffer, list | tuple) else []
    kind, index = pair if len(pair) == 2 else ("", None)
    if kind not in ("read", "write"):
        text = f'expected ("read", number), ("write", number) or the name of a buffer, got {buffer!r}'
        raise ScheduleError(f"{primitive}: {text}")
    return str(kind), index


def is_written(block: BlockOp, name: object) -> bool:
    """Return whether a block writes a buffer of a name."""
    return name in [name_of_buffer(buffer) for buffer in buffers_of(block, writes=True)]
