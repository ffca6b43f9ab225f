"""Computes of the operators that move data, and of the reductions."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects import te
from ...dialects.relay import transform as relay
from ...dialects.relay.layout import parse_layout
from ...dialects.relay.operator import Operator, shape_of
from .body import Body, Scalar, TeBuilder, Tensor, element, flat_index, shape, unflatten
from .elementwise import convert, label


def _moved(builder: TeBuilder, op: Operator, x: Tensor, point: list[AffineExpr] | None = None) -> list[SSAValue]:
    """A compute that reads `x` at `point`, by default at the same row-major position."""
    result = op.results[0]
    extents = shape_of(result)

    def body(b: Body) -> SSAValue:
        where = point if point is not None else unflatten(flat_index(b.axes, extents), shape(x))
        return b.read(x, where)

    return [builder.compute(label(op), extents, element(result), body)]


def lower_reshape(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    return _moved(builder, op, inputs[0])


def lower_transpose(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    rank = len(shape(inputs[0]))
    axes = op.signature.get("axes") or tuple(reversed(range(rank)))
    point: list[AffineExpr] = [AffineConstantExpr(0)] * rank
    for position, axis in enumerate(axes):
        point[axis % rank] = AffineExpr.dimension(position)
    return _moved(builder, op, inputs[0], point)


def lower_strided_slice(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    ranges = relay.StridedSliceOp.ranges(op.signature)
    point = [AffineExpr.dimension(i) * r.step + r.start for i, r in enumerate(ranges)]
    return _moved(builder, op, inputs[0], point)


def lower_concatenate(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    result = op.results[0]
    axis = op.signature.int("axis") % len(shape_of(result))

    def body(b: Body) -> SSAValue:
        value: SSAValue | None = None
        start = 0
        for x in inputs:
            point = list(b.axes)
            point[axis] = point[axis] - start
            if value is None:
                value = b.read(x, point, 0)
            else:
                before = b.compare("ult", b.index(b.axes[axis]), b.constant(start, te.INDEX))
                value = b.select(before, value, b.read(x, point, 0))
            start += shape(x)[axis]
        assert value is not None
        return value

    return [builder.compute(label(op), shape_of(result), element(result), body)]


def lower_take(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    data, indices = inputs
    result = op.results[0]
    axis = op.signature.int("axis") % len(shape(data))
    width, extent = len(shape(indices)), shape(data)[axis]
    wrap = op.signature.str("mode") == "wrap"

    def body(b: Body) -> SSAValue:
        number = convert(b, b.read(indices, b.axes[axis : axis + width]), element(indices), i64)
        index = b.add(arith.IndexCastOp(number, te.INDEX)).result
        inside = _wrapped(b, index, extent) if wrap else _clipped(b, index, extent)
        return b.read(data, [*b.axes[:axis], b.computed(inside), *b.axes[axis + width :]])

    return [builder.compute(label(op), shape_of(result), element(result), body)]


def _clipped(b: Body, index: SSAValue, extent: int) -> SSAValue:
    low = b.add(arith.MaxSIOp(index, b.constant(0, te.INDEX))).result
    return b.add(arith.MinSIOp(low, b.constant(extent - 1, te.INDEX))).result


def _wrapped(b: Body, index: SSAValue, extent: int) -> SSAValue:
    rest = b.add(arith.RemSIOp(index, b.constant(extent, te.INDEX))).result
    raised = b.add(arith.AddiOp(rest, b.constant(extent, te.INDEX))).result
    return b.select(b.compare("slt", rest, b.constant(0, te.INDEX)), raised, rest)


def blocked_point(point: list[AffineExpr], src_layout: str, dst_layout: str) -> list[AffineExpr]:
    """The point of a `src_layout` tensor that stands at `point` of its `dst_layout` form."""
    src, dst = parse_layout(src_layout), parse_layout(dst_layout)
    factor = {axis.letter: axis.factor for axis in dst if axis.factor}
    logical: dict[str, AffineExpr] = {}
    for axis, expr in zip(dst, point, strict=True):
        term = expr if axis.factor else expr * factor.get(axis.letter, 1)
        logical[axis.letter] = logical[axis.letter] + term if axis.letter in logical else term
    blocks = {axis.letter: axis.factor for axis in src if axis.factor}
    return [
        logical[axis.letter] % axis.factor
        if axis.factor
        else logical[axis.letter] // blocks[axis.letter]
        if axis.letter in blocks
        else logical[axis.letter]
        for axis in src
    ]


def lower_layout_transform(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    rank = len(shape_of(op.results[0]))
    axes: list[AffineExpr] = [AffineExpr.dimension(i) for i in range(rank)]
    sig = op.signature
    return _moved(builder, op, inputs[0], blocked_point(axes, sig.str("src_layout"), sig.str("dst_layout")))


def lower_pad(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    x, value = inputs
    result = op.results[0]
    before = op.signature.ints("pad_width")[::2]
    mode = op.signature.str("pad_mode")

    def body(b: Body) -> SSAValue:
        point = [axis - pad for axis, pad in zip(b.axes, before, strict=True)]
        if mode != "constant":
            return b.read(x, [_mirrored(b, expr, extent, mode) for expr, extent in zip(point, shape(x), strict=True)])
        if isinstance(value, Scalar):
            return b.read(x, point, value.value.reshape(-1)[0].item())
        found, outside = b.read(x, point, 0), b.read(value, [AffineConstantExpr(0)] * len(shape(value)))
        for expr, extent in zip(point, shape(x), strict=True):
            # Unsigned, so that one comparison checks both ends.
            inside = b.compare("ult", b.index(expr), b.constant(extent, te.INDEX))
            found = b.select(inside, found, outside)
        return found

    return [builder.compute(label(op), shape_of(result), element(result), body, keep=True)]


def _mirrored(b: Body, expr: AffineExpr, extent: int, mode: str) -> AffineExpr:
    """An index outside brought inside: to the nearest edge, or reflected at it."""
    zero, last = b.constant(0, te.INDEX), b.constant(extent - 1, te.INDEX)
    index = b.index(expr)
    if mode == "reflect":
        index = b.add(arith.MaxSIOp(index, b.add(arith.SubiOp(zero, index)).result)).result
        twice = b.constant(2 * (extent - 1), te.INDEX)
        return b.computed(b.add(arith.MinSIOp(index, b.add(arith.SubiOp(twice, index)).result)).result)
    return b.computed(b.add(arith.MinSIOp(b.add(arith.MaxSIOp(index, zero)).result, last)).result)


_REDUCERS: dict[type[Operator], str] = {
    relay.SumOp: "sum",
    relay.MeanOp: "sum",
    relay.MaxOp: "max",
    relay.MinOp: "min",
}


def lower_reduce(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    (x,) = inputs
    result = op.results[0]
    extents = shape(x)
    axes = relay.Reduce.axes(op.signature)
    keep = bool(op.signature.get("keepdims"))

    def body(b: Body) -> SSAValue:
        data, terms = iter(b.axes), iter(b.reduce)
        point: list[AffineExpr] = []
        for axis in range(len(extents)):
            if axis in axes:
                point.append(next(terms))
                if keep:
                    next(data)
            else:
                point.append(next(data))
        return b.read(x, point)

    is_mean = isinstance(op, relay.MeanOp)
    total = builder.compute(
        label(op),
        shape_of(result),
        element(result),
        body,
        reduce=[extents[axis] for axis in axes],
        reducer=_REDUCERS[type(op)],
        narrow=not is_mean,
    )
    if not is_mean:
        return [total]
    return [divided(builder, label(op), total, prod(extents[axis] for axis in axes), element(result))]


def divided(builder: TeBuilder, name: str, total: SSAValue, count: int, kind: Attribute) -> SSAValue:
    """`total / count`, elementwise, as element type `kind`; integers towards zero."""

    def body(b: Body) -> SSAValue:
        value = b.read(total, b.axes)
        divisor = b.constant(count, value.type)
        return convert(b, quotient(b, value, divisor, kind), element(total), kind)

    return builder.compute(name, shape_of(total), kind, body)


def quotient(b: Body, value: SSAValue, divisor: SSAValue, kind: Attribute) -> SSAValue:
    """`value / divisor`, which is positive; integers of element type `kind` towards zero."""
    if not te.is_integer(value.type):
        return b.add(arith.DivfOp(value, divisor)).result
    return b.apply(arith.DivUIOp if te.is_unsigned(kind) else arith.DivSIOp, value, divisor)


TABLE = {
    relay.ReshapeOp: lower_reshape,
    relay.SqueezeOp: lower_reshape,
    relay.ExpandDimsOp: lower_reshape,
    relay.BatchFlattenOp: lower_reshape,
    relay.TransposeOp: lower_transpose,
    relay.StridedSliceOp: lower_strided_slice,
    relay.ConcatenateOp: lower_concatenate,
    relay.TakeOp: lower_take,
    relay.LayoutTransformOp: lower_layout_transform,
    relay.PadOp: lower_pad,
    **dict.fromkeys(_REDUCERS, lower_reduce),
}
