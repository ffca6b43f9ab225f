"""blockize: a loop and what is in it as a block, of which the block in it is a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple, NoReturn

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import linear, linear_bounds
from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import affine_map, known
from ...dialects.tir import BlockOp, ForOp
from ...dialects.tir.block import InitOp
from ...passes.tir.rewriting.ops import drop
from ...provenance.builder import LocatedBuilder
from .bindings import Place, joined, resolved
from .bodies import check_own_values, copied, ordered_loops
from .legality import check_starts_first, is_one_to_one
from .state import State, blocks_in, chain, loops_of, name_of, only_child, refuse

NAME = "blockize"


class _Halves(NamedTuple):
    """A variable as `outer * extent + inner`, with inner in [0, extent)."""

    outer: Place
    inner: Place
    extent: int


def blockize(state: State, loop: ForOp) -> BlockOp:
    """`for i, j: C[i, j]` at j -> `for i: C_o[i]: for j: C[j]`; returns the block of the loop.

    Raises ScheduleError where the loop holds other blocks, and where variables are no whole parts of what is in it.
    """
    blocks = blocks_in(loop)
    if len(blocks) != 1:
        refuse(NAME, f"expected a loop of one block, got one of {len(blocks)}", loop)
    (block,) = blocks
    around = loops_of(block)
    inner = around[around.index(loop) :]
    if chain(NAME, [loop, inner[-1]]) != inner or only_child(inner[-1]) is not block:
        refuse(NAME, f"expected nothing beside the block in {name_of(loop)}, got other statements", loop, block)
    check_own_values(NAME, block)
    if block.guards or not is_one_to_one(block, around):
        got = "a condition" if block.guards else "loops that run it several times at a point"
        refuse(NAME, f"expected a block that runs once at each point, got {got}", block, loop, remedy="even splits")
    halves = [_halves(block, number, inner) for number in range(len(block.domain))]
    passes, points = prod(each.trip_count for each in inner), prod(half.extent for half in halves)
    if block.init is not None:
        check_starts_first(NAME, block, around)
    if block.init is not None and not same(passes, points):
        text = f"expected {name_of(loop)} to run a reduction at each of {points} points, got {passes} passes"
        refuse(NAME, text, block, loop)
    outer = _outer(state, block, halves)
    made = _inner(state, block, outer, halves)
    _start(state, block, outer, halves)
    assert loop.parent is not None
    loop.parent.insert_op_before(outer, loop)
    loop.detach()
    outer.block.add_op(loop)
    assert block.parent is not None
    block.parent.insert_op_before(made, block)
    state.move(block, made)
    drop(block, NAME, "it is part of a block")
    return outer


def _halves(block: BlockOp, number: int, inner: Sequence[ForOp]) -> _Halves:
    """Take a variable apart by loops. Raises ScheduleError where what is outside is no multiple of what is inside."""
    place = resolved(Place((block.map.data.results[number],), tuple(block.indices)))
    within: set[SSAValue] = {loop.var for loop in inner}
    form = linear(place.exprs[0], place.ranges)
    outside: list[tuple[AffineExpr, Size]] = []
    own: AffineExpr = AffineConstantExpr(0)
    for atom, factor in form.terms:
        used = {place.values[dim] for dim in atom.used_dims()}
        if used <= within:
            own = own + atom * known(factor)
        elif used & within:
            _no_parts(block, number, inner)
        else:
            outside.append((atom, factor))
    low, high = linear_bounds(linear(own, place.ranges), place.ranges)
    if low != 0 or not isinstance(high, int):
        _no_parts(block, number, inner)
    extent = high + 1
    factors = [*(factor for _, factor in outside), form.constant, block.domain[number]]
    if any(not isinstance(factor, int) or factor % extent for factor in factors):
        _no_parts(block, number, inner)
    total: AffineExpr = AffineConstantExpr(known(form.constant) // extent)
    for atom, factor in outside:
        total = total + atom * (known(factor) // extent)
    return _Halves(Place((total,), place.values).simplified(), Place((own,), place.values).simplified(), extent)


def _no_parts(block: BlockOp, number: int, inner: Sequence[ForOp]) -> NoReturn:
    variable = block.block.args[number].name_hint
    text = f"expected {variable} to be whole parts of what is in {name_of(inner[0])}, got another binding"
    refuse(NAME, text, block, inner[0], remedy=f"the loop {name_of(loops_of(block)[0])}")


def _outer(state: State, block: BlockOp, halves: Sequence[_Halves]) -> BlockOp:
    """The block around, empty."""
    axes: list[tuple[str, Size]] = [
        (kind.data, known(extent) // half.extent)
        for kind, extent, half in zip(block.kinds, block.domain, halves, strict=True)
    ]
    hints = [f"{argument.name_hint}_o" for argument in block.block.args]
    place = joined(*(half.outer for half in halves))
    label = state.fresh(f"{block.label.data}_o")
    made = BlockOp.make(label, axes, affine_map(len(place.values), place.exprs), place.values, hints=hints)
    made.location = block.location
    return made


def _point(outer: BlockOp, halves: Sequence[_Halves], inner: Mapping[int, SSAValue]) -> list[Place]:
    """The variables of the block as it was, where those of `inner` are the parts inside, others 0."""
    places: list[Place] = []
    for number, half in enumerate(halves):
        start, value = AffineDimExpr(0) * half.extent, outer.block.args[number]
        place = Place((start,), (value,))
        if number in inner:
            place = Place((start + AffineDimExpr(1),), (value, inner[number]))
        places.append(place.simplified())
    return places


def _inner(state: State, block: BlockOp, outer: BlockOp, halves: Sequence[_Halves]) -> BlockOp:
    """The block as a part of `outer`, without a start."""
    numbers = [number for number, half in enumerate(halves) if half.extent > 1]
    axes: list[tuple[str, Size]] = [(block.kinds.data[n].data, halves[n].extent) for n in numbers]
    hints = [f"{block.block.args[n].name_hint}_i" for n in numbers]
    place = joined(*(halves[n].inner for n in numbers))
    made = BlockOp.make(block.label.data, axes, affine_map(len(place.values), place.exprs), place.values, hints=hints)
    made.location, made.attributes = block.location, dict(block.attributes)
    point = _point(outer, halves, dict(zip(numbers, made.block.args, strict=True)))
    body = [op for op in block.block.ops if op is not block.init]
    ops, _ = copied(body, dict(zip(block.block.args, point, strict=True)), {}, state)
    made.block.add_ops(ops)
    return made


def _start(state: State, block: BlockOp, outer: BlockOp, halves: Sequence[_Halves]) -> None:
    """Let the block around start the reduction, over all variables of data inside."""
    if block.init is None:
        return
    numbers = [n for n, half in enumerate(halves) if half.extent > 1 and block.kinds.data[n].data == "spatial"]
    names = [f"{block.block.args[n].name_hint}" for n in numbers]
    loops = ordered_loops([(f"{name}_init", halves[n].extent) for name, n in zip(names, numbers, strict=True)])
    identity = affine_map(len(numbers), tuple(AffineDimExpr(n) for n in range(len(numbers))))
    axes: list[tuple[str, Size]] = [("spatial", halves[n].extent) for n in numbers]
    label = state.fresh(f"{block.label.data}_init")
    hints = [f"{name}_i" for name in names]
    start = BlockOp.make(label, axes, identity, [loop.var for loop in loops], hints=hints)
    point = _point(outer, halves, dict(zip(numbers, start.block.args, strict=True)))
    ops, _ = copied(block.init.block.ops, dict(zip(block.block.args, point, strict=True)), {}, state)
    start.block.add_ops(ops)
    if loops:
        loops[-1].block.add_op(start)
    init = InitOp.make()
    LocatedBuilder(init.block, block.init.location).add(loops[0] if loops else start)
    LocatedBuilder(outer.block, block.init.location).add(init)
