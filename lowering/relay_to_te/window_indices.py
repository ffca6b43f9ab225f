"""Computes of windows that say where."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# ruff: noqa: F821

from __future__ import annotations

from typing import Any

from ... import te
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.window_indices import DeformableConv2DOp, MaxPoolWithArgmaxOp
from ...te import Expr, Tensor
from .stages import ROWS_APART, compute, label, rounded, shape, wide


@te.hybrid.script
def argmax_windows(
    x: Any,
    images: Any,
    image: Any,
    out: Any,
    sizes: Any,
    strides: Any,
    dilation: Any,
    before: Any,
    steps: Any,
    wide: Any,
) -> Any:
    """Images (images, z, y, x), of which windows start `before` the first element; places are `steps` apart."""
    values = output_tensor((images, out[0], out[1], out[2]), x.dtype)
    places = output_tensor((images, out[0], out[1], out[2]), "int64")
    data = view(x, (images, image[0], image[1], image[2]))
    for n in range(images):
        for a in range(out[0]):
            for b in range(out[1]):
                for c in range(out[2]):
                    found = int64(-1)
                    best = wide(data[n, 0, 0, 0])
                    for i in range(sizes[0]):
                        for j in range(sizes[1]):
                            for k in range(sizes[2]):
                                z = int64(a * strides[0] + i * dilation[0] - before[0])
                                y = int64(b * strides[1] + j * dilation[1] - before[1])
                                w = int64(c * strides[2] + k * dilation[2] - before[2])
                                if z >= 0 and z < image[0] and y >= 0 and y < image[1] and w >= 0 and w < image[2]:
                                    value = wide(data[n, z, y, w])
                                    if found < 0 or value > best or (value != value and best == best):
                                        best = value
                                        found = z * steps[0] + y * steps[1] + w * steps[2]
                    values[n, a, b, c] = best
                    places[n, a, b, c] = found + n * (image[0] * image[1] * image[2])
    return values, places


def max_pool_with_argmax(op: Operator, x: Tensor) -> tuple[Tensor, Tensor]:
    assert isinstance(op, MaxPoolWithArgmaxOp)
    windows = op.windows(op.signature)
    missing = 3 - len(windows)

    def three(values: list[int], filler: int) -> tuple[int, ...]:
        return (*[filler] * missing, *values)

    def widened(value: Expr) -> Expr:
        return value.astype(wide(x.dtype))

    batch, channels, *image = shape(x)
    with te.tag_scope(ROWS_APART):
        values, places = argmax_windows(
            x,
            batch * channels,
            image=three(image, 1),
            out=three([w.count for w in windows], 1),
            sizes=three([w.size for w in windows], 1),
            strides=three([w.stride for w in windows], 1),
            dilation=three([w.dilation for w in windows], 1),
            before=three([w.before for w in windows], 0),
            steps=three(list(op.steps(op.signature)), 0),
            wide=widened,
        )

    def unfolded(tensor: Tensor) -> Tensor:
        def element(*i: Expr) -> Expr:
            n, c, *position = i
            return tensor(n * channels + c, *[0] * missing, *position)

        return compute(shape_of(op.results[0]), element, label(op))

    return unfolded(values), unfolded(places)


def deformable_conv2d(op: Operator, data: Tensor, offset: Tensor, weight: Tensor, mask: Tensor | None) -> Tensor:
    """Taps sampled into (n, channels * taps, places), then a product with the weights of each group."""
    sig, number = op.signature, wide(data.dtype)
    (n, channels, height, width), (outputs, depth, kh, kw) = shape(data), shape(weight)
    (sy, sx), (dy, dx) = sig.ints("strides"), sig.ints("dilation")
    top, left, _, _ = expand_padding(sig, sig.ints("padding"))
    groups, per_moved = sig.int("groups"), channels // sig.int("deformable_groups")
    _, _, oh, ow = shape_of(op.results[0])
    taps = kh * kw

    starts = ((sy, dy, top, height), (sx, dx, left, width))
    rows = (channels // per_moved) * taps

    def place_along(side: int) -> Tensor:
        """Return the row or column of each tap: (n, taps of all offset groups, places)."""
        stride, dilation, before, _ = starts[side]

        def at(b: Expr, tap: Expr, place: Expr) -> Expr:
            y, x = place // ow, place % ow
            window, own = (y, tap % taps // kw) if side == 0 else (x, tap % kw)
            moved = offset(b, tap * 2 + side, y, x).astype(number)
            return (window * stride + own * dilation - before).astype(number) + moved

        return te.compute((n, rows, oh * ow), at, f"place{side}", "", {"keep": True})

    def corner_along(place: Tensor, side: int, more: int) -> tuple[Tensor, Tensor]:
        """The row or column of the element before a place, or of the one after it, and how much it counts."""
        extent = starts[side][3]

        def element(*i: Expr) -> Expr:
            return te.floor(place(*i)) + float(more)

        def index(*i: Expr) -> Expr:
            return te.minimum(te.maximum(element(*i), 0.0), te.const(extent - 1, number)).astype("int32")

        def share(*i: Expr) -> Expr:
            inside = te.all(element(*i) >= 0.0, element(*i) < te.const(extent, number))
            return te.select(inside, te.abs(place(*i) - element(*i)) * -1.0 + 1.0, te.const(0, number))

        name = f"corner{side}{more}"
        return (
            compute(shape(place), index, name, keep=True),
            compute(shape(place), share, f"{name}_share", keep=True),
        )

    found = [
        [corner_along(place, side, more) for more in (0, 1)] for side, place in enumerate(map(place_along, (0, 1)))
    ]
    pairs = [(row, column) for row in found[0] for column in found[1]]

    def share(pair: int) -> Tensor:
        (_, of_row), (_, of_column) = pairs[pair]

        def element(b: Expr, tap: Expr, place: Expr) -> Expr:
            both = of_row(b, tap, place) * of_column(b, tap, place)
            return both if mask is None else both * mask(b, tap, place // ow, place % ow).astype(number)

        return te.compute((n, rows, oh * ow), element, f"share{pair}", "", {"keep": True})

    shares = [share(pair) for pair in range(len(pairs))]

    def sample(b: Expr, row: Expr, place: Expr) -> Expr:
        channel = row // taps
        tap = channel // per_moved * taps + row % taps
        total: Expr = te.const(0, number)
        for part, ((y, _), (x, _)) in zip(shares, pairs, strict=True):
            total = total + part(b, tap, place) * data(b, channel, y(b, tap, place), x(b, tap, place)).astype(number)
        return total

    sampled = te.compute((n, channels * taps, oh * ow), sample, "sampled", "", {"keep": True})
    per_group = outputs // groups
    k = te.reduce_axis((0, depth * taps), name="k")

    def product(b: Expr, g: Expr, m: Expr, place: Expr) -> Expr:
        left_side = weight(g * per_group + m, k // taps, k % taps // kw, k % kw).astype(number)
        return te.sum(left_side * sampled(b, g * (depth * taps) + k, place), axis=k)

    total = te.compute((n, groups, per_group, oh * ow), product, "deformable_conv2d", "dense")

    def whole(*i: Expr) -> Expr:
        b, c, y, x = i
        return total(b, c // per_group, c % per_group, y * ow + x)

    return rounded(compute((n, outputs, oh, ow), whole, label(op)), data.dtype)


TABLE = {
    DeformableConv2DOp: deformable_conv2d,
    MaxPoolWithArgmaxOp: max_pool_with_argmax,
}
