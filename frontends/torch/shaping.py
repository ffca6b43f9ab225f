"""Operators that move data or give it another shape, and those that put a changed part back into the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.rearrange import StackOp
from ...dialects.relay.transform import (
    BroadcastToOp,
    ConcatenateOp,
    ExpandDimsOp,
    ReshapeOp,
    SqueezeOp,
    StridedSliceOp,
    TransposeOp,
)
from ...dialects.sizes import ENDLESS, Size, SizeExpr, broadcast_sizes, proves, same, same_shape, size_max, size_min
from ...dialects.sizes.decisions import compared
from ..importing.converter import Converter
from ..importing.tensor import dtype_of, shape_of
from .context import Context
from .promotion import cast_to, promoted

_ENDLESS = (1 << 63) - 1
"""The end that stands for the last element."""


def shaped(ctx: Context, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A value in another shape, of sizes; an operator of its own even if the shape is the same."""
    zero = any(not isinstance(extent, int) or extent == 0 for extent in cast("Sequence[Size]", shape))
    return ctx.emit(ReshapeOp, value, newshape=tuple(shape), allowzero=int(zero))


def whole_shape(ctx: Context, own: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """A wanted shape whose -1, if there is one, is what is left."""
    open_ = [at for at, extent in enumerate(cast("Sequence[Size]", wanted)) if same(extent, -1)]
    if not open_:
        return tuple(wanted)
    if len(open_) > 1:
        ctx.fail("at most one -1 in a shape", str(list(wanted)))
    rest = prod(extent for at, extent in enumerate(wanted) if at != open_[0])
    if same(rest, 0):
        ctx.fail("extents above 0 beside -1", str(list(wanted)))
    total = prod(own)
    if not isinstance(cast(Size, rest), SizeExpr):
        ctx.require_multiple(total, rest, f"a shape of {total} elements")
    left = total // rest
    return tuple(left if at == open_[0] else extent for at, extent in enumerate(wanted))


def _reshape(name: str) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        return shaped(ctx, ctx.of("self"), whole_shape(ctx, ctx.shape_of("self"), ctx.ints(name)))

    return Converter(convert)


def _shaped_as(ctx: Context) -> SSAValue:
    """The changed part in the shape and element type of the whole."""
    part = cast_to(ctx, ctx.of("src"), ctx.dtype_of("self"))
    return shaped(ctx, part, ctx.shape_of("self"))


def _flatten(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    start, end = ctx.axis("start_dim", len(shape), 0), ctx.axis("end_dim", len(shape), -1)
    if start > end:
        ctx.fail("start_dim of at most end_dim", f"{start}, {end}")
    return shaped(ctx, ctx.of("self"), (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def _unflatten(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape))
    inner = whole_shape(ctx, shape[axis : axis + 1], ctx.ints("sizes"))
    return shaped(ctx, ctx.of("self"), (*shape[:axis], *inner, *shape[axis + 1 :]))


def _permuted(ctx: Context, order: Sequence[int], name: str = "self") -> SSAValue:
    return ctx.emit(TransposeOp, ctx.of(name), axes=tuple(order))


def _order(ctx: Context) -> list[int]:
    rank = len(ctx.shape_of("self"))
    if not ctx.given("dims"):
        return list(reversed(range(rank)))
    order = [ctx.axis_in(axis, rank) for axis in ctx.ints("dims")]
    if sorted(order) != list(range(rank)):
        ctx.fail(f"an order of {rank} axes", str(order))
    return order


def _swap(ctx: Context) -> list[int]:
    rank = len(ctx.shape_of("self"))
    order = list(range(rank))
    names = ("axis0", "axis1") if ctx.given("axis0") else ("dim0", "dim1")
    if rank:
        a, b = (ctx.axis(name, rank) for name in names)
        order[a], order[b] = order[b], order[a]
    return order


def _moves(ctx: Context) -> list[int]:
    rank = len(ctx.shape_of("self"))
    source = [ctx.axis_in(axis, rank) for axis in ctx.ints("source")]
    target = [ctx.axis_in(axis, rank) for axis in ctx.ints("destination")]
    if len(source) != len(target) or len({*source}) != len(source) or len({*target}) != len(target):
        ctx.fail("as many axes to move as places", f"{source} to {target}")
    order = [-1] * rank
    for old, new in zip(source, target, strict=True):
        order[new] = old
    rest = iter(axis for axis in range(rank) if axis not in source)
    return [next(rest) if old < 0 else old for old in order]


def _reordered(order: Callable[[Context], list[int]]) -> Converter[Context]:
    return Converter(lambda ctx: _permuted(ctx, order(ctx)))


def _ordered_back(order: Callable[[Context], list[int]]) -> Converter[Context]:
    def convert(ctx: Context) -> SSAValue:
        axes = order(ctx)
        part = cast_to(ctx, ctx.of("src"), ctx.dtype_of("self"))
        return ctx.emit(TransposeOp, part, axes=tuple(axes.index(at) for at in range(len(axes))))

    return Converter(convert)


def _swapped_back(ctx: Context) -> SSAValue:
    """A changed part whose last two axes stand in each other's place."""
    part = cast_to(ctx, ctx.of("src"), ctx.dtype_of("self"))
    rank = len(shape_of(part))
    return ctx.emit(TransposeOp, part, axes=(*range(rank - 2), rank - 1, rank - 2))


def _copied(ctx: Context) -> SSAValue:
    return ctx.emit(CopyOp, ctx.value(0))


def _copy(ctx: Context) -> SSAValue:
    """The source in the shape and element type of what it is copied to."""
    source = cast_to(ctx, ctx.of("src"), ctx.dtype_of("self"))
    return broadcast(ctx, source, ctx.shape_of("self"))


def broadcast(ctx: Context, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A value of a shape that it broadcasts to."""
    return value if same_shape(shape_of(value), shape) else ctx.emit(BroadcastToOp, value, shape=tuple(shape))


def of_one_shape(ctx: Context, *names: str) -> list[SSAValue]:
    """Arguments in the shape to which they broadcast."""
    shape: tuple[Size, ...] = ()
    for name in names:
        wider = broadcast_sizes(shape, ctx.shape_of(name))
        if wider is None:
            ctx.fail("shapes that broadcast", str([list(ctx.shape_of(other)) for other in names]))
        shape = wider
    return [broadcast(ctx, ctx.of(name), cast("tuple[int, ...]", shape)) for name in names]


def _expand(ctx: Context) -> SSAValue:
    """broadcast_to; -1 keeps an extent."""
    own, wanted = ctx.shape_of("self"), ctx.ints("size")
    if len(wanted) < len(own):
        ctx.fail(f"at least {len(own)} extents", str(list(wanted)))
    before = len(wanted) - len(own)
    shape = [own[at - before] if same(extent, -1) and at >= before else extent for at, extent in enumerate(wanted)]
    return ctx.emit(BroadcastToOp, ctx.of("self"), shape=shape)


def _like(op: Callable[[Context, SSAValue, Sequence[int]], SSAValue]) -> Converter[Context]:
    """In the shape of another tensor."""
    return Converter(lambda ctx: op(ctx, ctx.of("self"), ctx.shape_of("other")))


def _broadcast_to(ctx: Context) -> SSAValue:
    return ctx.emit(BroadcastToOp, ctx.of("self"), shape=ctx.ints("size"))


def _squeeze(ctx: Context) -> SSAValue:
    """Axes of extent 1 away; one of another extent stays."""
    shape: Sequence[Size] = ctx.shape_of("self")
    axes = range(len(shape))
    if ctx.given("dim"):
        axes = sorted({ctx.axis_in(axis, len(shape)) for axis in ctx.ints("dim")}) if shape else []
    gone = [axis for axis in axes if same(shape[axis], 1)]
    return ctx.emit(SqueezeOp, ctx.of("self"), axis=gone) if gone else ctx.emit(CopyOp, ctx.of("self"))


def _unsqueeze(ctx: Context) -> SSAValue:
    return ctx.emit(ExpandDimsOp, ctx.of("self"), axis=ctx.axis("dim", len(ctx.shape_of("self")) + 1))


def bounded(ctx: Context, bound: Size, extent: Size) -> Size:
    """A bound of a slice brought inside, as Python does."""
    if same(bound, _ENDLESS):
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


def bounds_of(ctx: Context, extent: Size) -> tuple[Size, Size, int]:
    """Start, end and step of a slice, inside the axis."""
    step = ctx.int("step", 1)
    if not isinstance(cast(Size, step), int) or step < 1:
        ctx.fail("a step of at least 1", str(step))
    start = bounded(ctx, ctx.int("start", 0), extent)
    end = bounded(ctx, ctx.int("end", _ENDLESS), extent)
    if isinstance(start, int) and isinstance(end, int):
        end = max(start, end)
    elif not proves(start, "<=", end):
        end = size_max(start, end)
    return start, end, step


def cut(ctx: Context, value: SSAValue, axis: int, start: Size, end: Size, step: int = 1) -> SSAValue:
    """Part of a value along an axis, of bounds inside it."""
    begin, stop = cast(int, start), cast(int, end)
    return ctx.emit(StridedSliceOp, value, begin=(begin,), end=(stop,), strides=(step,), axes=(axis,))


def _slice(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape), 0)
    start, end, step = bounds_of(ctx, shape[axis])
    if same(end, shape[axis]) and not isinstance(end, int):
        end = ENDLESS
    return cut(ctx, ctx.of("self"), axis, start, end, step)


def _narrow(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape))
    start = place_in(ctx, ctx.int("start"), shape[axis])
    return cut(ctx, ctx.of("self"), axis, start, start + ctx.int("length"))


def place_in(ctx: Context, index: Size, extent: Size) -> Size:
    """A place along an axis, counted from its beginning."""
    if isinstance(index, int) and isinstance(extent, int) and not -extent <= index <= extent:
        ctx.fail(f"a place in [{-extent}, {extent}]", str(index))
    if proves(index, "<", 0):
        return index + extent
    return index if proves(index, ">=", 0) else index + extent * compared(index, "<", 0)


def _select(ctx: Context) -> SSAValue:
    shape = ctx.shape_of("self")
    axis = ctx.axis("dim", len(shape))
    position = place_in(ctx, ctx.int("index"), shape[axis])
    ctx.require_least(shape[axis], position + 1, f"whether there is an element {position}")
    part = cut(ctx, ctx.of("self"), axis, position, position + 1)
    return ctx.emit(SqueezeOp, part, axis=(axis,))


def _together(ctx: Context) -> list[SSAValue]:
    """A list of tensors in the element type where they meet."""
    result = ctx.list_of("tensors")
    if not result:
        ctx.fail("at least one tensor", "none")
    dtype = dtype_of(result[0])
    for value in result[1:]:
        dtype = promoted(dtype, dtype_of(value))
    return [cast_to(ctx, value, dtype) for value in result]


def _cat(ctx: Context) -> SSAValue:
    values = _together(ctx)
    kept = [value for value in values if not same_shape(shape_of(value), (0,))] or values[:1]
    axis = ctx.axis("dim", len(shape_of(kept[0])), 0)
    if len(kept) == 1:
        return ctx.emit(CopyOp, kept[0])
    first = shape_of(kept[0])
    for other in map(shape_of, kept[1:]):
        for at in (at for at in range(len(first)) if at != axis and len(other) == len(first)):
            ctx.require_equal(first[at], other[at])
    return ctx.emit(ConcatenateOp, *kept, axis=axis)


def _stack(ctx: Context) -> SSAValue:
    values = _together(ctx)
    return ctx.emit(StackOp, *values, axis=ctx.axis("dim", len(shape_of(values[0])) + 1, 0))


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

TABLE: dict[str, Converter[Context]] = {
    **{f"aten.{name}.default": Converter(_copied) for name in _COPIES},
    "aten.broadcast_to.default": Converter(_broadcast_to),
    "aten.cat.default": Converter(_cat),
    "aten.concat.default": Converter(_cat),
    "aten.copy.default": Converter(_copy),
    "aten.expand.default": Converter(_expand),
    "aten.expand_as.default": _like(broadcast),
    "aten.flatten.using_ints": Converter(_flatten),
    "aten.movedim.int": _reordered(_moves),
    "aten.movedim.intlist": _reordered(_moves),
    "aten.narrow.default": Converter(_narrow),
    "aten.numpy_T.default": _reordered(_order),
    "aten.permute.default": _reordered(_order),
    "aten.reshape.default": _reshape("shape"),
    "aten.reshape_as.default": _like(shaped),
    "aten.select.int": Converter(_select),
    "aten.slice.Tensor": Converter(_slice),
    "aten.squeeze.default": Converter(_squeeze),
    "aten.squeeze.dim": Converter(_squeeze),
    "aten.squeeze.dims": Converter(_squeeze),
    "aten.stack.default": Converter(_stack),
    "aten.t.default": _reordered(_order),
    "aten.swapaxes.default": _reordered(_swap),
    "aten.swapdims.default": _reordered(_swap),
    "aten.transpose.int": _reordered(_swap),
    "aten.unflatten.int": Converter(_unflatten),
    "aten.unsqueeze.default": Converter(_unsqueeze),
    "aten.view.default": replace(_reshape("size"), unread={"stride": "of memory"}),
    "aten._unsafe_view.default": _reshape("size"),
    "aten.view_as.default": _like(shaped),
    "whence.moved_back": _ordered_back(_moves),
    "whence.permuted_back": _ordered_back(_order),
    "whence.shaped_as": Converter(_shaped_as),
    "whence.swapped_back": Converter(_swapped_back),
    "whence.transposed_back": _ordered_back(_swap),
}
