"""decompose_reduction: the start of a reduction as a block of its own."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.sizes.kernel import known
from ...dialects.tir import BlockOp, ForOp
from ...passes.tir.rewriting.ops import drop
from ...provenance.walk import walk
from .accesses import block_of, buffers_of, name_of_buffer
from .bindings import Place, index_operands, resolved, rewrite_maps, set_maps
from .bodies import check_own_values, loads_of, ordered_loops, stores_of
from .legality import check_starts_first, is_one_to_one
from .state import State, function_of, loops_of, name_of, refuse


def decompose_reduction(state: State, block: BlockOp, loop: ForOp) -> BlockOp:
    """`for k: init C = 0; C += ..` -> `C = 0; for k: C += ..`: returns the block of the start, `C_init`."""
    name = "decompose_reduction"
    init = block.init
    if init is None:
        refuse(name, "expected a reduction that starts with tir.init, got a block without", block)
    around = loops_of(block)
    if loop not in around:
        refuse(name, f"expected a loop around the block, got {name_of(loop)}", block, loop)
    check_own_values(name, block)
    place = resolved(Place(block.map.data.results, tuple(block.indices)))
    reduced, spatial = set[SSAValue](), set[SSAValue]()
    for kind, expr in zip(block.kinds, place.exprs, strict=True):
        used = {place.values[dim] for dim in expr.used_dims()}
        (reduced if kind.data == "reduce" else spatial).update(used)
    outer, inner = around[: around.index(loop)], around[around.index(loop) :]
    if wrong := next((each for each in outer if each.var in reduced), None):
        remedy = f"the loop {name_of(next(each for each in around if each.var in reduced))}, or one around it"
        text = f"expected a loop outside of all of the reduction, got {name_of(loop)} inside of {name_of(wrong)}"
        refuse(name, text, loop, wrong, remedy=remedy)
    if mixed := next((each for each in inner if each.var in reduced & spatial), None):
        refuse(name, f"expected loops of the reduction alone, got {name_of(mixed)} for both", block, mixed)
    if not is_one_to_one(block, around):
        refuse(name, "expected loops that run the block once at each point, got others", block)
    # The start is done right before the loop: no other statement comes in between.
    _check_alone(name, block, loop)
    if len(block.guards) > 1:
        refuse(name, "expected one condition at most, got alternatives", block)
    kept: list[AffineExpr] = []
    skipped = {each.var for each in inner} - spatial
    for expr in block.guards[0].results if block.guards else ():
        condition = resolved(Place((expr,), tuple(block.indices)))
        if not (used := set(condition.values)) & skipped:
            kept.append(expr)
        elif used - skipped:
            refuse(name, "expected conditions on either kind of loops, got one on both", block)
    check_starts_first(name, block, around)
    # Loops of one pass are not in what is resolved, and still in indices.
    kinds = zip(block.kinds, block.map.data.results, strict=True)
    named = [*kept, *(expr for kind, expr in kinds if kind.data != "reduce")]
    spatial |= {block.indices[dim] for expr in named for dim in expr.used_dims()}
    copies = [each for each in inner if each.var in spatial and each.var not in reduced]
    loops = ordered_loops([(f"{name_of(each)}_init", known(each.trip_count)) for each in copies])
    for made, old in zip(loops, copies, strict=True):
        made.location, made.properties["kind"] = old.location, old.kind
    label = block.label.data
    numbers = [n for n, kind in enumerate(block.kinds) if kind.data != "reduce"]
    hints = [block.block.args[n].name_hint for n in numbers]
    axes = [(block.kinds.data[n].data, block.domain[n]) for n in numbers]
    start = BlockOp.make(state.fresh(f"{label}_init"), axes, block.map.data, block.indices, hints=hints)
    results = [[block.map.data.results[n] for n in numbers], *([kept] if kept else [])]
    set_maps(start, tuple(block.indices), results)
    by = {old.var: Place((AffineExpr.dimension(0),), (made.var,)) for made, old in zip(loops, copies, strict=True)}
    rewrite_maps(start, by)
    start.location, start.attributes = init.location, dict(block.attributes)
    variables: dict[SSAValue, SSAValue] = {
        block.block.args[n]: argument for n, argument in zip(numbers, start.block.args, strict=True)
    }
    for op in init.block.ops:
        start.block.add_op(op.clone(variables))
        made = start.block.last_op
        assert made is not None
        variables.update(zip(op.results, made.results, strict=True))
        for old, new in zip(walk(op), walk(made), strict=True):
            state.move(old, new)
    for op in walk(start):
        for value in index_operands(op):
            if op is not start and value in block.block.args:
                refuse(name, "expected a start at the data variables, got one at those of the reduction", block)
    if loops:
        loops[-1].block.add_op(start)
    parent = loop.parent
    assert parent is not None
    parent.insert_op_before(loops[0] if loops else start, loop)
    drop(init, name, "it is a block of its own")
    block.properties["label"] = StringAttr(state.fresh(f"{label}_update"))
    return start


def _check_alone(name: str, block: BlockOp, loop: ForOp) -> None:
    """Refuse where another block in a loop stores, or reads, what a block accumulates in it."""
    func, inside = function_of(block), set(walk(loop))
    for buffer in buffers_of(block, writes=True):
        for op in [*stores_of(func, buffer), *loads_of(func, buffer)]:
            if op in inside and not block.is_ancestor(op):
                other = block_of(op)
                text = f"expected {name_of_buffer(buffer)} to be accessed by this block alone in the loop, got another"
                refuse(name, text, block, *([other] if other is not None else []), loop)
