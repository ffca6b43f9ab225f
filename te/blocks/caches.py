"""cache_read and cache_write: a copy of a buffer that a block reads, or of what it writes."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.sizes.kernel import affine_map, known
from ...dialects.tir import AllocOp, BlockOp, BufferType, LoadOp, StoreOp, buffer_of
from ...provenance.builder import LocatedBuilder
from ...provenance.walk import walk
from .accesses import block_of, buffers_of, name_of_buffer
from .bodies import covers, is_argument, is_whole, loads_of, ordered_loops, position, stores_of, tree_of
from .state import State, function_of, refuse

SCOPES = ("global", "shared", "local")


def buffer_at(primitive: str, block: BlockOp, index: object, *, writes: bool) -> SSAValue:
    """The buffer of a number or name among those that a block reads or writes."""
    buffers = buffers_of(block, writes=writes)
    what = "writes" if writes else "reads"
    names = [name_of_buffer(buffer) for buffer in buffers]
    if isinstance(index, str) and names.count(index) == 1:
        return buffers[names.index(index)]
    if isinstance(index, int) and 0 <= index < len(buffers):
        return buffers[index]
    listed = ", ".join(f"{number} {name}" for number, name in enumerate(names)) or "none"
    refuse(primitive, f"expected a buffer that the block {what} ({listed}), got {index!r}", block)


def check_scope(primitive: str, scope: str, block: BlockOp) -> None:
    """Refuse a storage scope that there is not."""
    if scope not in SCOPES:
        refuse(primitive, f"expected a storage scope among {', '.join(SCOPES)}, got {scope}", block)


def _copy(state: State, label: str, source: SSAValue, target: SSAValue, builder: LocatedBuilder) -> BlockOp:
    """Add a nest that copies a buffer."""
    shape = buffer_of(source).get_shape()
    loops = ordered_loops([(f"ax{dim}", known(extent)) for dim, extent in enumerate(shape)])
    dims = tuple[AffineExpr, ...](AffineDimExpr(dim) for dim in range(len(shape)))
    identity = affine_map(len(shape), dims)
    hints = [f"v{dim}" for dim in range(len(shape))]
    axes = [("spatial", extent) for extent in shape]
    block = BlockOp.make(state.fresh(label), axes, identity, [loop.var for loop in loops], hints=hints)
    inner = LocatedBuilder(block.block, builder.location)
    value = inner.add(LoadOp.make(source, identity, block.block.args)).result
    inner.add(StoreOp.make(value, target, identity, block.block.args))
    if loops:
        loops[-1].block.add_op(block)
    builder.add(loops[0] if loops else block)
    return block


def _allocated(block: BlockOp, like: SSAValue, scope: str) -> SSAValue:
    """Return a new buffer like another, at the top of the kernel."""
    type_ = buffer_of(like)
    alloc = AllocOp(BufferType(type_.shape, type_.element_type, type_.scope))
    alloc.location = block.location
    alloc.result.name_hint = f"{name_of_buffer(like)}_{scope}"
    func = function_of(block)
    first = func.block.first_op
    assert first is not None
    func.block.insert_op_before(alloc, first)
    return alloc.result


def _placed(
    block: BlockOp, tree: Operation, *, behind: bool, state: State, label: str, pair: tuple[SSAValue, SSAValue]
) -> BlockOp:
    """Add a nest that copies one buffer of a pair to the other before or behind a statement."""
    scratch = Block()
    made = _copy(state, label, *pair, LocatedBuilder(scratch, block.location))
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


def cache_read(state: State, block: BlockOp, index: object, scope: str, consumers: list[BlockOp]) -> BlockOp:
    """`C += A[..]` -> `A_local = A; C += A_local[..]`. Raises ScheduleError where A changes in between."""
    buffer = buffer_at("cache_read", block, index, writes=False)
    check_scope("cache_read", scope, block)
    func, name = function_of(block), name_of_buffer(buffer)
    readers = [load for load in loads_of(func, buffer) if not consumers or block_of(load) in consumers]
    trees = [tree_of(load) for load in readers]
    first = min(trees, key=position)
    for store in stores_of(func, buffer):
        if position(store) >= position(first):
            writer = block_of(store)
            text = f"expected {name} to be complete before it is read first, got a store to it there or behind"
            refuse("cache_read", text, block, *([writer] if writer is not None else []))
    if not buffer_of(buffer).is_static:
        refuse("cache_read", f"expected a buffer of known extents, got {buffer_of(buffer)}", block)
    cache = _allocated(block, buffer, scope)
    pair = (buffer, cache)
    made = _placed(block, first, behind=False, state=state, label=f"{name}_{scope}", pair=pair)
    for load in readers:
        load.operands = [cache if operand is buffer else operand for operand in load.operands]
    return made


def cache_write(state: State, block: BlockOp, index: object, scope: str) -> BlockOp:
    """`C = ..` -> `C_local = ..; C = C_local`. Raises ScheduleError where others write C, or read it in the nest."""
    buffer = buffer_at("cache_write", block, index, writes=True)
    check_scope("cache_write", scope, block)
    func, name = function_of(block), name_of_buffer(buffer)
    own = [op for op in walk(block) if isinstance(op, LoadOp | StoreOp) and op.buffer is buffer]
    accesses: list[LoadOp | StoreOp] = [*stores_of(func, buffer), *loads_of(func, buffer)]
    for op in accesses:
        if op in own:
            continue
        other = block_of(op)
        if isinstance(op, StoreOp) or position(op) <= position(block):
            what = "a store to it by another block" if isinstance(op, StoreOp) else "a read of it in the nest or before"
            text = f"expected {name} to be this block's own, got {what}"
            refuse("cache_write", text, block, *([other] if other is not None else []))
    if not buffer_of(buffer).is_static:
        refuse("cache_write", f"expected a buffer of known extents, got {buffer_of(buffer)}", block)
    stores = [op for op in own if isinstance(op, StoreOp)]
    if is_argument(buffer) and not (covers(block) and all(is_whole(block, op) for op in stores)):
        refuse("cache_write", f"expected a block that stores all of {name}, got one of parts of it", block)
    if block.init is None and any(isinstance(op, LoadOp) for op in own):
        refuse("cache_write", f"expected a block that does not begin with what is in {name}, got one that does", block)
    cache = _allocated(block, buffer, scope)
    pair = (cache, buffer)
    made = _placed(block, tree_of(block), behind=True, state=state, label=f"{name}_{scope}", pair=pair)
    for op in own:
        op.operands = [cache if operand is buffer else operand for operand in op.operands]
    return made
