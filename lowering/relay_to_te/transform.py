"""Computes of the operators that move data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import cast

from ... import te
from ...dialects.affine import below
from ...dialects.relay import transform as relay
from ...dialects.relay.layout import parse_layout, strides
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import Size, SizeExpr, product, proves, same, size_max
from ...te import Expr, Tensor
from ...te.language.expr import Const
from .stages import JOINED, compute, label, shape

_LONG_ROW = 512
"""Elements of a part that follow one another, from which on they are loops of their own."""
_SHARED = 1 << 14
"""Elements of a result that threads share."""
_ENOUGH = 4
"""Rows that are enough for them."""


def reshape(op: Operator, x: Tensor) -> Tensor:
    """The elements in row-major order in another shape; axes that stay as they are have indices of their own."""
    extents = shape_of(op.results[0])
    runs = list(_common_runs(extents, shape(x)))

    def element(*i: Expr) -> Expr:
        parts = (unflatten(flat_index(i[new], extents[new]), shape(x)[old]) for new, old in runs)
        return x(*chain.from_iterable(parts))

    return compute(extents, element, label(op))


def _common_runs(new: Sequence[int], old: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """The shortest runs of axes of two shapes, from the first on, that have as many elements as each other."""
    starts, ends = [0, 0], [0, 0]
    while ends[0] < len(new) or ends[1] < len(old):
        for side, whole in enumerate((new, old)):
            ends[side] = min(ends[side] + 1, len(whole))
        while not same(product(new[starts[0] : ends[0]]), product(old[starts[1] : ends[1]])):
            fewer = proves(product(new[starts[0] : ends[0]]), "<=", product(old[starts[1] : ends[1]]))
            if ends == [len(new), len(old)]:
                break
            ends[0 if ends[1] == len(old) or (fewer and ends[0] < len(new)) else 1] += 1
        yield slice(starts[0], ends[0]), slice(starts[1], ends[1])
        starts = list(ends)


def flat_index(point: Sequence[Expr | int], extents: Sequence[int]) -> Expr | int:
    """The row-major position of `point` in a tensor of `extents`."""
    position: Expr | int = 0
    for index, extent in zip(point, extents, strict=True):
        position = index if isinstance(position, int) else position * extent + index
    return position


def unflatten(position: Expr | int, extents: Sequence[int]) -> list[Expr | int]:
    """The point of a row-major position."""
    point: list[Expr | int] = []
    stride = product(extents)
    for axis, extent in enumerate(extents):
        stride //= extent if isinstance(extent, SizeExpr) else max(1, extent)
        index = position if same(stride, 1) or same(stride, 0) else cast("Expr | int", position // stride)
        point.append(index % extent if axis else index)
    return point


def transpose(op: Operator, x: Tensor) -> Tensor:
    axes = relay.TransposeOp.order(op.signature)
    positions = [axes.index(axis) for axis in range(len(axes))]
    return compute(shape_of(op.results[0]), lambda *i: x(*(i[axis] for axis in positions)), label(op))


def strided_slice(op: Operator, x: Tensor) -> Tensor:
    spans = relay.StridedSliceOp.spans(op.signature)

    def element(*i: Expr) -> Expr:
        return x(*(index * step + start for index, (start, _, step) in zip(i, spans, strict=True)))

    return compute(shape_of(op.results[0]), element, label(op))


def concatenate(op: Operator, inputs: Sequence[Tensor]) -> Tensor:
    """Each element is chosen among all parts; `relay-split-args` sees to it that they are few."""
    extents = shape_of(op.results[0])
    axis = op.signature.int("axis") % len(extents)
    first = shape(inputs[0])[axis]
    width = cast(int, product(extents[axis + 1 :]))
    # The axis and those behind it may become one, for which the place among all of their elements is an index. Where
    # these are many, a part is chosen once for each row of them, and threads share the rows.
    whole = isinstance(cast(Size, width), int) and 1 < width < _LONG_ROW
    whole = whole and (below(product(extents), _SHARED) or not below(product(extents[:axis]), _ENOUGH))

    def element(*i: Expr) -> Expr:
        value, start = inputs[0](*i, otherwise=0), first
        position = flat_index(i[axis:], extents[axis:]) if whole else i[axis]
        for x in inputs[1:]:
            here = x(*i[:axis], i[axis] - start, *i[axis + 1 :], otherwise=0)
            value = te.select(cast(Expr, position) < start * (width if whole else 1), value, here)
            start += shape(x)[axis]
        return value

    names = [f"ax{number}" for number in range(len(extents))]
    return te.compute(extents, element, label(op), JOINED, None, names)


def take(op: Operator, data: Tensor, indices: Tensor) -> Tensor:
    inside = _wrapped if op.signature.str("mode") == "wrap" else _clipped
    if (where := relay.TakeOp.place(op.signature)) is None:
        whole = shape(data)

        def flat(*i: Expr) -> Expr:
            return data(*unflatten(inside(indices(*i).astype("int64"), cast(int, product(whole))), whole))

        return compute(shape_of(op.results[0]), flat, label(op))
    axis, batch = where
    width, extent = len(shape(indices)) - batch, shape(data)[axis]

    def element(*i: Expr) -> Expr:
        index = indices(*i[:batch], *i[axis : axis + width]).astype("int64")
        return data(*i[:axis], inside(index, extent), *i[axis + width :])

    return compute(shape_of(op.results[0]), element, label(op))


def _clipped(index: Expr, extent: int) -> Expr:
    return te.minimum(te.maximum(index, 0), extent - 1)


def _wrapped(index: Expr, extent: int) -> Expr:
    rest = te.truncmod(index, extent)
    return te.select(rest < 0, rest + extent, rest)


def layout_transform(op: Operator, x: Tensor) -> Tensor:
    layouts = op.signature.str("src_layout"), op.signature.str("dst_layout")
    return compute(shape_of(op.results[0]), lambda *i: x(*blocked_point(i, *layouts)), label(op))


def blocked_point(point: Sequence[Expr], src_layout: str, dst_layout: str) -> list[Expr]:
    """The point of a `src_layout` tensor that stands at `point` of its `dst_layout` form."""
    src, dst = parse_layout(src_layout), parse_layout(dst_layout)
    logical: dict[str, Expr] = {}
    for axis, stride, index in zip(dst, strides(dst), point, strict=True):
        term = index if stride == 1 else index * stride
        logical[axis.letter] = logical[axis.letter] + term if axis.letter in logical else term
    source: list[Expr] = []
    for axis, stride in zip(src, strides(src), strict=True):
        index = logical[axis.letter] if stride == 1 else logical[axis.letter] // stride
        source.append(index % axis.factor if axis.factor else index)
    return source


def pad(op: Operator, x: Tensor, value: Tensor) -> Tensor:
    before, after = op.signature.ints("pad_width")[::2], op.signature.ints("pad_width")[1::2]
    widths = [cast(int, size_max(*pair)) for pair in zip(before, after, strict=True)]
    mode = op.signature.str("pad_mode")
    outside = value(*[0] * len(shape(value)))

    def element(*i: Expr) -> Expr:
        point = [index - width for index, width in zip(i, before, strict=True)]
        if mode != "constant":
            mirrored = [_mirrored(*along, mode) for along in zip(point, shape(x), widths, strict=True)]
            # Only the last axis has parts of code of its own: the rest of a row are elements that follow one another.
            if not mirrored or same(widths[-1], 0):
                return x(*mirrored)
            inside = te.all(point[-1] >= 0, point[-1] < shape(x)[-1])
            return te.select(inside, x(*mirrored[:-1], point[-1], otherwise=0), x(*mirrored))
        if isinstance(outside, Const):
            return x(*point, otherwise=outside.value)
        inside = [te.all(at >= 0, at < extent) for at, extent in zip(point, shape(x), strict=True)]
        return te.select(te.all(*inside), x(*point, otherwise=0), outside) if inside else x()

    return compute(shape_of(op.results[0]), element, label(op), keep=True)


def _mirrored(index: Expr, extent: int, width: int, mode: str) -> Expr:
    """An index up to `width` outside brought inside: to the nearest edge, reflected at it, or round from the other."""
    if same(width, 0):
        return index
    if mode == "wrap":
        return index % cast(int, size_max(extent, 1))
    if mode == "edge" or below(extent, 2):
        return te.minimum(te.maximum(index, 0), extent - 1)
    if below(width, extent):
        distance = te.maximum(index, index * -1)
        return te.minimum(distance, 2 * (extent - 1) - distance)
    # To and fro as often as it takes; nothing is divided by a period of 0.
    turn = index % cast(int, size_max(2 * (extent - 1), 1))
    return te.minimum(turn, 2 * (extent - 1) - turn)


TABLE = {
    relay.ReshapeOp: reshape,
    relay.SqueezeOp: reshape,
    relay.ExpandDimsOp: reshape,
    relay.BatchFlattenOp: reshape,
    relay.TransposeOp: transpose,
    relay.StridedSliceOp: strided_slice,
    relay.ConcatenateOp: concatenate,
    relay.TakeOp: take,
    relay.LayoutTransformOp: layout_transform,
    relay.PadOp: pad,
}
