"""Sequences and optionals: what is in them is known at import, so that they are taken apart there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.transform import ConcatenateOp, ExpandDimsOp, SqueezeOp, StridedSliceOp
from ...dialects.sizes import ENDLESS, Size, ceil_div, proves, symbols_of
from ...provenance.diagnostics import message
from ...support.dtypes import Array
from ..importing.converter import Converter, Result
from ..importing.sizes import sizes_array
from ..importing.tensor import Tensor, Undecided
from .context import Context
from .shaping import axis_of


@dataclass(frozen=True, eq=False)
class _Parts(Sequence[Tensor]):
    """Parts of one size of an axis, the last one perhaps of less, of which only a call knows how many there are.

    Whoever asks for all of them is told that this is undecided.
    """

    ctx: Context
    """Of the operator that splits."""
    axis: int
    size: int
    squeezed: bool

    @property
    def extent(self) -> int:
        return self.ctx.shape(0)[self.axis]

    @property
    def number(self) -> Size:
        return ceil_div(self.extent, self.size)

    def part(self, ctx: Context, position: int) -> SSAValue:
        """The part at a position, from the end if that is negative, as a value of the node that asks for it."""
        before = (position if position >= 0 else -position - 1) * self.size
        ctx.require_least(self.extent, before + 1, f"whether there is a part {position}")
        begin, end = before, before + self.size
        if position < 0:
            # Counted from the end, which needs no bound of the extent to be known where it is lowered.
            begin = -before - 1 - (self.extent - 1) % self.size
            end = begin + self.size if before else ENDLESS
        ctx.read.append(ctx.tensor(0))
        data = self.ctx.value(0)
        part = ctx.emit(StridedSliceOp, data, begin=(begin,), end=(end,), strides=(1,), axes=(self.axis,))
        return ctx.emit(SqueezeOp, part, axis=(self.axis,)) if self.squeezed else part

    def __len__(self) -> int:
        raise Undecided(message(self.ctx.op_type, "as many parts for all sizes", f"{self.number}", self.ctx.leaf), None)

    def __getitem__(self, index: object) -> Any:
        return range(len(self))[0]


def _items(ctx: Context, index: int = 0) -> list[Tensor]:
    """Return the items of a sequence."""
    tensor = ctx.tensor(index)
    if tensor.items is None:
        ctx.fail("a sequence", f"'{tensor.name}', which is none")
    return list(tensor.items)


def _listed(ctx: Context, items: list[Tensor]) -> Tensor:
    return Tensor(ctx.node.output[0], leaf=ctx.leaf, items=items)


def _position(ctx: Context, index: int, length: int, what: str) -> int:
    """The value of input `index`, from the end if it is negative, which must be below `length`."""
    (at,) = ctx.known_ints(index, what) or (0,)
    if not -length <= at < length:
        ctx.fail(f"{what} in [{-length}, {length})", str(at))
    return at % length


def construct(ctx: Context) -> Tensor:
    return _listed(ctx, [ctx.tensor(index) for index in range(len(ctx.inputs))])


def empty(ctx: Context) -> Tensor:
    return _listed(ctx, [])


def at(ctx: Context) -> Result:
    if isinstance(parts := ctx.tensor(0).items, _Parts):
        (position,) = ctx.known_ints(1, "a position")
        return parts.part(ctx, position)
    items = _items(ctx)
    return items[_position(ctx, 1, len(items), "a position")]


def insert(ctx: Context) -> Tensor:
    items = _items(ctx)
    place = len(items)
    if ctx.has(2):
        (place,) = ctx.known_ints(2, "a position") or (0,)
        if not -len(items) <= place <= len(items):
            ctx.fail(f"a position in [{-len(items)}, {len(items)}]", str(place))
    items.insert(place, ctx.tensor(1))
    return _listed(ctx, items)


def erase(ctx: Context) -> Tensor:
    items = _items(ctx)
    del items[_position(ctx, 1, len(items), "a position") if ctx.has(1) else -1]
    return _listed(ctx, items)


def length(ctx: Context) -> Array:
    parts = ctx.tensor(0).items
    return sizes_array(parts.number) if isinstance(parts, _Parts) else np.asarray(len(_items(ctx)), np.int64)


def split_to_sequence(ctx: Context) -> Tensor:
    """One strided_slice for each part; without `split`, parts of one element, whose axis goes unless it is kept."""
    shape, data = ctx.shape(0), ctx.value(0)
    axis = axis_of(ctx, ctx.int("axis", 0), len(shape))
    squeezed = not ctx.has(1) and not ctx.int("keepdims", 1)
    if symbols_of(shape[axis]) and (not ctx.has(1) or ctx.shape(1) == ()):
        (size,) = ctx.known_ints(1, "a size of parts") if ctx.has(1) else (1,)
        if not proves(size, ">=", 1):
            ctx.fail("a size of parts of at least 1", str(size))
        return Tensor(ctx.node.output[0], leaf=ctx.leaf, items=_Parts(ctx, axis, size, squeezed))
    if ctx.has(1):
        given = ctx.array(1, "sizes of parts")
        if given.ndim:
            sizes = ctx.known_ints(1, "sizes of parts")
        else:
            (size,) = ctx.known_ints(1, "a size of parts")
            sizes = tuple(min(size, shape[axis] - start) for start in range(0, shape[axis], max(size, 1)))
    else:
        sizes = (1,) * shape[axis]
    ctx.require_equal(sum(sizes), shape[axis])
    if sum(sizes) != shape[axis] or min(sizes, default=0) < 0:
        ctx.fail(f"sizes that make up {shape[axis]}", str(list(sizes)))
    parts: list[Tensor] = []
    start = 0
    for size in sizes:
        part = ctx.emit(StridedSliceOp, data, begin=(start,), end=(start + size,), strides=(1,), axes=(axis,))
        if squeezed:
            part = ctx.emit(SqueezeOp, part, axis=(axis,))
        parts.append(Tensor(f"{ctx.node.output[0]}[{len(parts)}]", value=part, leaf=ctx.leaf))
        start += size
    return _listed(ctx, parts)


def concat_from_sequence(ctx: Context) -> SSAValue:
    items = [item.materialise(ctx.builder, ctx.module) for item in _items(ctx)]
    if not items:
        ctx.fail("a sequence with items", "an empty one")
    axis = ctx.int("axis", 0)
    if ctx.int("new_axis", 0):
        items = [ctx.emit(ExpandDimsOp, item, axis=axis, num_newaxis=1) for item in items]
    return ctx.emit(ConcatenateOp, *items, axis=axis)


def optional(ctx: Context) -> Tensor:
    """The value; without an input, nothing."""
    return ctx.tensor(0) if ctx.has(0) else Tensor(ctx.node.output[0], leaf=ctx.leaf, nothing=True)


def has_element(ctx: Context) -> Array:
    return np.asarray(ctx.has(0) and not ctx.tensor(0).nothing)


def get_element(ctx: Context) -> Result:
    if ctx.tensor(0).nothing:
        ctx.fail("an optional with a value", f"'{ctx.tensor(0).name}', which has none")
    return ctx.tensor(0)


TABLE = {
    "ConcatFromSequence": Converter(concat_from_sequence),
    "Optional": Converter(optional),
    "OptionalGetElement": Converter(get_element),
    "OptionalHasElement": Converter(has_element),
    "SequenceAt": Converter(at),
    "SequenceConstruct": Converter(construct),
    "SequenceEmpty": Converter(empty, unread={"dtype": "of items, which there are none of"}),
    "SequenceErase": Converter(erase),
    "SequenceInsert": Converter(insert),
    "SequenceLength": Converter(length),
    "SplitToSequence": Converter(split_to_sequence),
}
