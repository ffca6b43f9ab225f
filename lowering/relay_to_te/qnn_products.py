"""Computes of the products of quantised tensors: two or four small integers of both at once, packed in words.

What is packed anew is the data, which a product reads many times; weights come packed (`qnn.pack_words`), or are packed
in the kernel where they are no constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import te
from ...dialects.relay import qnn_products as relay
from ...dialects.relay.convolution import expand_padding
from ...dialects.relay.layout import parse_layout
from ...dialects.relay.operator import Operator, Signature, shape_of
from ...dialects.sizes import same
from ...passes.relay.blocking import vector_block
from ...support.dtypes import is_unsigned
from ...support.machine import CHANNEL_BLOCK
from ...te import Expr, Tensor
from ...te.language.tensor import PlaceholderOp
from .convolution import by_pixel
from .stages import broadcast, compute, label, literal, shape
from .transform import blocked_point

_WORD = 32
_BYTES = 4
"""In a word."""
_SIGNS = -0x7F7F7F80
"""The highest bit of each byte of a word, which makes one of a signed byte that is as far above the least."""


def _pack(parts: Sequence[Expr], bits: int = _WORD) -> Expr:
    """A word of some `bits` of an int32, of some int32 of which the low bits count; the first in the low bits of it."""
    width = bits // len(parts)
    word = te.bitwise_and(parts[0], (1 << width) - 1)
    for index, part in enumerate(parts[1:], 1):
        if index < len(parts) - 1:
            part = te.bitwise_and(part, (1 << width) - 1)
        word = te.bitwise_or(word, te.shift_left(part, index * width))
    return word


def along_axis0(zero_point: Tensor, point: Sequence[Expr], rank: int) -> Expr:
    """The zero point at a point of data: one number, one per index of axis 0, or of what broadcasts."""
    extents = shape(zero_point)
    if len(extents) == 1 and rank > 1:
        return zero_point(0 if same(extents[0], 1) else point[0])
    return broadcast(zero_point, point)


def _above(x: Tensor, zero_point: Tensor, point: Sequence[Expr], inside: Sequence[Expr]) -> Expr:
    """Return the distance of an integer from its zero point, an int32; 0 outside, where `inside` does not hold."""
    if (zero_value := literal(zero_point)) is not None:
        return (x(*point, otherwise=zero_value) if inside else x(*point)).astype("int32") - zero_value
    number = x(*point).astype("int32") - along_axis0(zero_point, point, len(shape(x)))
    return te.if_then_else(te.all(*inside), number, te.const(0, "int32")) if inside else number


def _byte(x: Tensor, zero_point: Tensor, point: Sequence[Expr], inside: Sequence[Expr]) -> Expr:
    """A byte of data; outside, the zero point."""
    if (zero_value := literal(zero_point)) is not None:
        return x(*point, otherwise=zero_value) if inside else x(*point)
    number = x(*point)
    if inside:
        zero = along_axis0(zero_point, point, len(shape(x))).astype(x.dtype)
        number = te.if_then_else(te.all(*inside), number, zero)
    return number


def _joined(x: Tensor, bytes_: Sequence[Expr]) -> Expr:
    """A word of four bytes of data, above the least of their dtype."""
    word = te.join_bytes(*bytes_)
    return word if is_unsigned(x.dtype) else te.bitwise_xor(word, _SIGNS)


def _words(
    x: Tensor,
    zero_point: Tensor,
    extents: Sequence[int],
    place: Callable[..., tuple[Sequence[Expr], list[Expr]]],
    name: str,
    parts: int = 2,
    as_they_lie: bool = False,
) -> Tensor:
    """Words of the elements of `x` at `place(part, *point)`, which also says what must hold for there to be one.

    as_they_lie: the bytes of a word are neighbours, and all there; words of an input are read from it then.
    """
    number = _above if parts == 2 else _byte
    lie_so = parts == _BYTES and is_unsigned(x.dtype) and isinstance(x.op, PlaceholderOp)

    def word(*i: Expr) -> Expr:
        elements = [number(x, zero_point, *place(part, *i)) for part in range(parts)]
        return _joined(x, elements) if parts == _BYTES else _pack(elements)

    return compute(extents, word, name, keep=not (lie_so and as_they_lie))


def _row_words(x: Tensor, zero_point: Tensor, axis: int, order: Sequence[int], name: str, parts: int = 2) -> Tensor:
    """Words of neighbours along an axis, the axes then in an order."""
    extents = list(shape(x))
    depth = extents[axis]
    extents[axis] = -(-depth // parts)

    def place(part: int, *i: Expr) -> tuple[Sequence[Expr], list[Expr]]:
        point: list[Expr] = [i[list(order).index(at)] for at in range(len(order))]
        point[axis] = point[axis] * parts + part
        return point, [point[axis] < depth] if part and not same(depth % parts, 0) else []

    lie = same(depth % parts, 0) and axis == len(extents) - 1
    return _words(x, zero_point, [extents[at] for at in order], place, name, parts, lie)


def pack_words(op: Operator, x: Tensor, zero_point: Tensor) -> Tensor:
    sig = op.signature
    axis, parts, dtype = sig.int("axis") % len(shape(x)), sig.int("parts"), sig.str("dtype")
    depth = shape(x)[axis]

    def part(i: Sequence[Expr], place: int) -> Expr:
        point = list(i)
        point[axis] = point[axis] * parts + place
        number = x(*point).astype("int32")
        if parts == 2 and dtype == "int32":
            number = number - along_axis0(zero_point, point, len(shape(x)))
        return (
            te.if_then_else(point[axis] < depth, number, te.const(0, "int32")) if not same(depth % parts, 0) else number
        )

    def word(*i: Expr) -> Expr:
        return _pack([part(i, k) for k in range(parts)], _WORD if dtype == "int32" else _WORD // 2).astype(dtype)

    return compute(shape_of(op.results[0]), word, label(op))


def _product(parts: int) -> Callable[[Expr, Expr], Expr]:
    return te.dot2 if parts == 2 else te.dot4


def dense(op: Operator, data: Tensor, weight: Tensor, data_zero: Tensor, weight_zero: Tensor, *_: Tensor) -> Tensor:
    rows = _row_words(data, data_zero, 1, (0, 1), "data_words")
    columns = _row_words(weight, weight_zero, 1, (1, 0), "weight_words")
    k = te.reduce_axis((0, shape(rows)[1]), name="k")

    def element(m: Expr, n: Expr) -> Expr:
        return te.sum(te.dot2(rows(m, k), columns(k, n)), axis=k)

    return te.compute(shape_of(op.results[0]), element, name="dense", tag="dense")


def dense_pack(op: Operator, data: Tensor, weight: Tensor, zero_point: Tensor, correction: Tensor | None) -> Tensor:
    parts = op.signature.int("parts")
    rows = _row_words(data, zero_point, 1, (0, 1), "data_words", parts)
    block = shape(weight)[2]
    k = te.reduce_axis((0, shape(rows)[1]), name="k")
    product = _product(parts)

    def element(m: Expr, n: Expr) -> Expr:
        word = weight(n // block, k, n % block)
        return te.sum(product(rows(m, k), te.widen_pairs(word) if weight.dtype == "int16" else word), axis=k)

    total = te.compute(shape_of(op.results[0]), element, name="dense_pack", tag="dense_pack")
    if correction is None:
        return total
    own_rows = len(shape(correction)) - 2

    def corrected(*i: Expr) -> Expr:
        return total(*i) - correction(*i[:own_rows], i[1] // block, i[1] % block)

    return compute(shape(total), corrected, "corrected")


def batch_matmul(op: Operator, x: Tensor, y: Tensor, x_zero: Tensor, y_zero: Tensor, *_: Tensor) -> Tensor:
    flip_x, flip_y = op.signature.get("transpose_a"), op.signature.get("transpose_b")
    left = _row_words(x, x_zero, 1 if flip_x else 2, (0, 2, 1) if flip_x else (0, 1, 2), "x_words")
    right = _row_words(y, y_zero, 2 if flip_y else 1, (0, 2, 1) if flip_y else (0, 1, 2), "y_words")
    k = te.reduce_axis((0, shape(left)[2]), name="k")

    def product(b: Expr, m: Expr, n: Expr) -> Expr:
        bx, by = (0 if same(shape(tensor)[0], 1) else b for tensor in (left, right))
        return te.sum(te.dot2(left(bx, m, k), right(by, k, n)), axis=k)

    return te.compute(shape_of(op.results[0]), product, name="batch_matmul", tag="dense")


def _image_words(
    sig: Signature,
    data: Tensor,
    zero_point: Tensor,
    need: tuple[int, int],
    parts: int,
    depthwise: int = 0,
    apart: bool = False,
) -> Tensor:
    """The padded image of NCHW[x]c data in words: of neighbouring channels, or of pixels `depthwise` apart in a row.

    apart: channels are blocks of their own.
    """
    batch, chunks, height, width, block = shape(data)
    top, left, _, _ = expand_padding(sig, sig.ints("padding"))
    rows_inside = same(need[0], height) and top == 0

    def place(part: int, n: Expr, c: Expr, y: Expr, x: Expr, lane: Expr) -> tuple[Sequence[Expr], list[Expr]]:
        inside: list[Expr] = []
        row, column = y - top, x - left + part * depthwise
        if not rows_inside:
            inside += [row >= 0, row < height]
        if not (same(need[1], width) and left == 0 and part * depthwise == 0):
            inside += [column >= 0, column < width]
        if apart:
            # Weights past the last channel are 0, whatever these are multiplied by.
            c = te.minimum(c * parts + part, chunks - 1)
        elif not depthwise:
            lane = lane * parts + part
            if block % parts and part:
                inside.append(lane < block)
        return (n, c, row, column, lane), inside

    lanes = block if depthwise else -(-block // parts)
    if apart:
        return _words(data, zero_point, (batch, -(-chunks // parts), *need, 1), place, "data_words", parts)
    lie = same(need[0], height) and same(need[1], width) and top == left == block % parts == depthwise == 0
    return _words(data, zero_point, (batch, chunks, *need, lanes), place, "data_words", parts, lie)


def _need(sig: Signature, result: Sequence[int], kernel: tuple[int, int]) -> tuple[int, int]:
    """The rows and columns of the padded image that are read."""
    return (
        (result[2] - 1) * sig.ints("strides")[0] + (kernel[0] - 1) * sig.ints("dilation")[0] + 1,
        (result[3] - 1) * sig.ints("strides")[1] + (kernel[1] - 1) * sig.ints("dilation")[1] + 1,
    )


def _convolution(
    sig: Signature,
    name: str,
    data: Tensor,
    weight: Tensor,
    zero_point: Tensor,
    result: tuple[int, ...],
    parts: int,
    along: str = "C",
) -> Tensor:
    """NCHW[x]c data and a weight of words, OIHW[x/p]i[y]o -> NCHW[y]c of int32, of shape `result`.

    along: as of `ContribConv2DNCHWcOp`.
    """
    rows = along == "W"
    chunks, per_chunk, kh, kw, lanes, _ = shape(weight)
    (sh, sw), (dh, dw) = sig.ints("strides"), sig.ints("dilation")
    need = _need(sig, result, (kh, 2 * kw - 1 if rows else kw))
    image = _image_words(sig, data, zero_point, need, parts, dw if rows else 0, along == "I")
    step = 2 * dw if rows else dw
    groups = sig.int("groups")
    per_group = chunks // groups
    product = _product(parts)
    ic, ky, kx, il = (
        te.reduce_axis((0, extent), name) for extent, name in ((per_chunk, "ic"), (kh, "ky"), (kw, "kx"), (lanes, "il"))
    )

    def element(n: Expr, oc: Expr, y: Expr, x: Expr, ol: Expr) -> Expr:
        chunk = ic if groups == 1 else oc // per_group * per_chunk + ic
        word = image(n, chunk, y * sh + ky * dh, x * sw + kx * step, il)
        return te.sum(product(word, weight(oc, ic, ky, kx, il, ol)), axis=[ic, ky, kx, il])

    return (
        by_pixel(result, element, name) if kh * kw * sh * sw == 1 else te.compute(result, element, name, "conv2d_NCHWc")
    )


def conv2d_nchwc(op: Operator, data: Tensor, weight: Tensor, zero_point: Tensor, correction: Tensor | None) -> Tensor:
    sig = op.signature
    extents = shape_of(op.results[0])
    parts, along = sig.int("parts"), sig.str("along")
    total = _convolution(sig, "conv2d_NCHWc", data, weight, zero_point, extents, parts=parts, along=along)
    if correction is None:
        return total
    return compute(extents, lambda *i: total(*i) - correction(i[1], i[4]), "corrected")


def conv2d(op: Operator, data: Tensor, weight: Tensor, data_zero: Tensor, weight_zero: Tensor, *_: Tensor) -> Tensor:
    """Without blocks: data and weight are blocked as they are packed, and the result comes back."""
    sig = op.signature
    layouts = (sig.str("data_layout"), sig.str("kernel_layout"), sig.str("out_layout") or sig.str("data_layout"))
    if any(axis.factor for layout in layouts for axis in parse_layout(layout)):
        sig.fail("layouts without blocks", ", ".join(layouts))
    batch, channels, height, width = (shape(data)[layouts[0].index(letter)] for letter in "NCHW")
    outputs, depth, kh, kw = (shape(weight)[layouts[1].index(letter)] for letter in "OIHW")
    ib, ob = vector_block(depth, CHANNEL_BLOCK), vector_block(outputs // sig.int("groups"), CHANNEL_BLOCK)
    extents = shape_of(op.results[0])
    rows, columns = (extents[layouts[2].index(letter)] for letter in "HW")
    blocked = compute(
        (batch, channels // ib, height, width, ib),
        lambda *i: data(*blocked_point(i, layouts[0], f"NCHW{ib}c")),
        "data_vec",
    )
    lanes = -(-ib // 2)

    def place(part: int, o: Expr, i: Expr, y: Expr, x: Expr, il: Expr, ol: Expr) -> tuple[Sequence[Expr], list[Expr]]:
        lane = il * 2 + part
        point = blocked_point((o * ob + ol, i * ib + lane, y, x), layouts[1], "OIHW")
        return point, [lane < ib] if ib % 2 and part else []

    kernel = _guarded_words(weight, weight_zero, (outputs // ob, depth // ib, kh, kw, lanes, ob), place)
    result = (batch, outputs // ob, rows, columns, ob)
    total = _convolution(sig, "conv2d_NCHWc", blocked, kernel, data_zero, result, 2)
    return compute(extents, lambda *i: total(*blocked_point(i, f"NCHW{ob}c", layouts[2])), label(op))


def _guarded_words(
    x: Tensor,
    zero_point: Tensor,
    extents: Sequence[int],
    place: Callable[..., tuple[Sequence[Expr], list[Expr]]],
) -> Tensor:
    """Return the result of `_words` where the element past a block's end is inside of the tensor."""

    def number(point: Sequence[Expr], inside: list[Expr]) -> Expr:
        value = x(*point).astype("int32") - along_axis0(zero_point, point, len(shape(x)))
        return te.if_then_else(te.all(*inside), value, te.const(0, "int32")) if inside else value

    return compute(
        extents, lambda *i: _pack([number(*place(part, *i)) for part in range(2)]), "kernel_words", keep=True
    )


