"""merge and loop_partition: loops side by side become one, and a loop becomes several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from xdsl.dialects.builtin import StringAttr
from xdsl.ir.affine import AffineDimExpr

from ...dialects.sizes import same
from ...dialects.tir import BlockOp, ForOp
from ...passes.tir.rewriting.ops import drop
from ...provenance.span import fuse as fused_location
from ...provenance.walk import walk
from .bindings import Place
from .legality import check_merge
from .loops import check_plain, replace_variable
from .state import State, between, loops_of, name_of, only_child, refuse


def merge(state: State, loops: Sequence[ForOp]) -> ForOp:
    """`for i: Y; for j: Z` -> `for i_m: Y; Z`, of loops at one depth of nests side by side; returns the innermost.

    Raises ScheduleError where Z needs what Y makes in later iterations.
    """
    if len(set(loops)) < 2 or len(set(loops)) != len(loops):
        refuse("merge", f"expected two distinct loops at least, got {len(loops)}", *loops)
    nests = _nests(loops)
    first = nests[0]
    for nest in nests[1:]:
        if len(nest) != len(first) or not all(
            same(a.trip_count, b.trip_count) for a, b in zip(nest, first, strict=False)
        ):
            got = " and ".join(str([loop.trip_count for loop in each]) for each in (first, nest))
            refuse("merge", f"expected nests of the same extents, got {got}", first[-1], nest[-1])
    beside = [op for nest in nests for op in between("merge", nest)]
    for one, other in combinations(nests, 2):
        check_merge("merge", one, other)
    made = [ForOp.make(level[0].trip_count, hint=f"{name_of(level[0])}_m") for level in zip(*nests, strict=True)]
    for loop, level in zip(made, zip(*nests, strict=True), strict=True):
        loop.location = fused_location([each.location for each in level])
    for outer, inner in pairwise(made):
        outer.block.add_op(inner)
    bodies = [op for nest in nests for op in nest[-1].block.ops]
    for op in (*beside, *bodies):
        op.detach()
        made[-1].block.add_op(op)
    place = first[0].parent
    assert place is not None
    place.insert_op_before(made[0], first[0])
    for nest in nests:
        for old, new in zip(nest, made, strict=True):
            old.var.replace_all_uses_with(new.var)
        state.consume("merge", *nest)
        nest[0].detach()
        nest[0].erase()
    return made[-1]


def _nests(loops: Sequence[ForOp]) -> list[list[ForOp]]:
    """The loops from where the nests part to each of `loops`. Raises ScheduleError for nests not side by side."""
    paths = [[*loops_of(loop), loop] for loop in loops]
    while all(len(path) > 1 and path[0] is paths[0][0] for path in paths):
        paths = [path[1:] for path in paths]
    if len({path[0] for path in paths}) < len(paths):
        refuse("merge", "expected loops side by side, got one in another, or in the same one", *loops)
    for path in paths:
        check_plain("merge", path)
        for outer, inner in pairwise(path):
            if only_child(outer) is not inner:
                text = (
                    f"expected {name_of(inner)} to be all that is in {name_of(outer)}, got other statements beside it"
                )
                refuse("merge", text, outer, inner)
    for left, right in pairwise(paths):
        if left[0].next_op is not right[0]:
            text = f"expected {name_of(right[0])} right behind {name_of(left[0])}, got it elsewhere"
            refuse("merge", text, left[0], right[0])
    return paths


def loop_partition(state: State, loop: ForOp, factors: Sequence[int | None]) -> list[ForOp]:
    """`for i in 8` -> `for i0 in 3; for i1 in 5`, which goes on where i0 ends; blocks of later parts have new names.

    factors: extents of the parts, one of which may be None, for what is left; without one, what they leave is a last
    part. Handles of what is in the loop are of the first part. Raises ScheduleError for factors beyond the extent.
    """
    name = "loop_partition"
    check_plain(name, [loop])
    extents = _extents(name, loop, factors)
    sources = [loop, *(loop.clone() for _ in extents[1:])]
    anchor = loop.parent
    assert anchor is not None
    parts: list[ForOp] = []
    start = 0
    for number, (extent, source) in enumerate(zip(extents, sources, strict=True)):
        part = ForOp.make(extent, hint=f"{name_of(loop)}{number}")
        part.location = loop.location
        for op in list(source.block.ops):
            op.detach()
            part.block.add_op(op)
        replace_variable(source, part.block, Place((AffineDimExpr(0) + start,), (part.var,)).simplified())
        anchor.insert_op_before(part, loop)
        for op in walk(part):
            if number and isinstance(op, BlockOp):
                op.properties["label"] = StringAttr(state.fresh(op.label.data))
        parts.append(part)
        start += extent
    state.consume(name, loop)
    drop(loop, name, "its parts stand for it")
    return parts


def _extents(name: str, loop: ForOp, factors: Sequence[int | None]) -> list[int]:
    extent = loop.trip_count
    if not isinstance(extent, int):
        refuse(name, f"expected a loop of a known extent, got one of {extent}", loop)
    for number, factor in enumerate(factors):
        if factor is not None and factor < 1:
            refuse(name, f"expected positive factors, got {factor} at position {number}", loop)
    if factors.count(None) > 1:
        refuse(name, f"expected at most one open factor, got {list(factors)}", loop)
    total = sum(factor for factor in factors if factor is not None)
    if not total or total >= extent:
        text = f"expected factors of a sum above 0 and below {extent}, got {list(factors)} of {total}"
        refuse(name, text, loop, remedy=f"factors=[{extent // 2}, None]" if extent > 1 else "")
    if None not in factors:
        factors = [*factors, None]
    return [extent - total if factor is None else factor for factor in factors]
