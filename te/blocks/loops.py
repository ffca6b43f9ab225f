"""Primitives on loops: split, fuse, reorder, marks and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import affine_map, lifted
from ...dialects.tir import BlockOp, ForOp, IfOp
from ...provenance.builder import LocatedBuilder
from ...provenance.span import fuse as fused_location
from ...support.errors import ScheduleError
from ..schedule.choices import plain
from .bindings import Place, drop_true_guards, maps_of, replace_value, set_maps
from .legality import check_parallel, check_reorder
from .private import check_at_once
from .state import State, between, blocks_in, chain, integer, name_of, only_child, refuse, steps_in


def numbers_of(primitive: str, factors: Iterable[int | None]) -> list[int | None]:
    """Factors that a user passes, without the knobs that they follow from. Raises ScheduleError for other than ints."""
    if isinstance(factors, str):
        raise ScheduleError(f"{primitive}: expected a list of factors, got {factors!r}")
    return [
        None if factor is None else plain(integer(primitive, f"factor {number}", factor))
        for number, factor in enumerate(factors)
    ]


def ceiling(size: Size, factor: int) -> Size:
    """The number of parts of `factor` that cover a size."""
    return -(-size // factor)


def factors_of(primitive: str, loop: ForOp, factors: Sequence[int | None]) -> list[Size]:
    """The extents of the parts of a loop, the one left open computed. Raises ScheduleError for wrong ones."""
    if sum(factor is None for factor in factors) > 1:
        refuse(primitive, f"expected at most one open factor, got {list(factors)}", loop)
    if len(factors) < 1:
        refuse(primitive, "expected at least one factor, got none", loop)
    for number, factor in enumerate(factors):
        if factor is not None and factor < 1:
            refuse(primitive, f"expected positive factors, got {factor} at position {number}", loop)
    extent = loop.trip_count
    rest = prod(factor for factor in factors if factor is not None)
    if None in factors:
        return [ceiling(extent, rest) if factor is None else factor for factor in factors]
    if not isinstance(extent, int) or rest < extent:
        text = f"expected factors of a product of at least {extent}, got {list(factors)} of {rest}"
        open_ = ", ".join(["None", *map(str, factors[1:])])
        refuse(primitive, text, loop, remedy=f"factors=[{open_}]")
    return [factor for factor in factors if factor is not None]


def check_plain(primitive: str, loops: Sequence[ForOp], *, marked: bool = False) -> None:
    """Refuse loops that have notes, or are marked, unless the mark may be lost."""
    for loop in loops:
        if (loop.kind.data != "serial" and not marked) or loop.attributes:
            what = f"notes {', '.join(loop.attributes)}" if loop.attributes else loop.kind.data
            text = f"expected a serial loop without notes, got {name_of(loop)} with {what}"
            refuse(primitive, text, loop, remedy=f"{primitive} before the mark")


def split(state: State, loop: ForOp, factors: Sequence[int | None], *, units: bool) -> list[ForOp]:
    """`for i` -> `for i_0 for i_1`: with a condition where the parts are more than the whole; marks are lost.

    units: indices name loops of one iteration, too.
    """
    check_plain("split", [loop], marked=True)
    extents = factors_of("split", loop, factors)
    name = name_of(loop)
    parts = [ForOp.make(extent, hint=f"{name}.{number}") for number, extent in enumerate(extents)]
    for part in parts:
        part.location = loop.location
    for outer, inner in pairwise(parts):
        outer.block.add_op(inner)
    total: AffineExpr = AffineDimExpr(0)
    for number, extent in enumerate(extents[1:], 1):
        total = total * lifted(extent) + AffineDimExpr(number)
    place = Place((total,), tuple(part.var for part in parts))
    whole = extents[0]
    for extent in extents[1:]:
        whole = whole * extent
    place = place.simplified(units=units)
    take_over(loop, parts[-1], parts[0])
    if not same(whole, loop.trip_count):
        room = Place((place.exprs[0] * -1 + lifted(loop.trip_count - 1),), place.values)
        _guard(parts[-1].block, room)
    replace_variable(loop, parts[-1].block, place)
    _erase(state, "split", loop)
    return parts


def fuse(state: State, loops: Sequence[ForOp], *, units: bool) -> ForOp:
    """`for i for j` -> `for i_j_fused`, with i = i_j_fused // n and j = i_j_fused % n; marks are lost.

    units: indices name a loop of one iteration, too.
    """
    if len(loops) < 1:
        refuse("fuse", "expected at least one loop, got none")
    check_plain("fuse", loops, marked=True)
    for outer, inner in pairwise(loops):
        if inner.parent_op() is not outer:
            text = f"expected {name_of(inner)} directly in {name_of(outer)}, got it elsewhere"
            refuse("fuse", text, outer, inner)
        if only_child(outer) is not inner:
            text = f"expected {name_of(inner)} to be all that is in {name_of(outer)}, got other statements beside it"
            refuse("fuse", text, outer, inner)
    beside = between("fuse", loops)
    total: Size = 1
    for loop in loops:
        total = total * loop.trip_count
    made = ForOp.make(total, hint="_".join([*map(name_of, loops), "fused"]))
    made.location = fused_location([loop.location for loop in loops])
    outer, inner = loops[0], loops[-1]
    for op in beside:
        op.detach()
        made.block.add_op(op)
    take_over(inner, made, made, outer)
    rest = AffineDimExpr(0)
    step: Size = 1
    for number, loop in reversed(list(enumerate(loops))):
        expr: AffineExpr = rest // lifted(step)
        if number:
            expr = expr % lifted(loop.trip_count)
        replace_variable(loop, made.block, Place((expr,), (made.var,)).simplified(units=units))
        step = step * loop.trip_count
    _erase(state, "fuse", outer, others=loops[1:])
    return made


def take_over(loop: ForOp, inner: ForOp, outer: ForOp, at: ForOp | None = None) -> None:
    """Put `outer` in front of `at` (the loop itself), and the body of `loop` at the end of that of `inner`."""
    for op in list(loop.block.ops):
        op.detach()
        inner.block.add_op(op)
    at = at or loop
    assert at.parent is not None
    at.parent.insert_op_before(outer, at)


def replace_variable(loop: ForOp, block: Block, place: Place) -> None:
    """Let what uses a loop's variable use an expression; a number for other users is computed first in `block`."""
    scratch = Block()
    replace_value(loop.var, place, LocatedBuilder(scratch, loop.location))
    first = block.first_op
    for op in list(scratch.ops):
        op.detach()
        if first is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, first)