def depthwise_nchwc(
    op: Operator, data: Tensor, weight: Tensor, zero_point: Tensor, correction: Tensor | None
) -> Tensor:
    """Words hold two or four neighbours in a row, so that a row of the kernel takes so many fewer products.

    Of two the image is in words. Four are bytes as they lie in the padded image, so that a shuffle makes words of them.
    """
    sig = op.signature
    extents = shape_of(op.results[0])
    kh, words = shape(weight)[2:4]
    parts = sig.int("parts")
    (sh, sw), (dh, dw) = sig.ints("strides"), sig.ints("dilation")
    need = _need(sig, extents, (kh, parts * words if parts == _BYTES else 2 * words - 1))
    bytes_ = parts == _BYTES
    image = _image_bytes(sig, data, zero_point, need) if bytes_ else _image_words(sig, data, zero_point, need, 2, dw)
    ky, kx = te.reduce_axis((0, kh), "ky"), te.reduce_axis((0, words), "kx")

    def element(n: Expr, c: Expr, y: Expr, x: Expr, lane: Expr) -> Expr:
        row, column = y * sh + ky * dh, x * sw + kx * (parts * dw)
        if bytes_:
            word = te.join_bytes(*(image(n, c, row, column + part, lane) for part in range(parts)))
        else:
            word = image(n, c, row, column, lane)
        return te.sum(_product(parts)(word, weight(c, 0, ky, kx, 0, lane)), axis=[ky, kx])

    total = te.compute(extents, element, name="depthwise_conv2d_NCHWc", tag="depthwise_conv2d_NCHWc")
    if correction is None:
        return total
    return compute(extents, lambda *i: total(*i) - correction(i[1], i[4]), "corrected")


