"""The kind of a reduction, read off where it reads its operands, for stages that neither lowering nor user names.

A kind says which schedule is fast, never what a stage computes: any schedule leaves that as it is.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.affine import Range, linear
from ...dialects.te import ComputeOp, ReadOp

_CASTS = (arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp, arith.ExtUIOp, arith.SIToFPOp, arith.UIToFPOp)
_PRODUCTS = (arith.MulfOp, arith.MuliOp)
_IMAGES = 4
"""The dimensions of images: batch, channels, rows, columns."""


class _Read(NamedTuple):
    """A read operand: the axes that each index adds up, by number, those of one point left out."""

    indices: tuple[frozenset[int], ...]
    is_plain: bool
    """True if every index is one axis, or a number, and all points are elements."""

    @property
    def axes(self) -> frozenset[int]:
        return frozenset[int]().union(*self.indices)


def structural_tag(compute: ComputeOp) -> str:
    """Return the tag of a reduction, or nothing where it is none of these.

    `dense`: `C[.., i, j] = sum(A[..] * B[..])`, each index an axis, i in one operand and j in the other.
    `conv2d_nchw`: `sum(A[n, c, y + ky, x + kx] * W[o, c, ky, kx])`, with any strides, dilations and offsets.
    `depthwise_conv2d_nchw`: the same where an index of A is o. `pool_max`, `pool_sum`: such windows without weights.
    """
    if compute.reducer is None or len(compute.results) != 1 or compute.inits:
        return ""
    reducer = compute.reducer.data
    factors = _factors(compute.yielded) if reducer == "sum" else [_uncast(compute.yielded)]
    reads = [_read(compute, value) for value in factors]
    match reads:
        case [_Read() as first, _Read() as second]:
            if _is_matrix_product(compute, first, second):
                return "dense"
            return _convolution(compute, first, second) or _convolution(compute, second, first)
        case [_Read() as image] if reducer in ("sum", "max") and _has_window(compute, image):
            return f"pool_{reducer}"
        case _:
            return ""


def _factors(value: SSAValue) -> list[SSAValue]:
    """The operands of a product, without casts; a value that is none, alone."""
    product = _uncast(value).owner
    return list(map(_uncast, product.operands)) if isinstance(product, _PRODUCTS) else [_uncast(value)]


def _uncast(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, _CASTS):
        value = value.owner.operands[0]
    return value


def _read(compute: ComputeOp, value: SSAValue) -> _Read | None:
    """A read at sums of axes; None for other values."""
    read = value.owner
    numbers: dict[SSAValue, int] = {axis: number for number, axis in enumerate(compute.block.args)}
    if not isinstance(read, ReadOp) or any(index not in numbers for index in read.indices):
        return None
    extents = (*compute.shape, *compute.reduce_shape)
    ranges: tuple[Range, ...] = tuple((0, extents[numbers[index]] - 1) for index in read.indices)
    indices: list[frozenset[int]] = []
    is_plain = read.otherwise is None
    for expr in read.map.data.results:
        form = linear(expr, ranges)
        positions = [atom.position for atom, _ in form.terms if isinstance(atom, AffineDimExpr)]
        if len(positions) < len(form.terms):
            return None
        is_plain &= len(positions) < 2 and all(factor == 1 for _, factor in form.terms)
        indices.append(frozenset(numbers[read.indices[position]] for position in positions))
    return _Read(tuple(indices), is_plain)


def _is_matrix_product(compute: ComputeOp, first: _Read, second: _Read) -> bool:
    """Return whether the last two axes of data are in one operand each, not the same, and all terms in both.

    One operand has an index for each of its axes. The other may have sums of axes, as images with channels last have.
    """
    data, one, other = compute.rank, first.axes, second.axes
    row, column = data - 2, data - 1
    terms = {axis for axis in one | other if axis >= data}
    apart = (row in one - other and column in other - one) or (row in other - one and column in one - other)
    return data > 1 and bool(terms) and terms <= one & other and apart and (first.is_plain or second.is_plain)


def _has_window(compute: ComputeOp, image: _Read) -> bool:
    """Return whether rows and columns of an image are read at sums of an axis of data and axes of terms."""
    if compute.rank != _IMAGES or len(image.indices) != _IMAGES:
        return False
    *outer, rows, columns = image.indices
    if any(len(index) > 1 for index in outer) or len(rows) + len(columns) < _IMAGES - 1:
        return False
    windows = ((rows, _IMAGES - 2), (columns, _IMAGES - 1))
    return all(axis in index and all(other == axis or other >= _IMAGES for other in index) for index, axis in windows)


def _convolution(compute: ComputeOp, image: _Read, weights: _Read) -> str:
    """The tag of a window of an image that weights multiply, which are of an output channel and of terms."""
    if not weights.is_plain or 1 not in weights.axes or any(axis < _IMAGES for axis in weights.axes - {1}):
        return ""
    if 1 in image.axes:
        return "depthwise_conv2d_nchw" if _has_window(compute, image) else ""
    return "conv2d_nchw" if _has_window(compute, image) or _has_pixels(compute, image) else ""


def _has_pixels(compute: ComputeOp, image: _Read) -> bool:
    """Return whether rows and columns of an image are read as they are."""
    return compute.rank == _IMAGES == len(image.indices) and image.is_plain and image.indices[2:] == ({2}, {3})
