"""The kind of operator that a stage computes, read off its body: the tags of stages that have none of their own.

A kind is stated only where it is sure, from the affine points at which operands are read, whatever anything is called:

    C[i, j] = sum(A[i, k] * B[k, j])                       dense; B[j, k], batches and shifted rows, too
    C[n, o, y, x] = sum(A[n, i, y + p, x + q] * B[o, i, p, q])            conv2d_nchw
    C[n, c, y, x] = sum(A[n, c, 2 * y + p, 2 * x + q] * B[c, p, q])       depthwise_conv2d_nchw
    C[n, c, y, x] = max(A[n, c, 2 * y + p, 2 * x + q])                    pool_max; pool_sum
    C[i, j] = f(A[i, j], sum(A[i, k]))                                    normalized
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple, TypeGuard

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects.affine import linear
from ...dialects.affine import substitute as with_dims
from ...dialects.sizes import same, same_shape
from ...dialects.sizes.kernel import known
from ...dialects.te import STARTS, ComputeOp, ReadOp
from ...te.schedule.counts import operations_at_point
from ...te.schedule.schedule import Schedule
from .stages import NORMALIZED

_WIDER = (arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp, arith.SIToFPOp, arith.UIToFPOp)
"""Casts of operands, which change no number."""
_PRODUCTS = (arith.MulfOp, arith.MuliOp)
_IMAGES = (4, 5)
"""Axes of the result of a convolution of images, without and with groups."""
_ELEMENTARY = 16
"""Operations of an element, as many as an elementary function has, which are not worth doing twice."""
_WINDOW = 64
"""The most terms of a window: the schedules of windows write all of them out."""

Index = dict[int, int]
"""An index that is a sum of multiples of axes, but for a number: axis -> factor. Axes of one value are left out."""


class Operand(NamedTuple):
    """An element that the term of a reduction is a product of, and where it is read."""

    compute: ComputeOp
    read: ReadOp
    point: tuple[Index, ...]
    blocked: frozenset[int]
    """The axes of quotients and remainders in indices, which `point` leaves out."""

    @property
    def axes(self) -> set[int]:
        return {axis for index in self.point for axis in index}

    def is_plain(self, axes: set[int]) -> bool:
        """Return whether each of these axes that it is read by is one whole index, and the index of one dimension."""
        uses = [index for index in self.point if axes & index.keys()]
        named = [axis for index in uses for axis in index]
        return len(set(named)) == len(named) and all(list(index.values()) == [1] for index in uses)

    def windows(self, rank: int) -> set[int]:
        """Return the data axes along which windows slide: a window may be one element, but not of each step.

        Empty where an index is another sum of several axes.
        """
        slides = set[int]()
        for index in self.point:
            data = [axis for axis in index if axis < rank]
            if len(index) > 1 and (len(data), len(index)) != (1, 2):
                return set()
            if len(index) > 1 or any(index[axis] != 1 for axis in data):
                slides.update(data)
        return slides


def name_structure(schedule: Schedule) -> Schedule:
    """Give the stages of a schedule without primitives the tags of their kinds where these are sure; returns it.

    Where a stage has a tag, whoever wrote the stages knows which schedules they have, and none is named. The operands
    of a product are put into the order in which its schedule expects them.
    """
    computes = [stage.compute for stage in schedule.computes]
    if not any("tag" in compute.attributes for compute in computes):
        name_computes(computes)
    return schedule


def name_computes(computes: Iterable[ComputeOp]) -> None:
    """Give computes the tags of their structure."""
    for compute in computes:
        if (kind := structural_tag(compute)) != "":
            if kind == "dense":
                _order(compute)
            if kind in ("dense", "conv2d_nchw"):
                _keep_padding(compute)
            if kind == NORMALIZED:
                _keep_terms(compute)
            compute.attributes["tag"] = StringAttr(kind)


def structural_tag(compute: ComputeOp) -> str:
    """Return the kind of a compute as a tag, "" where nothing is sure."""
    if compute.reducer is None:
        return NORMALIZED if _is_normalized(compute) else ""
    if (
        compute.combiner is not None
        or (compute.inits and STARTS not in compute.attributes)
        or len(compute.outputs) != 1
    ):
        return ""
    operands, rank = operands_of(compute), compute.rank
    several = {axis for axis, extent in enumerate((*compute.shape, *compute.reduce_shape)) if not same(extent, 1)}
    if operands is None or not several - set(range(rank)):
        return ""
    if any(operand.blocked for operand in operands):
        # Groups of output channels each have input channels of their own.
        grouped = len(operands) == 2 and compute.reducer.data == "sum"
        pairs = _ways(operands) if grouped else []
        return "conv2d_nchw" if any(_is_pixels(*pair, several, rank) for pair in pairs) else ""
    if len(operands) == 1 and compute.reducer.data in ("sum", "max") and _slides(operands[0], several, rank):
        return f"pool_{compute.reducer.data}"
    if len(operands) == 2 and compute.reducer.data == "sum":
        return _product(operands, several, rank)
    return ""


def _is_normalized(compute: ComputeOp) -> bool:
    """Return whether elements are made of reductions of their rows, as those of softmax are."""
    rank = compute.rank
    rows = list(compute.axes[:-1])
    for read in compute.reads:
        source = read.tensor.owner
        if not isinstance(source, ComputeOp) or source.reducer is None or len(source.reduce_shape) != 1:
            continue
        if rank > 1 and list(read.indices) == rows and read.map.data == AffineMap.identity(rank - 1):
            return same_shape((*source.shape, *source.reduce_shape), compute.shape)
    return False


def _keep_padding(compute: ComputeOp) -> None:
    """Keep a buffer of zeros around an image that products read often, rather than ask for its end each time."""
    for read in compute.reads:
        source = read.tensor.owner
        if isinstance(source, ComputeOp) and any(inner.otherwise is not None for inner in source.reads):
            source.attributes["keep"] = UnitAttr()


def _keep_terms(compute: ComputeOp) -> None:
    """Keep a buffer of what rows are made of and are reduced of, where it is not computed again in less time."""
    for read in compute.reads:
        source = read.tensor.owner
        if isinstance(source, ComputeOp) and source.reducer is None and operations_at_point(source) >= _ELEMENTARY:
            readers = {use.operation.parent_op() for use in source.result.uses}
            if any(isinstance(reader, ComputeOp) and reader.reducer is not None for reader in readers):
                source.attributes["keep"] = UnitAttr()


def _product(operands: Sequence[Operand], several: set[int], rank: int) -> str:
    if any(_is_dense(rows, columns, several, rank) for rows, columns in _ways(operands)):
        return "dense"
    for image, weight in _ways(operands):
        if _is_pixels(image, weight, several, rank):
            return "conv2d_nchw"
        if _is_depthwise(image, weight, several, rank):
            return "depthwise_conv2d_nchw"
    return ""


def _ways(operands: Sequence[Operand]) -> list[tuple[Operand, Operand]]:
    first, second = operands
    return [(first, second), (second, first)]


def _is_dense(rows: Operand, columns: Operand, several: set[int], rank: int) -> bool:
    """Return whether a product has the last axis in the one operand, as it is, and the one before in the other.

    The other may be read at any sums of axes, as an image with channels last is.
    """
    terms = {axis for axis in several if axis >= rank}
    row, column = rank - 2, rank - 1
    if rank < 2 or any(operand.read.otherwise is not None for operand in (rows, columns)):
        return False
    if not terms <= rows.axes & columns.axes:
        return False
    if (
        column not in columns.axes
        or column in rows.axes
        or row in columns.axes
        or (row in several) != (row in rows.axes)
    ):
        return False
    return columns.is_plain(several) and rows.axes | columns.axes >= several


def _is_pixels(image: Operand, weight: Operand, several: set[int], rank: int) -> bool:
    """Return whether a product is a convolution whose pixels follow one another in the image, and not in the weight.

    The last three axes are channels, of the weight alone, and rows and columns of pixels, of the image alone. Those
    before are of the image, or of both, as groups are.
    """
    terms, data = {axis for axis in several if axis >= rank}, {axis for axis in several if axis < rank}
    pixels = data & {rank - 2, rank - 1}
    if rank not in _IMAGES or not all(isinstance(extent, int) for extent in image.compute.shape):
        return False
    if image.read.otherwise is not None or weight.read.otherwise is not None or not terms <= image.axes & weight.axes:
        return False
    channel = rank - 3
    if not image.blocked <= {channel} or weight.blocked:
        return False
    if channel not in weight.axes or weight.axes & pixels or not weight.is_plain(several):
        return False
    if image.axes - terms != data - {channel} or rank - 1 not in pixels:
        return False
    windows = image.windows(rank)
    return (image.is_plain(several) or (bool(windows) and windows <= pixels)) and rank - 1 in image.point[-1]


def _is_depthwise(image: Operand, weight: Operand, several: set[int], rank: int) -> bool:
    """Return whether a product is that of a window of each image with numbers of its own."""
    images = set(range(rank - 2))
    return (
        _slides(image, several, rank)
        and weight.read.otherwise is None
        and weight.is_plain(several)
        and (
            {axis for axis in weight.axes if axis < rank} <= images
            and {axis for axis in several if axis >= rank} <= weight.axes
        )
    )


def _slides(image: Operand, several: set[int], rank: int) -> bool:
    """Return whether windows slide along the rows and the columns of images, the last axes and dimensions."""
    window = image.compute.reduce_shape
    if rank < 3 or len(image.point) != rank or not all(isinstance(extent, int) for extent in window):
        return False
    if prod(map(known, window)) > _WINDOW:
        return False
    pixels = image.point[-2:]
    terms = [axis for index in pixels for axis in index if axis >= rank]
    outside = image.point[:-2]
    return (
        all(at in index for at, index in zip((rank - 2, rank - 1), pixels, strict=True))
        and all(sum(axis < rank for axis in index) == 1 for index in pixels)
        and len(set(terms)) == len(terms)
        and set(terms) == {axis for axis in several if axis >= rank}
        and bool(terms)
        and all(index in ({at: 1}, {}) for at, index in enumerate(outside))
        and image.axes >= {axis for axis in several if axis < rank}
    )


def operands_of(compute: ComputeOp) -> list[Operand] | None:
    """Return the one or two elements whose product, after casts that change no number, is the term of a reduction.

    None where it is anything else.
    """
    value = compute.yielded
    op = value.owner
    values = list(op.operands) if isinstance(op, _PRODUCTS) else [value]
    reads = [_uncast(value) for value in values]
    if not all(map(_is_read, reads)):
        return None
    extents = (*compute.shape, *compute.reduce_shape)
    ranges = tuple((0, extent - 1) for extent in extents)
    operands: list[Operand] = []
    axes: list[SSAValue] = list(compute.block.args)
    for read in filter(_is_read, reads):
        point: list[Index] = []
        if any(index not in compute.block.args for index in read.indices):
            return None
        dims: list[AffineExpr] = [AffineDimExpr(axes.index(index)) for index in read.indices]
        blocked = set[int]()
        for expr in read.map.data.results:
            form = linear(with_dims(expr, dims), ranges)
            index: Index = {}
            for atom, factor in form.terms:
                if not isinstance(factor, int):
                    return None
                if isinstance(atom, AffineDimExpr):
                    index[atom.position] = factor
                else:
                    blocked |= atom.used_dims()
            point.append(index)
        operands.append(Operand(compute, read, tuple(point), frozenset(blocked)))
    return operands


def _uncast(value: SSAValue) -> object:
    owner = value.owner
    while isinstance(owner, _WIDER):
        owner = owner.operands[0].owner
    return owner


def _is_read(op: object) -> TypeGuard[ReadOp]:
    return isinstance(op, ReadOp)


def _order(compute: ComputeOp) -> None:
    """Read the columns' operand of a product last."""
    operands = operands_of(compute)
    assert operands is not None
    rows, columns = operands
    if compute.rank - 1 not in columns.axes:
        rows, columns = columns, rows
    if columns.read.is_before_in_block(rows.read):
        # Indices are axes, so that a read may stand before all else.
        rows.read.detach()
        compute.block.insert_op_before(rows.read, columns.read)