def _image_bytes(sig: Signature, data: Tensor, zero_point: Tensor, need: tuple[int, int]) -> Tensor:
    """The padded image of NCHW[x]c data, its bytes above the least of their dtype."""
    batch, chunks, height, width, block = shape(data)
    top, left, _, _ = expand_padding(sig, sig.ints("padding"))

    def byte(n: Expr, c: Expr, y: Expr, x: Expr, lane: Expr) -> Expr:
        row, column = y - top, x - left
        inside: list[Expr] = []
        if not (top == 0 and same(need[0], height)):
            inside += [row >= 0, row < height]
        if not (left == 0 and same(need[1], width)):
            inside += [column >= 0, column < width]
        number = _byte(data, zero_point, (n, c, row, column, lane), inside)
        return number if is_unsigned(data.dtype) else te.bitwise_xor(number, te.const(-128, "int8")).astype("uint8")

    return compute((batch, chunks, *need, block), byte, "data_padded", keep=True)


TABLE = {
    relay.BatchMatmulOp: batch_matmul,
    relay.ContribConv2DNCHWcOp: conv2d_nchwc,
    relay.ContribDensePackOp: dense_pack,
    relay.ContribDepthwiseConv2DNCHWcOp: depthwise_nchwc,
    relay.Conv2DOp: conv2d,
    relay.DenseOp: dense,
    relay.PackWordsOp: pack_words,
}
