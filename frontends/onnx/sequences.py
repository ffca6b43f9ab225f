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
from ..importing.attributes import Flag, Int
from ..importing.converter import Converter, Result
from ..importing.rows import row
from ..importing.sizes import sizes_array
from ..importing.tensor import Tensor, Undecided
from ..importing.terms import Term
from ..meanings.moves import squeeze
from ..meanings.slices import split_by_sizes
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


def _items(ctx: Context, sequence: Tensor) -> list[Tensor]:
    """Return the items of a sequence."""
    if sequence.items is None:
        ctx.fail("a sequence", f"'{sequence.name}', which is none")
    return list(sequence.items)


def _listed(ctx: Context, items: Sequence[Tensor]) -> Tensor:
    return Tensor(ctx.node.output[0], leaf=ctx.leaf, items=items)


def _place(ctx: Context, position: int, length: int) -> int:
    """A position, from the end if it is negative, which must be below `length`."""
    if not -length <= position < length:
        ctx.fail(f"a position in [{-length}, {length})", str(position))
    return position % length


def construct(ctx: Context, *items: Tensor) -> Tensor:
    return _listed(ctx, items)


def at(ctx: Context, sequence: Tensor, position: int) -> Result:
    if isinstance(parts := sequence.items, _Parts):
        return parts.part(ctx, position)
    items = _items(ctx, sequence)
    return items[_place(ctx, position, len(items))]


def insert(ctx: Context, sequence: Tensor, item: Tensor, position: int | None) -> Tensor:
    items = _items(ctx, sequence)
    if position is not None and not -len(items) <= position <= len(items):
        ctx.fail(f"a position in [{-len(items)}, {len(items)}]", str(position))
    items.insert(len(items) if position is None else position, item)
    return _listed(ctx, items)


def erase(ctx: Context, sequence: Tensor, position: int | None) -> Tensor:
    items = _items(ctx, sequence)
    del items[-1 if position is None else _place(ctx, position, len(items))]
    return _listed(ctx, items)


def length(ctx: Context, sequence: Tensor) -> Array:
    parts = sequence.items
    return sizes_array(parts.number) if isinstance(parts, _Parts) else np.asarray(len(_items(ctx, sequence)), np.int64)


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
    parts = [squeeze(part, [axis]) if squeezed else part for part in split_by_sizes(Term(ctx, data), sizes, axis)]
    name = ctx.node.output[0]
    return _listed(ctx, [Tensor(f"{name}[{at}]", value=x.value, leaf=ctx.leaf) for at, x in enumerate(parts)])


def concat_from_sequence(ctx: Context, sequence: Tensor, axis: int, new_axis: bool) -> SSAValue:
    items = [item.materialise(ctx.builder, ctx.module) for item in _items(ctx, sequence)]
    if not items:
        ctx.fail("a sequence with items", "an empty one")
    if new_axis:
        items = [ctx.emit(ExpandDimsOp, item, axis=axis, num_newaxis=1) for item in items]
    return ctx.emit(ConcatenateOp, *items, axis=axis)


def optional(ctx: Context, value: Tensor | None) -> Tensor:
    """The value; without an input, nothing."""
    return Tensor(ctx.node.output[0], leaf=ctx.leaf, nothing=True) if value is None else value


def has_element(value: Tensor | None) -> Array:
    return np.asarray(value is not None and not value.nothing)


def get_element(ctx: Context, value: Tensor) -> Tensor:
    if value.nothing:
        ctx.fail("an optional with a value", f"'{value.name}', which has none")
    return value


TABLE = {
    "ConcatFromSequence": row(concat_from_sequence, "input_sequence:tensor", axis=Int(0), new_axis=Flag(False)),
    "Optional": row(optional, "input:tensor?"),
    "OptionalGetElement": row(get_element, "input:tensor"),
    "OptionalHasElement": row(has_element, "input:tensor?"),
    "SequenceAt": row(at, "input_sequence:tensor position:size"),
    "SequenceConstruct": row(construct, "inputs:tensor*"),
    "SequenceEmpty": row(construct, unread={"dtype": "of items, which there are none of"}),
    "SequenceErase": row(erase, "input_sequence:tensor position:size?"),
    "SequenceInsert": row(insert, "input_sequence:tensor tensor:tensor position:size?"),
    "SequenceLength": row(length, "input_sequence:tensor"),
    "SplitToSequence": Converter(split_to_sequence),
}
