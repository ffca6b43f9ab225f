"""compute_at and reverse_compute_at: a block is computed in a loop of those that read it, or that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.affine import linear
from ...dialects.sizes.kernel import affine_map, known, lifted
from ...dialects.tir import BlockOp, ForOp, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ...provenance.walk import walk
from .accesses import block_of, buffers_of, name_of_buffer
from .bindings import Place, place_of
from .bodies import (
    check_own_values,
    check_settled,
    covers,
    intermediate,
    is_whole,
    loads_of,
    ordered_loops,
    own_nest,
    plain_dims,
    position,
    remove_nest,
    stores_of,
)
from .legality import check_parallel, check_written_once, extent_of, inside
from .loops import add_condition
from .private import check_at_once
from .state import State, function_of, loops_of, name_of, refuse, steps_in


class Span(NamedTuple):
    """The first of the values that a variable takes in one pass of a loop, and how many they are."""

    start: Place
    length: int


def _full(extent: int) -> Span:
    return Span(Place((AffineConstantExpr(0),), ()), extent)


def _union(spans: Sequence[Span]) -> Span | None:
    """The span of several that begin a constant apart; None for others."""
    first = spans[0]
    low, high = 0, first.length
    for span in spans[1:]:
        values = list(dict.fromkeys([*first.start.values, *span.start.values]))
        own, other = (
            each.exprs[0].replace_dims_and_symbols([AffineDimExpr(values.index(v)) for v in each.values], ())
            for each in (first.start, span.start)
        )
        place = Place((other + own * -1,), tuple(values))
        form = linear(place.exprs[0], place.ranges)
        if form.terms or not isinstance(form.constant, int):
            return None
        low, high = min(low, form.constant), max(high, form.constant + span.length)
    return Span(Place((first.start.exprs[0] + low,), first.start.values).simplified(), high - low)


def _spans(accesses: Sequence[LoadOp] | Sequence[StoreOp], free: set[SSAValue]) -> list[Span | None]:
    """The elements of each dimension that accesses name while the loops of `free` run."""
    result: list[Span | None] = []
    places = [place_of(op) for op in accesses]
    for dim in range(len(places[0].exprs)):
        found = [extent_of(Place((place.exprs[dim],), place.values), free) for place in places]
        spans = [Span(*each) for each in found if each is not None]
        result.append(_union(spans) if len(spans) == len(found) else None)
    return result


def _regenerated(block: BlockOp, spans: Sequence[Span], *, unit: bool) -> Operation:
    """Give a block without loops new ones, over a span of each variable, and return the outermost."""
    many = [number for number, span in enumerate(spans) if span.length != 1 or unit]
    loops = ordered_loops([(f"ax{count}", spans[number].length) for count, number in enumerate(many)])
    for loop in loops:
        loop.location = block.location
    values: list[SSAValue] = [loop.var for loop in loops]
    exprs: list[AffineExpr] = []
    for number, span in enumerate(spans):
        for value in span.start.values:
            if value not in values:
                values.append(value)
        dims = [AffineDimExpr(values.index(value)) for value in span.start.values]
        expr = span.start.exprs[0].replace_dims_and_symbols(dims, ())
        exprs.append(expr + AffineDimExpr(many.index(number)) if number in many else expr)
    place = Place(tuple(exprs), tuple(values)).simplified(units=True)
    block.properties["map"] = AffineMapAttr(affine_map(len(place.values), place.exprs))
    block.properties.pop("where", None)
    block.operands = place.values
    if loops:
        loops[-1].block.add_op(block)
    for expr, extent, span in zip(place.exprs, block.domain, spans, strict=True):
        if span.length != extent:
            add_condition(block, Place((expr, expr * -1 + lifted(extent - 1)), place.values))
    return loops[0] if loops else block


def _check_marks(primitive: str, loop: ForOp) -> None:
    """Refuse where a loop around what was moved runs at once, and its iterations share elements now."""
    for each in [*loops_of(loop), loop]:
        if each.kind.data == "parallel":
            check_at_once(primitive, each)
        if each.kind.data == "vectorized":
            check_parallel(primitive, each)


def _check_loop(primitive: str, block: BlockOp, loop: ForOp) -> None:
    if loop in loops_of(block):
        refuse(
            primitive,
            f"expected a loop of another block, got {name_of(loop)}, an ancestor of block {block.label.data}",
            block,
            loop,
        )
    if function_of(loop) is not function_of(block):
        refuse(primitive, "expected a loop of the same kernel, got one of another", block, loop)
    parent = loop.parent_op()
    while not isinstance(parent, PrimFuncOp):
        if not isinstance(parent, ForOp):
            refuse(primitive, "expected a loop of the same block scope, got one in a block or a condition", block, loop)
        parent = parent.parent_op()


def _slot(primitive: str, index: int, first: int, last: int, block: BlockOp, loop: ForOp) -> int:
    """The number of the statement of a loop to stand before: `index`, -1 for the last possible, -2 for the first."""
    slot = {-1: last, -2: first}.get(index, index)
    if not first <= slot <= last:
        text = f"expected an index from {first} to {last} in {name_of(loop)}, -1 or -2, got {index}"
        refuse(primitive, text, block, loop, remedy="index=-1")
    return slot


def compute_at(state: State, block: BlockOp, loop: ForOp, *, unit: bool, index: int = -1) -> None:
    """`for v: Y; for i: Z` -> `for i: for ax: Y; Z`, with as much of Y as one pass of the loop reads."""
    name = "compute_at"
    _check_loop(name, block, loop)
    own_nest(name, block)
    check_own_values(name, block)
    if any(kind.data == "opaque" for kind in block.kinds):
        refuse(name, "expected spatial and reduce variables, got an opaque one", block)
    written = buffers_of(block, writes=True)
    if len(written) != 1:
        refuse(name, f"expected a block that writes one buffer, got one of {len(written)}", block)
    (buffer,) = written
    label, func = name_of_buffer(buffer), function_of(block)
    stores = [op for op in walk(block) if isinstance(op, StoreOp)]
    intermediate(name, block, stores[0])
    if not covers(block) or not all(is_whole(block, op) for op in stores):
        refuse(name, f"expected a block that stores all of {label} at distinct variables, got another", block)
    own = [load for load in loads_of(func, buffer) if block.is_ancestor(load)]
    if own and block.init is None:
        refuse(name, f"expected a block that does not begin with what is in {label}, got one that does", block)
    if any(plain_dims(block, op) != plain_dims(block, stores[0]) for op in [*stores, *own]):
        refuse(name, f"expected accesses of {label} at one place, got several", block)
    check_settled(name, block, buffers_of(block, writes=False), block)
    loads = [load for load in loads_of(func, buffer) if not block.is_ancestor(load)]
    within = set(walk(loop))
    if outside := next((load for load in loads if load not in within), None):
        other = block_of(outside)
        text = f"expected all readers of {label} in {name_of(loop)}, as it requires all the consumers, got one outside"
        refuse(name, text, block, *([other] if other is not None else []), loop)
    if not loads or position(loop) <= position(block):
        refuse(name, f"expected a loop behind that reads {label}, got {name_of(loop)}", block, loop)
    dims = plain_dims(block, stores[0])
    assert dims is not None
    shape = buffer_of(buffer).get_shape()
    spans = [_full(known(extent)) for extent in block.domain]
    for dim, (number, span) in enumerate(zip(dims, _spans(loads, inside(loop)), strict=True)):
        if span is not None and span.length < known(shape[dim]):
            spans[number] = span
    child: Operation | None = loads[0]
    while child is not None and child.parent is not loop.block:
        child = child.parent_op()
    assert child is not None
    steps = steps_in(loop)
    place = steps[_slot(name, index, 0, steps.index(child), block, loop)]
    remove_nest(state, name, block, gone=False)
    loop.block.insert_op_before(_regenerated(block, spans, unit=unit), place)
    _check_marks(name, loop)


def reverse_compute_at(state: State, block: BlockOp, loop: ForOp, *, unit: bool, index: int = -1) -> None:
    """`for i: Y; for v: Z` -> `for i: Y; for ax: Z`, with as much of Z as one pass of the loop makes of Y."""
    name = "reverse_compute_at"
    _check_loop(name, block, loop)
    own_nest(name, block)
    check_own_values(name, block)
    if block.init is not None or any(kind.data != "spatial" for kind in block.kinds):
        refuse(name, "expected a block of spatial variables, got a reduction or an opaque one", block)
    if not covers(block):
        refuse(name, "expected a block that runs at all of its points, got another", block)
    func = function_of(block)
    reads, written = buffers_of(block, writes=False), buffers_of(block, writes=True)
    if both := next((buffer for buffer in reads if buffer in written), None):
        refuse(name, f"expected a block that does not read what it writes, got {name_of_buffer(both)}", block)
    within = set(walk(loop))
    made = [buffer for buffer in reads if any(store in within for store in stores_of(func, buffer))]
    if len(made) != 1 or position(loop) >= position(block):
        text = f"expected a loop before that writes one buffer that the block reads, got {len(made)} in {name_of(loop)}"
        refuse(name, text, block, loop)
    (buffer,) = made
    label = name_of_buffer(buffer)
    writers = list(dict.fromkeys(block_of(store) for store in stores_of(func, buffer)))
    producer = writers[0]
    if len(writers) != 1 or producer is None:
        refuse(name, f"expected {label} to have one writer, got {len(writers)}", block, loop)
    stores = stores_of(func, buffer)
    if not covers(producer) or not all(is_whole(producer, store) for store in stores):
        refuse(name, f"expected a producer that stores all of {label} at distinct variables, got another", producer)
    loads = [load for load in loads_of(func, buffer) if block.is_ancestor(load)]
    dims = plain_dims(block, loads[0])
    if dims is None or any(plain_dims(block, load) != dims for load in loads):
        refuse(name, f"expected reads of {label} at distinct variables, got others", block)
    check_settled(name, block, [each for each in reads if each is not buffer], loop)
    for target in written:
        for op in [*stores_of(func, target), *loads_of(func, target)]:
            other = block_of(op)
            if not block.is_ancestor(op) and position(loop) <= position(op) <= position(block):
                text = f"expected {name_of_buffer(target)} to be unused from {name_of(loop)} on, got it used"
                refuse(name, text, block, *([other] if other is not None else []))
    _check_complete(name, block, loop, buffer)
    spans = [_full(known(extent)) for extent in block.domain]
    for number, span in zip(dims, _spans(stores, inside(loop)), strict=True):
        if span is None:
            refuse(name, f"expected indices of {label} that are a span in one pass of {name_of(loop)}", block, loop)
        if span.length < known(block.domain[number]):
            spans[number] = span
    steps = steps_in(loop)
    first = 1 + max(n for n, step in enumerate(steps) if any(step.is_ancestor(store) for store in stores))
    slot = _slot(name, index, first, len(steps), block, loop)
    remove_nest(state, name, block, gone=False)
    made = _regenerated(block, spans, unit=unit)
    if slot < len(steps):
        loop.block.insert_op_before(made, steps[slot])
    else:
        loop.block.add_op(made)
    _check_marks(name, loop)


def _check_complete(name: str, block: BlockOp, loop: ForOp, buffer: SSAValue) -> None:
    """Refuse where an element is not complete at the end of one pass of the loop."""
    around = [*loops_of(loop), loop]
    for number, each in enumerate(around):
        ops = [loop, *([each] if each is not loop else []), block]
        text = f"expected {name_of_buffer(buffer)} to be complete after one pass of {name_of(loop)}"
        remedy = f"the loop {name_of(around[number - 1])}" if number else ""
        check_written_once(name, each, buffer, text, *ops, remedy=remedy)
