"""pad_einsum and decompose_padding: sums over rounded extents, and padding apart from what it surrounds."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import linear
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import affine_map, known, size_attribute
from ...dialects.tir import BlockOp, BufferType, ForOp, LoadOp, StoreOp, buffer_of
from ...passes.tir.analysis.dependence import accumulation
from ...passes.tir.rewriting.constants import constant, zero
from ...passes.tir.rewriting.ops import drop
from ...provenance.builder import LocatedBuilder
from ...provenance.walk import walk
from .accesses import buffers_of, name_of_buffer
from .bindings import Place, compact, resolved
from .bodies import (
    allocated,
    check_own_values,
    copied,
    covers,
    is_whole,
    ordered_loops,
    own_nest,
    plain_dims,
    tree_of,
)
from .caches import check_complete, check_own, copy_beside, whole
from .loops import check_plain
from .state import State, loops_of, name_of, refuse

PAD_EINSUM, DECOMPOSE_PADDING = "pad_einsum", "decompose_padding"
_PRODUCTS = arith.MulfOp | arith.MuliOp | arith.ExtFOp | arith.ExtSIOp | arith.ExtUIOp
"""The ops that give 0 where all that they take is 0."""


def pad_einsum(state: State, block: BlockOp, padding: Sequence[int]) -> None:
    """`C[i] += A[i, k]` -> `A_pad = A, 0 around; C_pad[i] += A_pad[i, k]; C = C_pad`, of extents rounded up.

    padding: for each variable the number of which its extent becomes a multiple. Raises ScheduleError for another count
    of them, and for a block that is no sum of products at plain indices.
    """
    domain = _check_einsum(block, padding)
    wider = [-(-extent // step) * step for extent, step in zip(domain, padding, strict=True)]
    tree = own_nest(PAD_EINSUM, block)
    loops = _loops_by_variable(block)
    accesses = [op for op in walk(block) if isinstance(op, LoadOp | StoreOp)]
    dims_of = {op: plain_dims(block, op) or [] for op in accesses}
    written = buffers_of(block, writes=True)
    for buffer in [*buffers_of(block, writes=False), *written]:
        own = [op for op in accesses if op.buffer is buffer]
        # Two places of one buffer may be of different variables.
        places = [dims_of[op] for op in own]
        shape = [max(wider[dims[n]] for dims in places) for n in range(len(places[0]))]
        if shape == list(buffer_of(buffer).get_shape()):
            continue
        made = allocated(block, f"{name_of_buffer(buffer)}_pad", BufferType.of(shape, buffer_of(buffer).element_type))
        label = state.fresh(f"{name_of_buffer(buffer)}_pad")
        if buffer in written:
            copy_beside(block, tree, label, buffer_of(buffer).get_shape(), whole(made), whole(buffer), behind=True)
        else:
            copy = copy_beside(block, tree, label, shape, whole(buffer), whole(made), behind=False)
            _guard_read(copy, buffer)
        for op in own:
            op.operands = [made if operand is buffer else operand for operand in op.operands]
    block.properties["extents"] = ArrayAttr([size_attribute(extent) for extent in wider])
    for loop, extent in zip(loops, wider, strict=True):
        loop.properties["extent"] = size_attribute(extent)


def _guard_read(copy: BlockOp, buffer: SSAValue) -> None:
    """Let a copy have 0 beyond the buffer that it reads."""
    load = next(op for op in copy.block.ops if isinstance(op, LoadOp))
    guards: list[AffineExpr] = [
        AffineDimExpr(dim) * -1 + (known(extent) - 1)
        for dim, (extent, own) in enumerate(zip(buffer_of(buffer).get_shape(), copy.domain, strict=True))
        if own != extent
    ]
    rank = len(copy.domain)
    load.properties["guard"] = AffineMapAttr(affine_map(rank, tuple(guards)))
    load.properties["otherwise"] = zero(load.result.type)


def _check_einsum(block: BlockOp, padding: Sequence[int]) -> list[int]:
    """The extents of a block. Raises ScheduleError where padding it may change its values."""
    count = len(block.domain)
    if len(padding) != count or any(step < 1 for step in padding):
        text = f"expected a positive number for each of {count} variables, got {list(padding)}"
        refuse(PAD_EINSUM, text, block, remedy=f"padding={[1] * count}")
    check_own_values(PAD_EINSUM, block)
    if not covers(block) or block.guards or not all(isinstance(extent, int) for extent in block.domain):
        refuse(PAD_EINSUM, "expected a block that runs at all of its points, got another", block)
    stores = [op for op in block.block.ops if isinstance(op, StoreOp)]
    ends = accumulation(stores[-1]) if stores else None
    if block.init is None or ends is None or not isinstance(ends[1], arith.AddfOp | arith.AddiOp):
        refuse(PAD_EINSUM, "expected a sum that starts with tir.init, got another block", block)
    load, combined = ends
    loads = [op for op in block.block.ops if isinstance(op, LoadOp) and op is not load]
    for op in block.block.ops:
        if op not in (*stores, load, combined, *loads, block.init) and not isinstance(op, _PRODUCTS):
            refuse(PAD_EINSUM, f"expected a sum of products, got {op.name}", block)
    for op in walk(block):
        if isinstance(op, LoadOp | StoreOp) and (plain_dims(block, op) is None or not _is_full(block, op)):
            name = name_of_buffer(op.buffer)
            refuse(PAD_EINSUM, f"expected all of {name} at distinct variables, got other indices", block)
    for number, (kind, step) in enumerate(zip(block.kinds, padding, strict=True)):
        if kind.data == "reduce" and known(block.domain[number]) % step:
            for each in loads:
                if number not in (plain_dims(block, each) or ()):
                    variable = block.block.args[number].name_hint
                    text = f"expected {variable} in all factors, which are 0 beyond, got {name_of_buffer(each.buffer)}"
                    refuse(PAD_EINSUM, f"{text} without it", block)
    for buffer in buffers_of(block, writes=False):
        check_complete(PAD_EINSUM, block, buffer, tree_of(block))
    for buffer in buffers_of(block, writes=True):
        check_own(PAD_EINSUM, block, buffer)
    return [known(extent) for extent in block.domain]


def _is_full(block: BlockOp, op: LoadOp | StoreOp) -> bool:
    """Return whether an access without a condition is of a buffer of the extents of its variables."""
    dims = plain_dims(block, op) or []
    plain = not isinstance(op, LoadOp) or op.guard is None
    return plain and [block.domain[dim] for dim in dims] == list(buffer_of(op.buffer).get_shape())


def _loops_by_variable(block: BlockOp) -> list[ForOp]:
    """The loop of each variable. Raises ScheduleError where variables are not loops."""
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    around: dict[SSAValue, ForOp] = {loop.var: loop for loop in loops_of(block)}
    loops: list[ForOp] = []
    for expr, extent in zip(place.exprs, block.domain, strict=True):
        value = place.values[expr.position] if isinstance(expr, AffineDimExpr) else None
        loop = around.get(value) if value is not None else None
        if loop is None or loop in loops or loop.trip_count != extent:
            refuse(
                PAD_EINSUM, "expected a loop for each variable, got other bindings", block, remedy="pad before splits"
            )
        loops.append(loop)
    if len(loops) != len(around):
        refuse(PAD_EINSUM, "expected a loop for each variable, got more loops", block)
    check_plain(PAD_EINSUM, loops)
    return loops


def decompose_padding(state: State, block: BlockOp, loop: ForOp) -> BlockOp:
    """`Z[v] = X[v - 2] or 0` -> `Z = 0; Z[v + 2] = X[v]`, the first of it in front of a loop; returns its block.

    Raises ScheduleError for a block that is not padding alone.
    """
    load, store = _padded(block)
    spans = _inner_spans(block, load)
    check_own_values(DECOMPOSE_PADDING, block)
    around = loops_of(block)
    if loop not in around:
        refuse(DECOMPOSE_PADDING, f"expected a loop around the block, got {name_of(loop)}", block, loop)
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    inner = around[around.index(loop) :]
    if (
        not covers(block)
        or [e for e in place.exprs if not isinstance(e, AffineDimExpr | AffineConstantExpr)]
        or len(around) != len(place.exprs)
    ):
        refuse(DECOMPOSE_PADDING, "expected a loop for each variable, got other bindings", block)
    own_nest(DECOMPOSE_PADDING, block)
    check_plain(DECOMPOSE_PADDING, around)
    filled = _fill(state, block, load, store, loop, inner)
    for number, expr in enumerate(place.exprs):
        if not isinstance(expr, AffineDimExpr):
            continue  # a variable of one value
        owner = next(each for each in around if each.var is place.values[expr.position])
        low, high = spans[number]
        # Loops around the start run over all of it.
        if owner not in inner and (low, high) != (0, known(owner.trip_count) - 1):
            text = f"expected no padding along loops around {name_of(loop)}, got {name_of(owner)}"
            refuse(DECOMPOSE_PADDING, text, block, owner, remedy=f"the loop {name_of(around[0])}")
        owner.properties["extent"] = size_attribute(high - low + 1)
    _narrow(state, block, spans)
    return filled


def _padded(block: BlockOp) -> tuple[LoadOp, StoreOp]:
    """The guarded load and the store of a block of padding. Raises ScheduleError for another."""
    ops = list(block.block.ops)
    match ops:
        case [LoadOp() as load, StoreOp() as store] if store.value is load.result and load.guard is not None:
            pass
        case _:
            text = "expected a block that stores a load with a condition, got another"
            refuse(DECOMPOSE_PADDING, text, block)
    if load.buffer is store.buffer or not is_whole(block, store) or any(k.data != "spatial" for k in block.kinds):
        refuse(DECOMPOSE_PADDING, f"expected a store to all of {name_of_buffer(store.buffer)}, got another", block)
    return load, store


def _inner_spans(block: BlockOp, load: LoadOp) -> list[tuple[int, int]]:
    """The first and last value of each variable for which a load happens."""
    spans = [(0, known(extent) - 1) for extent in block.domain]
    guard = load.guard
    assert guard is not None
    place = Place(guard.data.results, tuple(load.indices)).simplified()
    for expr in place.exprs:
        form = linear(expr, place.ranges)
        atom, factor = form.terms[0] if len(form.terms) == 1 else (None, 0)
        value = place.values[atom.position] if isinstance(atom, AffineDimExpr) else None
        known_ends = factor in (1, -1) and isinstance(form.constant, int)
        if value is None or value not in block.block.args or not known_ends:
            text = "expected a first and a last value of each variable as condition, got another"
            refuse(DECOMPOSE_PADDING, text, block)
        number = block.block.args.index(value)
        low, high = spans[number]
        end = known(form.constant)
        spans[number] = (max(low, -end), high) if factor == 1 else (low, min(high, end))
    if any(low > high for low, high in spans):
        refuse(DECOMPOSE_PADDING, "expected a condition that holds somewhere, got one that never does", block)
    return spans


def _fill(state: State, block: BlockOp, load: LoadOp, store: StoreOp, loop: ForOp, inner: Sequence[ForOp]) -> BlockOp:
    """Store the padding everywhere, in loops like the inner ones, in front of `loop`."""
    loops = ordered_loops([(name_of(each), known(each.trip_count)) for each in inner])
    for new, old in zip(loops, inner, strict=True):
        new.location = old.location
    fresh: dict[SSAValue, SSAValue] = {old.var: new.var for old, new in zip(inner, loops, strict=True)}
    axes: list[tuple[str, Size]] = [("spatial", extent) for extent in block.domain]
    hints = [argument.name_hint for argument in block.block.args]
    values = [fresh.get(value, value) for value in block.indices]
    made = BlockOp.make(state.fresh(f"{block.label.data}_pad_const"), axes, block.map.data, values, hints=hints)
    made.location = block.location
    scratch = Block()
    number = LocatedBuilder(scratch, load.location).add(
        constant(load.properties["otherwise"], load.result.type, load.location)
    )
    by = {old: Place((AffineDimExpr(0),), (new,)) for old, new in zip(block.block.args, made.block.args, strict=True)}
    ops, _ = copied([store], by, {store.value: number.result})
    made.block.add_ops(ops)
    loops[-1].block.add_op(made)
    number.detach()
    for op in (number, loops[0]):
        assert loop.parent is not None
        loop.parent.insert_op_before(op, loop)
    return made


def _narrow(state: State, block: BlockOp, spans: Sequence[tuple[int, int]]) -> None:
    """Let a block run where its load happens, its variables from 0 on."""
    axes: list[tuple[str, Size]] = [("spatial", high - low + 1) for low, high in spans]
    hints = [argument.name_hint for argument in block.block.args]
    made = BlockOp.make(block.label.data, axes, block.map.data, block.indices, hints=hints)
    made.location, made.attributes = block.location, dict(block.attributes)
    by = {
        old: Place((AffineDimExpr(0) + low,), (new,)).simplified()
        for old, new, (low, _) in zip(block.block.args, made.block.args, spans, strict=True)
    }
    ops, _ = copied(block.block.ops, by, {})
    made.block.add_ops(ops)
    for op in ops:
        if isinstance(op, LoadOp):
            del op.properties["guard"], op.properties["otherwise"]
            compact(op)
    assert block.parent is not None
    block.parent.insert_op_before(made, block)
    state.move(block, made)
    drop(block, DECOMPOSE_PADDING, "it has no padding")
