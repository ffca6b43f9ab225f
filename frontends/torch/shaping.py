"""Operators that move data or give it another shape, and those that put a changed part back into the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.transform import BroadcastToOp
from ...dialects.sizes import ENDLESS, Size, proves, same, same_shape, size_max, size_min
from ...dialects.sizes.decisions import compared
from ..importing import context
from ..importing.attributes import Int, Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of
from ..meanings import moves, slices
from .context import Context
from .promotion import promoted

END = (1 << 63) - 1
"""The end that stands for the last element."""


# Of values.


def shaped(ctx: Context, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A value in another shape, of sizes; an operator of its own even if the shape is the same."""
    return moves.shaped(Term(ctx, value), shape).value


def broadcast(ctx: Context, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A value of a shape that it broadcasts to."""
    return moves.broadcast(Term(ctx, value), shape).value


def cut(ctx: Context, value: SSAValue, axis: int, start: Size, end: Size, step: int = 1) -> SSAValue:
    """Part of a value along an axis, of bounds inside it."""
    return slices.cut(Term(ctx, value), axis, start, end, step).value


# Shapes.


def _back(function: Callable[..., Term], **attributes: Any) -> Converter[Context]:
    """The row of a function of a changed part, in the element type of the whole."""

    def computed(ctx: Context, shape: tuple[int, ...], part: Term, **options: Any) -> Term:
        return function(part.to(ctx.dtype_of("self")), **options)

    return row(computed, "self:shape src", **attributes)


def _shaped_as(ctx: Context, shape: tuple[int, ...], part: Term) -> Term:
    return moves.shaped(part.to(ctx.dtype_of("self")), shape)


def _copy(ctx: Context, shape: tuple[int, ...], part: Term) -> Term:
    """The source in the shape and element type of what it is copied to."""
    return moves.broadcast(part.to(ctx.dtype_of("self")), shape)


def _flatten(x: Term, start: int, end: int) -> Term:
    start, end, shape = axis_of(x, start), axis_of(x, end), x.shape
    if start > end:
        x.ctx.fail("start_dim of at most end_dim", f"{start}, {end}")
    return moves.shaped(x, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def _unflatten(x: Term, axis: int, sizes: tuple[int, ...]) -> Term:
    axis = axis_of(x, axis)
    inner = moves.filled_in(x.ctx, sizes, x.shape[axis])
    return moves.shaped(x, (*x.shape[:axis], *inner, *x.shape[axis + 1 :]))


def _expand(x: Term, shape: tuple[int, ...]) -> Term:
    """broadcast_to; -1 keeps an extent."""
    before = len(shape) - len(x.shape)
    if before < 0:
        x.ctx.fail(f"at least {len(x.shape)} extents", str(list(shape)))
    kept = [x.shape[at - before] if same(n, -1) and at >= before else n for at, n in enumerate(shape)]
    return moves.broadcast_to(x, kept)


def _squeeze(x: Term, axes: tuple[int, ...] | None) -> Term:
    """Axes of extent 1 away; one of another extent stays."""
    if axes is not None:
        axes = tuple(axis for axis in axes if x.shape and same(x.shape[axis_of(x, axis)], 1))
    return moves.squeeze(x, axes)


# Orders of axes.


def _permuted_back(x: Term, order: tuple[int, ...] | None) -> Term:
    axes = None if order is None else [axis_of(x, axis) for axis in order]
    return moves.transpose(x, axes and [axes.index(at) for at in range(len(axes))])


# Parts.


def bounded(bound: Size, extent: Size) -> Size:
    """A bound of a slice brought inside, as Python does."""
    if same(bound, END):
        return extent
    if isinstance(bound, int) and isinstance(extent, int):
        return min(max(bound + extent if bound < 0 else bound, 0), extent)
    if proves(bound, "<", 0):
        bound = bound + extent
    elif not proves(bound, ">=", 0):
        bound = bound + extent * compared(bound, "<", 0)
    if not proves(bound, ">=", 0):
        bound = size_max(bound, 0)
    # What is known of the symbols is known here, and not where kernels have sizes of their own.
    if proves(bound, "<=", extent):
        return bound
    return extent if proves(bound, ">=", extent) else size_min(bound, extent)


def bounds_of(ctx: context.Context, extent: Size, start: Size, end: Size, step: Size) -> tuple[Size, Size, int]:
    """Start, end and step of a slice, inside the axis."""
    if not isinstance(step, int) or step < 1:
        ctx.fail("a step of at least 1", str(step))
    start, end = bounded(start, extent), bounded(end, extent)
    if isinstance(start, int) and isinstance(end, int):
        end = max(start, end)
    elif not proves(start, "<=", end):
        end = size_max(start, end)
    return start, end, step


def _slice(x: Term, axis: int, start: int, end: int, step: int) -> Term:
    axis = axis_of(x, axis)
    first, last, step = bounds_of(x.ctx, x.shape[axis], start, end, step)
    if same(last, x.shape[axis]) and not isinstance(last, int):
        last = ENDLESS
    return slices.cut(x, axis, first, last, step)


def _narrow(x: Term, axis: int, start: int, length: int) -> Term:
    axis = axis_of(x, axis)
    first = place_in(x.ctx, start, x.shape[axis])
    return slices.cut(x, axis, first, first + length)


def place_in(ctx: context.Context, index: Size, extent: Size) -> Size:
    """A place along an axis, counted from its beginning."""
    if isinstance(index, int) and isinstance(extent, int) and not -extent <= index <= extent:
        ctx.fail(f"a place in [{-extent}, {extent}]", str(index))
    if proves(index, "<", 0):
        return index + extent
    return index if proves(index, ">=", 0) else index + extent * compared(index, "<", 0)


def _select(x: Term, axis: int, index: int) -> Term:
    axis = axis_of(x, axis)
    position = place_in(x.ctx, index, x.shape[axis])
    x.ctx.require_least(x.shape[axis], position + 1, f"whether there is an element {position}")
    return slices.element(x, axis, position)


# Tensors side by side.


def _together(function: Callable[..., Term]) -> Callable[..., Term]:
    """The function, of tensors in the element type where they meet."""

    def computed(*xs: Term, **options: Any) -> Term:
        dtype = xs[0].dtype
        for x in xs[1:]:
            dtype = promoted(dtype, x.dtype)
        return function(*(x.to(dtype) for x in xs), **options)

    return computed


def _concatenate(*xs: Term, axis: int) -> Term:
    """Tensors without elements and of one dimension fit any others."""
    kept = [x for x in xs if not same_shape(x.shape, (0,))] or xs[:1]
    return moves.concatenate(*kept, axis=axis)


def _columns(*xs: Term) -> Term:
    """Along the second axis; a vector is a column."""
    return moves.concatenate(*(x if len(x.shape) > 1 else moves.shaped(x, (*(x.shape or (1,)), 1)) for x in xs), axis=1)


_COPIES = (
    "alias",
    "clone",
    "contiguous",
    "detach",
    "detach_",
    "lift_fresh_copy",
    "lift_fresh",
    "positive",
)
_DIM, _FIRST = Int(name="dim"), Int(0, name="dim")
_SIZE, _ORDER = Ints(name="size"), Ints(None, name="dims")
_SWAP: Any = {
    "first": Int(lambda ctx: ctx.int("axis0"), name="dim0"),
    "second": Int(lambda ctx: ctx.int("axis1"), name="dim1"),
}
_MOVE: Any = {"source": Ints(), "target": Ints(name="destination")}
_MOVE_BACK: Any = {"source": Ints(name="destination"), "target": Ints(name="source")}

TABLE: dict[str, Converter[Context]] = {
    **{f"aten.{name}.default": row(CopyOp, "self") for name in _COPIES},
    **{f"aten.{name}.default": row(_together(_concatenate), "tensors*", axis=_FIRST) for name in ("cat", "concat")},
    **{f"aten.{name}.default": row(moves.transpose, "self", order=_ORDER) for name in ("numpy_T", "permute", "t")},
    **{
        f"aten.squeeze.{form}": row(_squeeze, "self", axes=Ints(None, name="dim"))
        for form in ("default", "dim", "dims")
    },
    "aten.broadcast_tensors.default": row(moves.of_one_shape, "tensors*"),
    "aten.broadcast_to.default": row(BroadcastToOp, "self", shape=_SIZE),
    "aten.column_stack.default": row(_together(_columns), "tensors*"),
    "aten.copy.default": row(_copy, "self:shape src"),
    "aten.dstack.default": row(_together(moves.stacked_in_depth), "tensors*"),
    "aten.expand.default": row(_expand, "self", shape=_SIZE),
    "aten.expand_as.default": row(moves.broadcast, "self other:shape"),
    "aten.flatten.using_ints": row(_flatten, "self", start=Int(0, name="start_dim"), end=Int(-1, name="end_dim")),
    "aten.hstack.default": row(_together(moves.stacked_columns), "tensors*"),
    "aten.mT.default": row(moves.swap_last, "self"),
    "aten.movedim.int": row(moves.move, "self", **_MOVE),
    "aten.movedim.intlist": row(moves.move, "self", **_MOVE),
    "aten.narrow.default": row(_narrow, "self", axis=_DIM, start=Int(), length=Int()),
    "aten.ravel.default": row(moves.flat, "self"),
    "aten.reshape.default": row(moves.reshape, "self", shape=Ints()),
    "aten.reshape_as.default": row(moves.shaped, "self other:shape"),
    "aten.select.int": row(_select, "self", axis=_DIM, index=Int()),
    "aten.slice.Tensor": row(_slice, "self", axis=_FIRST, start=Int(0), end=Int(END), step=Int(1)),
    "aten.stack.default": row(_together(moves.stack), "tensors*", axis=_FIRST),
    "aten.swapaxes.default": row(moves.swap, "self", **_SWAP),
    "aten.swapdims.default": row(moves.swap, "self", **_SWAP),
    "aten.transpose.int": row(moves.swap, "self", **_SWAP),
    "aten.unflatten.int": row(_unflatten, "self", axis=_DIM, sizes=Ints()),
    "aten.unsqueeze.default": row(moves.expand_dims, "self", axes=_DIM),
    "aten.view.default": row(moves.reshape, "self", shape=_SIZE, unread={"stride": "of memory"}),
    "aten._unsafe_view.default": row(moves.reshape, "self", shape=_SIZE),
    "aten.view_as.default": row(moves.shaped, "self other:shape"),
    "aten.vstack.default": row(_together(moves.stacked_rows), "tensors*"),
    "whence.moved_back": _back(moves.move, **_MOVE_BACK),
    "whence.permuted_back": _back(_permuted_back, order=_ORDER),
    "whence.shaped_as": row(_shaped_as, "self:shape src"),
    "whence.swapped_back": _back(moves.swap_last),
    "whence.transposed_back": _back(moves.swap, **_SWAP),
}
