"""reindex: a copy of a buffer whose dims are variables of a block, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects.affine import below, bounds, substitute
from ...dialects.sizes.kernel import affine_map, at_least, known
from ...dialects.tir import BlockOp, BufferType, LoadOp, StoreOp, buffer_of
from .accesses import name_of_buffer
from .bindings import Place, joined, range_of, set_maps
from .bodies import allocated, covers, tree_of
from .caches import Side, accesses_by, buffer_at, check_complete, check_own, check_scope, copy_beside, identity
from .layouts import extents_of
from .legality import check_one_to_one
from .state import State, refuse

NAME = "reindex"


def reindex(
    state: State, block: BlockOp, index: object, *, writes: bool, layout: AffineMap | None = None, scope: str = ""
) -> BlockOp:
    """`C[i, j] += B[k, j]` -> `B_reindex[j, k] = B[k, j]; C[i, j] += B_reindex[j, k]`; returns the block that copies.

    layout: from all variables of the block to the dims of the copy, whose scope is `scope` then. Raises ScheduleError
    for a buffer at several places, and as cache_read or cache_write do.
    """
    name = NAME if layout is None else f"{NAME}_cache_{'write' if writes else 'read'}"
    buffer = buffer_at(name, block, index, writes=writes)
    label = name_of_buffer(buffer)
    tree = tree_of(block)
    if writes:
        check_own(name, block, buffer)
    else:
        check_complete(name, block, buffer, tree)
    own = accesses_by(block, buffer)
    used, point = _place(name, block, own, label)
    domain = [known(block.domain[block.block.args.index(value)]) for value in used]
    if writes:
        if not covers(block):
            refuse(name, "expected a block that runs at all of its points, got another", block)
        check_one_to_one(name, label, used, point, block)
    else:
        _check_bounds(name, block, buffer, used, point)
    exprs, shape = identity(len(used)), domain
    copied = f"{label}_reindex" if writes else f"{label}_reindex_reindex"
    if layout is not None:
        check_scope(name, scope, block)
        exprs, copied = _laid_out(name, block, used, layout), f"{label}_{scope}"
        check_one_to_one(name, f"the copy of {label}", used, exprs, block)
        shape = extents_of(name, affine_map(len(used), exprs), domain, block)
    type_ = BufferType.of(shape, buffer_of(buffer).element_type)
    made = allocated(block, f"{label}_{scope or NAME}", type_, scope)
    source, target = (Side(made, exprs), Side(buffer, point)) if writes else (Side(buffer, point), Side(made, exprs))
    copy = copy_beside(block, tree, state.fresh(copied), domain, source, target, behind=writes)
    for op in own:
        op.operands = [*([op.value] if isinstance(op, StoreOp) else []), made, *used]
        set_maps(op, used, [exprs])
    return copy


def _laid_out(name: str, block: BlockOp, used: Sequence[SSAValue], layout: AffineMap) -> tuple[AffineExpr, ...]:
    """The dims of a copy over the variables that the indices of its buffer are of. Raises ScheduleError for others."""
    arguments = block.block.args
    of_layout = {arguments[dim] for expr in layout.results for dim in expr.used_dims()}
    if of_layout != set(used):
        names = [[str(value.name_hint) for value in arguments if value in side] for side in (used, of_layout)]
        wanted, got = (", ".join(each) or "none" for each in names)
        refuse(name, f"expected a layout of the variables of the indices, {wanted}, got one of {got}", block)
    dims = [AffineDimExpr(used.index(value)) if value in used else AffineConstantExpr(0) for value in arguments]
    return tuple(substitute(expr, dims) for expr in layout.results)


def _place(
    name: str, block: BlockOp, own: Sequence[LoadOp | StoreOp], label: str
) -> tuple[list[SSAValue], tuple[AffineExpr, ...]]:
    """The variables that the indices of a buffer are of, in order, and the indices over these."""
    written = [Place(op.map.data.results, tuple(op.indices)) for op in own]
    places = list(dict.fromkeys(place.simplified() for place in written))
    if any(isinstance(op, LoadOp) and op.guard is not None for op in own):
        refuse(name, f"expected {label} to be read without a condition, got one", block)
    if len(places) != 1:
        refuse(name, f"expected {label} to be accessed at one place, got {len(places)}", block)
    place = joined(written[0]) if len(set(written)) == 1 else places[0]
    # A variable of one value is a dim, too, where the indices name it.
    named = {place.values[dim] for place in written for expr in place.exprs for dim in expr.used_dims()}
    used: list[SSAValue] = [argument for argument in block.block.args if argument in named]
    extents = [block.domain[block.block.args.index(value)] for value in used]
    if not named <= set(used) or not all(isinstance(extent, int) for extent in extents):
        refuse(name, f"expected indices of {label} of the block's variables of known extents, got others", block)
    dims = [AffineDimExpr(used.index(value)) for value in place.values]
    return used, tuple(substitute(expr, dims) for expr in place.exprs)


def _check_bounds(
    primitive: str, block: BlockOp, buffer: SSAValue, used: Sequence[SSAValue], point: Sequence[AffineExpr]
) -> None:
    """Refuse where a copy at all points of a block reads beyond a buffer."""
    ranges = [range_of(value) for value in used]
    for dim, (expr, extent) in enumerate(zip(point, buffer_of(buffer).get_shape(), strict=True)):
        low, high = bounds(expr, ranges)
        if not at_least(low, 0) or not below(high, extent):
            name = name_of_buffer(buffer)
            text = f"expected indices of {name} in [0, {extent}) of dim {dim}, got {low} to {high}"
            refuse(primitive, text, block)