def _erase(state: State, primitive: str, loop: ForOp, others: Sequence[ForOp] = ()) -> None:
    state.consume(primitive, loop, *others)
    loop.detach()
    loop.erase()


def _guard(block: Block, room: Place) -> None:
    """Let the blocks in `block` run, and what is beside them, only where an expression is not negative."""
    loop = block.parent_op()
    assert isinstance(loop, ForOp)
    found = blocks_in(loop)
    covered = {each for each in found}
    if all(_only_blocks(op, covered) for op in steps_in(loop)):
        for inner in found:
            add_condition(inner, room)
        return
    branch = IfOp.make(affine_map(len(room.values), room.exprs), room.values, likely=True)
    branch.location = loop.location
    for op in list(block.ops):
        op.detach()
        branch.block.add_op(op)
    block.add_op(branch)


def _only_blocks(op: Operation, blocks: set[BlockOp]) -> bool:
    """Return whether an op is a block, or loops that hold nothing else."""
    if isinstance(op, ForOp):
        return all(_only_blocks(inner, blocks) for inner in steps_in(op))
    return isinstance(op, BlockOp) and op in blocks


def add_condition(block: BlockOp, room: Place) -> None:
    """Let a block run only where the expressions of `room` are not negative, too."""
    values = list(dict.fromkeys([*block.indices, *room.values]))
    moved = [AffineDimExpr(values.index(value)) for value in room.values]
    old = [AffineDimExpr(values.index(value)) for value in block.indices]

    def over(exprs: Sequence[AffineExpr], dims: Sequence[AffineExpr]) -> list[AffineExpr]:
        return [expr.replace_dims_and_symbols(dims, ()) for expr in exprs]

    binding, *guards = maps_of(block)
    alternatives = [over(guard, old) + over(room.exprs, moved) for guard in guards] or [over(room.exprs, moved)]
    set_maps(block, values, [over(binding, old), *alternatives])
    drop_true_guards(block)


def reorder(loops: Sequence[ForOp]) -> None:
    """Put loops of one chain in another order, in the places that they have together."""
    if len(loops) < 1:
        refuse("reorder", "expected at least one loop, got none")
    if len(set(loops)) != len(loops):
        twice = next(loop for loop in loops if list(loops).count(loop) > 1)
        refuse("reorder", f"expected distinct loops, got {name_of(twice)} twice", twice)
    around = chain("reorder", loops)
    wanted = iter(loops)
    new = [next(wanted) if loop in loops else loop for loop in around]
    if new == around:
        return
    check_reorder("reorder", around, new)
    body = list(around[-1].block.ops)
    beside = between("reorder", around)
    top = around[0].parent
    assert top is not None
    anchor = around[0].next_op
    for loop in around:
        loop.detach()
    for op in (*beside, *body):
        op.detach()
    if anchor is None:
        top.add_op(new[0])
    else:
        top.insert_op_before(new[0], anchor)
    for outer, inner in pairwise(new):
        outer.block.add_op(inner)
    new[-1].block.add_ops([*beside, *body])


def mark(primitive: str, loop: ForOp, kind: str) -> None:
    """Give a loop another kind, where its iterations may run in any order."""
    if kind == "parallel":
        check_at_once(primitive, loop)
    if kind == "vectorized":
        check_parallel(primitive, loop)
        if not loop.is_known:
            refuse(primitive, f"expected a loop of a known extent, got one of {loop.trip_count}", loop)
    loop.properties["kind"] = StringAttr(kind)


def add_unit_loop(state: State, target: ForOp | BlockOp) -> ForOp:
    """`C` -> `for u in 1: C`."""
    loop = ForOp.make(1, hint="u")
    loop.location = target.location
    assert target.parent is not None
    target.parent.insert_op_before(loop, target)
    target.detach()
    loop.block.add_op(target)
    return loop


def annotate(target: Operation, key: str, value: Attribute) -> None:
    """Give a loop or block a note."""
    target.attributes[key] = value


def unannotate(target: Operation, key: str) -> None:
    """Take a note away. Raises ScheduleError if there is none."""
    if key not in target.attributes:
        names = ", ".join(target.attributes) or "none"
        refuse("unannotate", f"expected a note among {names}, got {key}", target)
    del target.attributes[key]
