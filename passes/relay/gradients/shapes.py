"""Gradients of operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from xdsl.ir import SSAValue

from ....dialects.element_types import dtype_name
from ....dialects.relay import creation, rearrange, transform
from ....dialects.relay.collapse import CollapseSumLikeOp, CollapseSumToOp
from ....dialects.relay.cumulative import CumsumOp
from ....dialects.relay.dilation import DilateOp
from ....dialects.relay.division import FloorModOp
from ....dialects.relay.elementwise import CastOp, ClipOp
from ....dialects.relay.indexing import GatherNdOp, OneHotOp
from ....dialects.relay.matmul import BatchMatmulOp
from ....dialects.relay.operator import Operator, element_of, shape_of
from ....dialects.relay.reduce import SumOp
from ....dialects.relay.scatter import ScatterNdOp
from .site import Gradients, Rule, Site


def _reshape(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.reshape(g[0], shape_of(s.x)), *[None] * (len(s.op.operands) - 1)]


def _transpose(s: Site, g: Sequence[SSAValue]) -> Gradients:
    rank = len(shape_of(s.x))
    axes = [axis % rank for axis in s.sig.get("axes") or reversed(range(rank))]
    return [s.transpose(g[0], sorted(range(rank), key=axes.__getitem__))]


def _broadcast(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.collapse(g[0], s.x), *[None] * (len(s.op.operands) - 1)]


def _collapse(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.broadcast(g[0], shape_of(s.x)), *[None] * (len(s.op.operands) - 1)]


def _concatenate(s: Site, g: Sequence[SSAValue]) -> Gradients:
    shape = shape_of(s.y)
    axis = s.sig.int("axis") % len(shape)
    ends = list(accumulate(shape_of(value)[axis] for value in s.op.operands))
    gradients: list[SSAValue] = []
    for value, end in zip(s.op.operands, ends, strict=True):
        begin = [0] * axis + [end - shape_of(value)[axis]]
        gradients.append(s.cut(g[0], begin, [*shape[:axis], end]))
    return gradients


def _split(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axis = s.sig.int("axis")
    return [s.add(transform.ConcatenateOp(*g, axis=axis))] if len(g) > 1 else [g[0]]


def _stack(s: Site, g: Sequence[SSAValue]) -> Gradients:
    shape = shape_of(s.y)
    axis = s.sig.int("axis") % len(shape)
    parts = [s.cut(g[0], [0] * axis + [i], [*shape[:axis], i + 1]) for i in range(shape[axis])]
    return [s.reshape(part, shape_of(s.x)) for part in parts]


def _slice(s: Site, g: Sequence[SSAValue]) -> Gradients:
    ranges = transform.StridedSliceOp.ranges(s.sig)
    grad = g[0]
    backwards = [axis for axis, steps in enumerate(ranges) if steps.step < 0]
    if backwards:
        grad = s.add(rearrange.ReverseOp(grad, axis=backwards))
        ranges = [steps[::-1] for steps in ranges]
    if any(steps.step > 1 for steps in ranges):
        grad = s.add(DilateOp(grad, strides=[steps.step for steps in ranges]))
    width: list[int] = []
    for steps, before, extent in zip(ranges, shape_of(grad), shape_of(s.x), strict=True):
        start = steps.start if steps else 0
        width += [start, extent - start - before]
    if any(width):
        grad = s.add(transform.PadOp(grad, s.scalar(0.0, grad), pad_width=width))
    return [grad]


def _pad(s: Site, g: Sequence[SSAValue]) -> Gradients:
    if s.sig.str("pad_mode") != "constant":
        s.sig.fail("pad_mode constant, to take a gradient", s.sig.str("pad_mode"))
    begin = list(s.sig.ints("pad_width")[::2])
    data = s.cut(g[0], begin, [b + extent for b, extent in zip(begin, shape_of(s.x), strict=True)])
    value = s.op.operands[1]
    around = s.sub(s.add(CollapseSumToOp(g[0], shape=[])), s.add(CollapseSumToOp(data, shape=[])))
    return [data, s.reshape(around, shape_of(value))]


def _take(s: Site, g: Sequence[SSAValue]) -> Gradients:
    """Each row of the gradient is added to the row that was taken: a product with the one-hot indices."""
    if s.sig.int("batch_dims"):
        s.sig.fail("no batch_dims, to take a gradient", str(s.sig.int("batch_dims")))
    shape, indices = shape_of(s.x), s.op.operands[1]
    if s.sig.get("axis") is None:
        shape, axis = (prod(shape),), 0
    else:
        axis = s.sig.int("axis") % len(shape)
    depth, count = shape[axis], prod(shape_of(indices))
    flat = s.reshape(indices, [count])
    if s.sig.str("mode") == "wrap":
        wide = s.add(CastOp(flat, dtype="int64"))
        flat = s.add(FloorModOp(wide, s.scalar(depth, wide)))
    else:
        flat = s.add(ClipOp(flat, a_min=0.0, a_max=float(depth - 1)))
    one, zero = s.scalar(1.0, s.x), s.scalar(0.0, s.x)
    hot = s.add(OneHotOp(flat, one, zero, depth=depth, axis=0, dtype=dtype_name(element_of(s.x))))
    before, after = prod(shape[:axis]), prod(shape[axis + 1 :])
    rows = s.reshape(g[0], [before, count, after])
    spread = s.add(BatchMatmulOp(s.reshape(hot, [1, depth, count]), rows, transpose_b=False))
    return [s.reshape(spread, shape_of(s.x)), None]


def _reverse(s: Site, g: Sequence[SSAValue]) -> Gradients:
    return [s.add(rearrange.ReverseOp(g[0], axis=list(s.sig.ints("axis"))))]


def _tile(s: Site, g: Sequence[SSAValue]) -> Gradients:
    shape, result_shape = shape_of(s.x), shape_of(s.y)
    old = (1,) * (len(result_shape) - len(shape)) + shape
    split = [
        part
        for extent, repeated in zip(old, result_shape, strict=True)
        for part in (repeated // extent if extent else 1, extent)
    ]
    total = s.add(SumOp(s.reshape(g[0], split), axis=list(range(0, len(split), 2))))
    return [s.reshape(total, shape)]


def _repeat(s: Site, g: Sequence[SSAValue]) -> Gradients:
    shape = shape_of(s.x)
    axis = s.sig.int("axis") % len(shape)
    split = [*shape[: axis + 1], s.sig.int("repeats"), *shape[axis + 1 :]]
    return [s.add(SumOp(s.reshape(g[0], split), axis=[axis + 1]))]


def _cumsum(s: Site, g: Sequence[SSAValue]) -> Gradients:
    """Each element counts in its own sum and in all behind it."""
    shape, axis = shape_of(s.x), s.sig.get("axis")
    flat = axis is None
    grad = s.reshape(g[0], [prod(shape)]) if flat else g[0]
    along = 0 if flat else s.sig.int("axis") % len(shape)
    exclusive, reverse = bool(s.sig.get("exclusive")), bool(s.sig.get("reverse"))
    total = s.add(CumsumOp(grad, axis=along, exclusive=exclusive, reverse=not reverse))
    return [s.reshape(s.cast(total, s.x), shape)]


def _gather_nd(s: Site, g: Sequence[SSAValue]) -> Gradients:
    if s.sig.int("batch_dims"):
        s.sig.fail("no batch_dims, to take a gradient", str(s.sig.int("batch_dims")))
    return [s.add(ScatterNdOp(s.zeros(s.x), s.op.operands[1], g[0], mode="add")), None]


def _layout(s: Site, g: Sequence[SSAValue]) -> Gradients:
    src, dst = s.sig.str("src_layout"), s.sig.str("dst_layout")
    return [s.add(transform.LayoutTransformOp(g[0], src_layout=dst, dst_layout=src))]


def _full(s: Site, g: Sequence[SSAValue]) -> Gradients:
    value = s.op.operands[-1]
    total = s.reshape(s.add(CollapseSumToOp(g[0], shape=[])), shape_of(value))
    return [*[None] * (len(s.op.operands) - 1), total]


def _one_hot(s: Site, g: Sequence[SSAValue]) -> Gradients:
    """The gradients where the index is met go to the one number, all others to the other one; none to indices."""
    indices, on, off = s.op.operands
    one, zero = s.scalar(1, s.y), s.scalar(0, s.y)
    attributes = {name: s.sig.get(name) for name in ("depth", "axis", "dtype")}
    met, others = (s.add(OneHotOp(indices, *ends, **attributes)) for ends in ((one, zero), (zero, one)))
    return [
        None,
        s.cast(s.collapse(s.mul(g[0], met), on), on),
        s.cast(s.collapse(s.mul(g[0], others), off), off),
    ]


RULES: dict[type[Operator], Rule] = {
    transform.ReshapeOp: _reshape,
    transform.SqueezeOp: _reshape,
    transform.ExpandDimsOp: _reshape,
    transform.BatchFlattenOp: _reshape,
    rearrange.ReshapeLikeOp: _reshape,
    transform.TransposeOp: _transpose,
    transform.BroadcastToOp: _broadcast,
    rearrange.BroadcastToLikeOp: _broadcast,
    CollapseSumToOp: _collapse,
    CollapseSumLikeOp: _collapse,
    transform.ConcatenateOp: _concatenate,
    rearrange.SplitOp: _split,
    rearrange.StackOp: _stack,
    transform.StridedSliceOp: _slice,
    transform.PadOp: _pad,
    transform.TakeOp: _take,
    rearrange.ReverseOp: _reverse,
    rearrange.TileOp: _tile,
    rearrange.RepeatOp: _repeat,
    CumsumOp: _cumsum,
    GatherNdOp: _gather_nd,
    transform.LayoutTransformOp: _layout,
    creation.FullLikeOp: _full,
    creation.FullOp: _full,
    OneHotOp: _one_hot,
}
