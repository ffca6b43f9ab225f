"""The accesses of a block as sets of elements: in which loops, under which conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ....dialects.affine import flatten, linear, linear_bounds, substitute
from ....dialects.tir import ForOp, IfOp, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ....dialects.tir.index_maps import View, blocks_of, view
from ....dialects.tir.lanes import lanes
from ....dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from ....dialects.tir.prefetch import PrefetchOp
from ....provenance.diagnostics import message
from .access_sets import AccessSet, missing

Access: TypeAlias = LoadOp | StoreOp | MaskedStoreOp


class Touch(NamedTuple):
    """An access, and the views of the branches that it is in."""

    op: Access
    around: tuple[View, ...]
    decided: bool
    """False where data, or sizes that only a call knows, decide whether it happens."""


def touches(block: Block, around: tuple[View, ...] = (), decided: bool = True) -> Iterator[Touch]:
    """The loads and stores of a block and of all inside."""
    for op in block.ops:
        match op:
            case LoadOp() | StoreOp() | MaskedStoreOp():
                yield Touch(op, around, decided)
            case IfOp():
                seen = view(op, {})
                yield from touches(op.block, (*around, seen), decided)
                if op.orelse is not None:
                    negated = seen._replace(guard=tuple(expr * -1 - 1 for expr in seen.guard))
                    yield from touches(op.orelse.block, (*around, negated), decided and len(seen.guard) == 1)
            case _:
                for inner, _ in blocks_of(op, {}):
                    yield from touches(inner, around, decided and isinstance(op, ForOp) and op.is_run())


def unwritten(func: PrimFuncOp) -> list[str]:
    """A message for each result of a kernel of which some element is in no store, with that element.

    What data decides is taken to write all: where a store goes, whether it happens, and what a function that is called
    does; likewise sizes that only a call knows.
    """
    errors: list[str] = []
    stores: dict[SSAValue, list[Touch]] = {}
    for touch in touches(func.block):
        if not isinstance(touch.op, LoadOp):
            stores.setdefault(touch.op.buffer, []).append(touch)
    for buffer in func.block.args[-func.outputs.value.data :] if func.outputs.value.data else ():
        shape = [extent for extent in buffer_of(buffer).get_shape() if isinstance(extent, int)]
        users = [use.operation for use in buffer.uses]
        if len(shape) < len(buffer_of(buffer).get_shape()) or not all(map(_is_plain, users)):
            continue
        numbers: dict[SSAValue, int] = {}
        sets = [_set(touch, numbers) for touch in stores.get(buffer, ())]
        affine = [accesses for accesses in sets if accesses is not None]
        alike = _alike(affine, buffer)
        size = shape if all(len(accesses.map) == len(shape) for accesses in alike) else [prod(shape)]
        element = missing(_of_all(alike, numbers), size) if len(affine) == len(sets) else None
        if element is not None:
            if len(element) < len(shape):
                element = tuple(int(index) for index in np.unravel_index(element[0], shape))
            name = f"%{buffer.name_hint}" if buffer.name_hint else f"argument {buffer.index}"
            found = f"none to {list(element)}" if element else "none"
            location = (stores[buffer][0].op if buffer in stores else func).location
            errors.append(message(func.name, f"a store to every element of {name}", found, location))
    return errors


def _is_plain(op: Operation) -> bool:
    """Return whether what an op does with a buffer is seen from its indices."""
    return isinstance(op, LoadOp | StoreOp | MaskedLoadOp | MaskedStoreOp | PrefetchOp)


def _bounds(value: SSAValue) -> tuple[int, int] | None:
    """The first and last value of a loop variable; None of another value, or where only a call knows."""
    loop = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(loop, ForOp) or value is not loop.var:
        return None
    first, last = loop.bounds
    return (first, last) if isinstance(first, int) and isinstance(last, int) else None


def _alike(sets: list[AccessSet], buffer: SSAValue) -> list[AccessSet]:
    """The sets with places in flat memory, if one has such."""
    strides = buffer_of(buffer).strides
    if all(len(accesses.map) == len(strides) for accesses in sets):
        return sets
    return [
        replace(accesses, map=(flatten(accesses.map, strides),)) if len(accesses.map) == len(strides) else accesses
        for accesses in sets
    ]


def _of_all(sets: list[AccessSet], numbers: dict[SSAValue, int]) -> list[AccessSet]:
    """The sets with ranges of all variables, those of lanes last."""
    ranges = tuple(_bounds(value) or (0, 0) for value in numbers)
    count = len(ranges)
    result: list[AccessSet] = []
    for accesses in sets:
        ((_, lane),) = accesses.ranges
        dims = [AffineDimExpr(i) for i in range(count)]
        exprs = [substitute(expr, [AffineDimExpr(count), *dims]) for expr in (*accesses.map, *accesses.conditions)]
        split = len(accesses.map)
        result.append(AccessSet((*ranges, (0, lane)), tuple(exprs[:split]), tuple(exprs[split:])))
    return result


def _set(touch: Touch, numbers: dict[SSAValue, int]) -> AccessSet | None:
    """The elements of an access, over its lane (dim 0) and the variables behind `numbers` (dim 1 on).

    None where data decides which they are. numbers: the variables so far; new ones are added.
    """
    if not touch.decided:
        return None
    op = touch.op
    seen = view(op, {})
    masks: list[tuple[View, tuple[int, ...]]] = []
    if isinstance(op, MaskedStoreOp):
        if not isinstance(mask := op.mask.owner, MaskOp):
            return None
        masks = [(view(mask, {}), mask.by_lane)]
    views = (seen, *touch.around, *(mask for mask, _ in masks))
    for value in (value for each in views for value in each.values):
        if _bounds(value) is None:
            return None
        numbers.setdefault(value, len(numbers))

    def renumbered(seen: View, exprs: tuple[AffineExpr, ...]) -> list[AffineExpr]:
        return [substitute(expr, [AffineDimExpr(numbers[value] + 1) for value in seen.values]) for expr in exprs]

    map = renumbered(seen, seen.map)
    conditions = renumbered(seen, seen.guard)
    for branch in touch.around:
        conditions += renumbered(branch, branch.guard)
    for mask, steps in masks:
        conditions += [
            expr + AffineDimExpr(0) * step for expr, step in zip(renumbered(mask, mask.map), steps, strict=True)
        ]
    (count,) = lanes(op.result.type if isinstance(op, LoadOp) else op.value.type) or (1,)
    if count > 1:
        type_ = buffer_of(op.buffer)
        ranges = tuple(_bounds(value) or (0, 0) for value in seen.values)
        last, extent = seen.map[-1] + op.step * (count - 1), type_.get_shape()[-1]
        _, most = linear_bounds(linear(last, ranges), ranges)
        if len(map) > 1 and not (isinstance(most, int) and isinstance(extent, int) and most < extent):
            # It may go on in the next row.
            map = [flatten(tuple(map), type_.strides)]
        map[-1] = map[-1] + AffineDimExpr(0) * op.step
    return AccessSet(((0, count - 1),), tuple(map), tuple(conditions))
