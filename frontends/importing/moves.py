"""Moves of elements that TFLite and TensorFlow share: reshapes, orders of axes and slices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.transform import ReshapeOp, StridedSliceOp, TransposeOp
from ...dialects.sizes import Size, SizeExpr, symbols_of
from .context import Context
from .tensor import Tensor
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
