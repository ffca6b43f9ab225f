"""Moves of elements that TFLite and TensorFlow share: reshapes, orders of axes, slices and gathers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ...dialects.relay.indexing import GatherNdOp
from ...dialects.relay.transform import ReshapeOp, StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, symbols_of
from .context import Context
from .tensor import Tensor, shape_of
from .terms import Term, constant


def reshape_to(ctx: Context, shape: Sequence[int]) -> SSAValue:
    """Reshape input 0; one extent may be -1."""
    old = ctx.shape(0)
    if any(isinstance(extent, SizeExpr) for extent in cast("tuple[Size, ...]", (*old, *shape))):
        return ctx.emit(ReshapeOp, ctx.value(0), newshape=shape, allowzero=1)
    known_elements = prod(extent for extent in shape if extent != -1)
    if shape.count(-1) == 1 and known_elements and prod(old) % known_elements == 0:
        shape = tuple(prod(old) // known_elements if extent == -1 else extent for extent in shape)
    if prod(shape) != prod(old) or any(extent < 0 for extent in shape):
        ctx.fail(f"a shape of {prod(old)} elements", str(list(shape)))
    return ctx.emit(ReshapeOp, ctx.value(0), newshape=shape, allowzero=1 * (0 in shape))


def arranged(ctx: Context, tensor: Tensor, axes: Sequence[int] = (), shape: Sequence[int] | None = None) -> Term:
    """Transpose, then reshape a weight; a known one stays a constant of the same tensor."""
    if tensor.array is None or tensor.symbolic or not (axes or shape):
        x = Term(ctx, tensor.materialise(ctx.builder, ctx.module))
        x = x.apply(TransposeOp, axes=axes) if axes else x
        return x if shape is None else x.reshape(*shape)
    array = tensor.array.transpose(axes) if axes else tensor.array
    with ctx.builder.located(tensor.location):
        return constant(ctx, np.ascontiguousarray(array if shape is None else array.reshape(shape)), tensor.name)


def transpose(ctx: Context) -> SSAValue:
    """Bring the axes of input 0 into the order of input 1."""
    order, rank = ctx.known_ints(1, "an order of axes"), len(ctx.shape(0))
    if sorted(axis % rank if rank else axis for axis in order) != list(range(rank)):
        ctx.fail(f"an order of {rank} axes", str(list(order)))
    return ctx.emit(TransposeOp, ctx.value(0), axes=[axis % rank for axis in order])


def slice_from(ctx: Context, begin: Sequence[int], size: Sequence[int]) -> SSAValue:
    """Slice `size` elements of input 0 from `begin` on along each axis; -1 means all remaining ones."""
    shape = ctx.shape(0)
    if not len(begin) == len(size) == len(shape):
        ctx.fail(f"{len(shape)} begins and sizes", f"{list(begin)} and {list(size)}")
    end = [e if s == -1 else b + s for b, s, e in zip(begin, size, shape, strict=True)]
    for b, e, extent in zip(begin, end, shape, strict=True):
        if any(map(symbols_of, (b, e, extent))):
            for size_ in (b, e - b, extent - e):
                ctx.require(size_)
        elif not 0 <= b <= e <= extent:
            ctx.fail(f"a slice of {list(shape)}", f"begins {list(begin)} and sizes {list(size)}")
    return ctx.emit(StridedSliceOp, ctx.value(0), begin=begin, end=end, strides=(1,) * len(shape))


def check_inside(ctx: Context, index: int, extents: tuple[int, ...]) -> None:
    """Raise FrontendError if input `index` is known and has points, along its last axis, out of bounds."""
    array = ctx.tensor(index).array
    if array is None or array.dtype.kind not in "iu" or not array.size or any(map(symbols_of, extents)):
        return
    numbers: NDArray[np.int64] = array.astype(np.int64)
    if numbers.min() < 0 or np.max(numbers - np.asarray(extents)) >= 0:
        ctx.fail(f"indices below {', '.join(map(str, extents))}", f"{numbers.min()} to {numbers.max()}")


def gather_along(ctx: Context, axis: int, batch: int) -> SSAValue:
    """Gather input 0 at input 1 along an axis; the first `batch` axes go along in data and indices."""
    data, indices = ctx.value(0), ctx.value(1)
    rank, index_rank = len(shape_of(data)), len(shape_of(indices))
    if not 0 <= batch <= min(axis, index_rank) or axis >= rank:
        ctx.fail(f"batch dimensions up to axis {axis}", str(batch))
    check_inside(ctx, 1, (shape_of(data)[axis],))
    if not batch:
        return ctx.emit(TakeOp, data, indices, axis=axis)
    # The axis moves right behind the batch; the axes that replace it move back to its place.
    order = [*range(batch), axis, *range(batch, axis), *range(axis + 1, rank)]
    points = ctx.emit(ReshapeOp, indices, newshape=(1, *shape_of(indices)))
    rows = ctx.emit(GatherNdOp, ctx.emit(TransposeOp, data, axes=order), points, batch_dims=batch)
    index_axes, axes_between = index_rank - batch, axis - batch
    total = len(shape_of(rows))
    back = [*range(batch), *range(batch + index_axes, batch + index_axes + axes_between)]
    back += [*range(batch, batch + index_axes), *range(batch + index_axes + axes_between, total)]
    return ctx.emit(TransposeOp, rows, axes=back)
