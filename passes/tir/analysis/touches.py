"""The stores of a kernel as sets of elements: which results they leave unwritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, product
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....dialects.affine import flatten
from ....dialects.tir import UNBOUNDED, ForOp, LoadOp, PrimFuncOp, StoreOp, buffer_of
from ....dialects.tir.masked import MaskedLoadOp, MaskedStoreOp
from ....dialects.tir.prefetch import PrefetchOp
from ....provenance.diagnostics import message
from .access_sets import AccessSet, missing
from .accesses import Nest, Touch, name_of
from .meetings import Variable

Store: TypeAlias = StoreOp | MaskedStoreOp
_MANY = 64
"""The most cases of the conditions of one store that are told apart."""


def unwritten(func: PrimFuncOp) -> list[str]:
    """A message for each result of a kernel of which some element is in no store, with that element.

    What data decides is taken to write all: where a store goes, whether it happens, and what a function that is called
    does; likewise sizes that only a call knows.
    """
    errors: list[str] = []
    stores: dict[SSAValue, list[Store]] = {}
    for op in func.walk():
        if isinstance(op, StoreOp | MaskedStoreOp):
            stores.setdefault(op.buffer, []).append(op)
    for buffer in func.block.args[-func.outputs.value.data :] if func.outputs.value.data else ():
        element = _missing(buffer, stores.get(buffer, ()))
        if element is not None:
            found = f"none to {list(element)}" if element else "none"
            location = (stores[buffer][0] if buffer in stores else func).location
            errors.append(message(func.name, f"a store to every element of {name_of(buffer)}", found, location))
    return errors


def _missing(buffer: SSAValue, stores: Sequence[Store]) -> tuple[int, ...] | None:
    """An element of a buffer that no store writes, if one is found."""
    shape = [extent for extent in buffer_of(buffer).get_shape() if isinstance(extent, int)]
    if len(shape) < len(buffer_of(buffer).get_shape()) or not all(_is_plain(use.operation) for use in buffer.uses):
        return None
    nest = Nest()
    sets: list[AccessSet] = []
    for op in stores:
        touch = nest.touch(op)
        found = [] if touch is None else _sets(touch, nest)
        if found is None:
            return None
        sets += found
    if all(len(accesses.map) == len(shape) for accesses in sets):
        return missing(sets, shape)
    strides = buffer_of(buffer).strides
    flat = [replace(one, map=(flatten(one.map, strides),)) if len(one.map) == len(shape) else one for one in sets]
    element = missing(flat, [prod(shape)])
    return None if element is None else tuple(int(index) for index in np.unravel_index(element[0], shape))


def _is_plain(op: Operation) -> bool:
    """Return whether what an op does with a buffer is seen from its indices."""
    return isinstance(op, LoadOp | StoreOp | MaskedLoadOp | MaskedStoreOp | PrefetchOp)


def _sets(touch: Touch, nest: Nest) -> list[AccessSet] | None:
    """The elements of an access, for each case of its conditions; None where data or a call decides which they are."""
    access = touch.access
    if access is None or not touch.certain or prod(map(len, access.clauses)) > _MANY:
        return None
    exprs = [*access.map, *chain.from_iterable(chain.from_iterable(access.clauses))]
    used = set[int]().union(*(expr.used_dims() for expr in exprs))
    ranges: list[tuple[int, int]] = []
    for dim, variable in enumerate(access.variables):
        first, last = ends = nest.range_of(variable)
        if isinstance(first, int) and isinstance(last, int) and ends != UNBOUNDED:
            ranges.append((first, last))
        elif dim not in used and _is_run(variable):
            ranges.append((0, 0))
        else:
            return None
    return [AccessSet(tuple(ranges), access.map, tuple(chain.from_iterable(one))) for one in product(*access.clauses)]


def _is_run(variable: Variable) -> bool:
    """Return whether the loop of a variable has an iteration for sure."""
    loop = variable.owner.parent_op() if isinstance(variable, BlockArgument) else None
    return isinstance(loop, ForOp) and loop.is_run()
