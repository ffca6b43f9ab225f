"""compute_inline and reverse_compute_inline: a block becomes part of those that read it, or of the one it reads."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.affine import below, bounds, linear, substitute
from ...dialects.sizes.kernel import affine_map, at_least
from ...dialects.tir import BlockOp, LoadOp, StoreOp, buffer_of
from ...passes.tir.rewriting.ops import drop
from ...provenance.walk import walk
from ..language.layouts import inverse_layout
from .accesses import block_of, buffers_of, name_of_buffer
from .bindings import Place, rewrite_maps
from .bodies import (
    check_settled,
    copied,
    covers,
    intermediate,
    is_whole,
    loads_of,
    plain_dims,
    position,
    remove_nest,
    stores_of,
    the_store,
    tree_of,
)
from .state import State, function_of, refuse


def compute_inline(state: State, block: BlockOp) -> None:
    """`Y[v] = f(X[v]); Z[v] = g(Y[v + 1])` -> `Z[v] = g(f(X[v + 1]))`. Raises ScheduleError where that is not so."""
    store = the_store("compute_inline", block)
    alloc = intermediate("compute_inline", block, store)
    func, name = function_of(block), name_of_buffer(store.buffer)
    dims = plain_dims(block, store)
    if dims is None or not is_whole(block, store):
        refuse("compute_inline", f"expected a store to all of {name} at distinct variables, got another", block)
    if block.guards:
        refuse("compute_inline", "expected a block without a condition, got one", block, remedy="inline before splits")
    reads = buffers_of(block, writes=False)
    check_settled("compute_inline", block, reads, block)
    if store.buffer in reads:
        refuse("compute_inline", f"expected a block that does not read {name}, got one that does", block)
    loads = loads_of(func, store.buffer)
    for load in loads:
        reader = block_of(load)
        if load.guard is not None or load.result.type != store.value.type:
            what = "a condition" if load.guard is not None else "a vector"
            refuse("compute_inline", f"expected plain loads of {name}, got one with {what}", block)
        if not _follows(load, block):
            text = f"expected readers of {name} behind it, got one before"
            refuse("compute_inline", text, block, *([reader] if reader is not None else []))
    for load in loads:
        point = Place(load.map.data.results, tuple(load.indices))
        by = {block.block.args[dim]: Place((expr,), point.values) for dim, expr in zip(dims, point.exprs, strict=True)}
        value = _copied(block, by, {}, load, store)
        load.result.replace_all_uses_with(value)
        drop(load, "compute_inline", "its value is computed here")
    remove_nest(state, "compute_inline", block, gone=True)
    drop(alloc, "compute_inline", "nothing is stored in it")


def _copied(
    block: BlockOp,
    by: Mapping[Any, Place],
    known: Mapping[SSAValue, SSAValue],
    before: Operation,
    store: StoreOp,
) -> SSAValue:
    """Copy the arithmetic of a block in front of an op, its variables replaced; returns the copy of what it stores.

    known: values that stand for some of the block's.
    """
    ops, values = copied([op for op in block.block.ops if op is not store], by, known)
    target = before.parent
    assert target is not None
    for op in ops:
        target.insert_op_before(op, before)
    return values[store.value]


def reverse_compute_inline(state: State, block: BlockOp) -> None:
    """`Y[v] = f(X[v]); Z[v] = g(Y[v])` -> `Z[v] = g(f(X[v]))` in the nest of Y. Raises ScheduleError otherwise."""
    name = "reverse_compute_inline"
    store = the_store(name, block)
    func = function_of(block)
    sources = {
        op.buffer: inverse
        for op in block.block.ops
        if isinstance(op, LoadOp) and len(_writers(op)) == 1 and (inverse := _inverse(block, op)) is not None
    }
    inlined = [buffer for buffer in sources if _is_intermediate(buffer)]
    if len(inlined) != 1:
        text = f"expected one producer that stores all that it reads, got {len(inlined)}"
        refuse(name, text, block)
    (buffer,) = inlined
    loads = loads_of(func, buffer)
    (producer,) = _writers(loads[0])
    if producer.init is not None:
        text = f"expected a producer that stores each element once, got the reduction {producer.label.data}"
        remedy = f'reverse_compute_at("{block.label.data}", a loop around it)'
        refuse(name, text, block, producer, remedy=remedy)
    if not _follows(block, producer):
        refuse(name, "expected the producer before, got it behind", block, producer)
    target = the_store(name, producer)
    alloc = intermediate(name, producer, target)
    if any(not block.is_ancestor(load) for load in loads):
        other = next(each for load in loads if (each := block_of(load)) is not None and each is not block)
        text = f"expected {name_of_buffer(buffer)} to be read here only, got another reader"
        refuse(name, text, block, other)
    points = {Place(load.map.data.results, tuple(load.indices)).simplified() for load in loads}
    if len(points) != 1 or any(load.guard is not None for load in loads):
        refuse(name, f"expected loads of {name_of_buffer(buffer)} at one place, got several", block)
    if (
        block.guards
        or producer.guards
        or not covers(producer)
        or _inverse(producer, target) is None
        or not covers(block)
    ):
        refuse(name, "expected blocks that run once at each element, without conditions, got others", block, producer)
    others = [each for each in buffers_of(block, writes=False) if each is not buffer]
    check_settled(name, block, others, producer)
    for op in [*stores_of(func, store.buffer), *loads_of(func, store.buffer)]:
        if op is not store and position(op) <= position(block):
            refuse(name, f"expected {name_of_buffer(store.buffer)} to be unused before, got it used", block)
    if store.buffer is buffer or store.buffer in others:
        refuse(name, "expected a block that does not read what it writes, got one that does", block)
    indices = target.map.data.results
    by = {
        argument: Place((substitute(expr, indices),), tuple(target.indices))
        for argument, expr in zip(block.block.args, sources[buffer], strict=True)
    }
    value = _copied(block, by, {load.result: target.value for load in loads}, target, store)
    made = StoreOp.make(value, store.buffer, store.map.data, store.indices)
    made.location = store.location
    producer.block.insert_op_before(made, target)
    rewrite_maps(made, by)
    drop(target, name, "its value is used here")
    remove_nest(state, name, block, gone=True)
    drop(alloc, name, "nothing is stored in it")


def _follows(op: Operation, block: BlockOp) -> bool:
    """Return whether an op is behind a block, in a later nest or in the same one."""
    if position(op) != position(block):
        return position(op) > position(block)
    order = list(walk(tree_of(block)))
    return order.index(op) > order.index(block) and not block.is_ancestor(op)


def _inverse(block: BlockOp, access: LoadOp | StoreOp) -> tuple[AffineExpr, ...] | None:
    """The variables of a block by the indices of an access; None unless each element is named at one point."""
    if is_whole(block, access):
        dims = plain_dims(block, access)
        return None if dims is None else tuple(AffineDimExpr(dims.index(n)) for n in range(len(block.domain)))
    arguments: list[SSAValue] = list(block.block.args)
    shape = buffer_of(access.buffer).get_shape()
    extents = [extent for extent in (*block.domain, *shape) if isinstance(extent, int)]
    if not set(access.indices) <= set(arguments) or len(extents) != len(arguments) + len(shape):
        return None
    domain = extents[: len(arguments)]
    ranges = tuple((0, extent - 1) for extent in domain)
    exprs = [
        substitute(expr, [AffineDimExpr(arguments.index(v)) for v in access.indices])
        for expr in access.map.data.results
    ]
    inverse = inverse_layout(affine_map(len(arguments), tuple(exprs)), domain)
    if inverse is None or prod(domain) != prod(extents[len(arguments) :]):
        return None
    inside = all(
        at_least((limits := bounds(expr, ranges))[0], 0) and below(limits[1], extent)
        for expr, extent in zip(exprs, shape, strict=True)
    )
    # As many elements as points, and from each element back to its point.
    back = (linear(substitute(expr, exprs) + AffineDimExpr(n) * -1, ranges) for n, expr in enumerate(inverse))
    return inverse if inside and all(not form.terms and form.constant == 0 for form in back) else None


def _writers(load: LoadOp) -> list[BlockOp]:
    stores = stores_of(function_of(load), load.buffer)
    return list(dict.fromkeys(block for store in stores if (block := block_of(store)) is not None))


def _is_intermediate(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, Operation)
