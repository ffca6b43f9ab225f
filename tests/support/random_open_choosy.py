"""Recipes of operators that take some sizes only, equal ones or multiples, and of windows made of sizes."""

from __future__ import annotations

import numpy as np
from onnx import helper
from random_open_onnx import Program, Redraw, Shape, Value, is_static, number

from whence.dialects.sizes import ceil_div, product, same, size_max, size_min, symbols_of


def _length(p: Program, x: Value, axis: int) -> str:
    """The extent of an axis, an int64 of rank 0."""
    dims = p.emit("Shape", [x.name], (1,), "i", True, start=axis, end=axis + 1 if axis + 1 < x.rank else x.rank)
    length = p.emit("Squeeze", [dims.name], (), "i", True)
    p.values.remove(dims)
    p.values.remove(length)
    return length.name


def window(p: Program) -> Value:
    x = p.pick(lambda x: x.rank > 0)
    op = p.dice.choice(("HannWindow", "HammingWindow", "BlackmanWindow"))
    shape = p.emit(op, [_length(p, x, x.rank - 1)], x.shape[-1:], periodic=1)
    return p.emit("Mul", [x.name, shape.name], x.shape)


def filters(p: Program) -> Value:
    """The weights of a mel spectrogram as long as one axis, for as many bands as another one."""
    x = p.pick(lambda x: x.rank > 1)
    bands, samples = x.shape[0], x.shape[1]
    p.some(product((bands, samples)))
    rate = p.constant(np.array(16000, np.int64))
    edges = [p.constant(np.array(hertz, np.float32)) for hertz in (0, 7000)]
    return p.emit("MelWeightMatrix", [_length(p, x, 0), _length(p, x, 1), rate, *edges], (samples // 2 + 1, bands))


def blocks_of_pictures(p: Program) -> Value:
    x = p.pick(lambda x: x.rank == 4 and not any(same(n % 2, 1) for n in x.shape[2:]))
    n, c, h, w = x.shape
    for extent in (h, w):
        p.some(1 - extent % 2)
    return p.emit("SpaceToDepth", [x.name], (n, 4 * c, h // 2, w // 2), exact=x.exact, blocksize=2)


def blocks_of_weights(p: Program) -> Value:
    """Quantised in blocks along an axis, with scales that are an input, and back."""
    # Of an input: scales as many as two formulas say would have to be proved to be.
    x = p.pick(lambda x: x.rank > 1 and x.exact and x.name.startswith("x"))
    axis, size = p.axis(x), p.dice.choice((2, 4))
    p.some(product(x.shape))
    scales = tuple(ceil_div(n, size) if at == axis else n for at, n in enumerate(x.shape))
    steps = p.emit("Abs", [p.input(scales).name], scales, exact=True)
    steps = p.emit("Add", [steps.name, p.constant(np.float32(0.25))], scales, exact=True)
    zero = p.emit("Cast", [steps.name], scales, "i", True, to=3)
    p.values.remove(zero)
    small = p.emit("QuantizeLinear", [x.name, steps.name, zero.name], x.shape, "i", axis=axis, block_size=size)
    p.values.remove(small)
    given = [small.name, steps.name, zero.name]
    return p.emit("DequantizeLinear", given, x.shape, exact=True, axis=axis, block_size=size)


def loss(p: Program) -> Value:
    """Of classes of which there are as many as a size says, and more than targets name."""
    n, classes = (p.dice.choice(list(p.symbols.values())) for _ in range(2))
    rest = tuple(p.extent() for _ in range(p.dice.randint(0, 2)))
    x, targets = p.input((n, classes + 4, *rest)), p.input((n, *rest), "i")
    p.values.remove(targets)
    reduction = p.dice.choice(("none", "sum", "mean"))
    p.some(product(targets.shape))
    op = p.dice.choice(("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"))
    return p.emit(op, [x.name, targets.name], targets.shape if reduction == "none" else (), reduction=reduction)


def kept_aspect(p: Program) -> Value:
    """A picture that fits into, or covers, one as large as another tensor says."""
    x, y = p.pick(lambda x: x.rank == 4), p.pick(lambda y: y.rank >= 2)
    small = p.dice.choice((True, False))
    wanted, extents = y.shape[:2], x.shape[2:]
    for extent in (*wanted, *x.shape):
        p.some(extent)
    best = size_min if small else size_max
    pairs = [(n, size_max(extent, 1)) for n, extent in zip(wanted, extents, strict=True)]
    sizes = [best(*((2 * n * extent + old) // (2 * old) for n, old in pairs)) for _, extent in pairs]
    dims = p.emit("Shape", [y.name], (2,), "i", True, end=2)
    p.values.remove(dims)
    return p.emit(
        "Resize",
        [x.name, "", "", dims.name],
        (*x.shape[:2], *sizes),
        mode="linear",
        axes=[2, 3],
        keep_aspect_ratio_policy="not_larger" if small else "not_smaller",
    )


def one_part(p: Program) -> Value:
    """Counted from the front: the extent of the last part is a formula that others cannot be shown to equal."""
    x = p.pick(lambda x: not all(map(is_static, x.shape)))
    axis, size, at = p.axis(x, lambda n: not is_static(n)), p.dice.choice((1, 2, 5)), p.dice.choice((0, 1))
    extent = x.shape[axis]
    begin = at * size
    p.some(size_max(extent - begin, 0) * size_max(begin + 1, 0))
    shape = tuple(size_max(size_min(begin + size, n) - begin, 0) if k == axis else n for k, n in enumerate(x.shape))
    parts = p.name("parts")
    given = [x.name, p.constant(np.array(size, np.int64))]
    p.nodes.append(helper.make_node("SplitToSequence", given, [parts], "split" + parts, axis=axis))
    return p.emit("SequenceAt", [parts, p.constant(np.array(at, np.int64))], shape, exact=x.exact)


def _own(p: Program, shape: Shape, axis: int) -> Value:
    """An input one of whose dimensions has a name of its own; only the operator that says what it equals reads it."""
    made = p.input(shape)
    p.values.remove(made)
    p.named[made.name, axis] = f"{made.name}_own"
    return made


def two_names(p: Program) -> Value:
    """A product with an input whose rows have a name of their own, though they have to be as many."""
    x = p.pick(lambda x: x.rank > 1 and bool(symbols_of(x.shape[-1])))
    y = _own(p, (x.shape[-1], p.dice.choice((3, 8))), 0)
    near = p.emit("Tanh", [x.name], x.shape)
    return p.emit("MatMul", [near.name, y.name], (*x.shape[:-1], y.shape[-1]))


def columns(p: Program) -> Value:
    """Windows put together, of which an input with a name of its own says how many there are."""
    y = p.pick(lambda y: y.rank > 1)
    h, w = y.shape[:2]
    if is_static(h) and is_static(w):
        raise Redraw
    x = _own(p, (1, 8, size_max(h - 1, 0) * size_max(w - 1, 0)), 2)
    for extent in (h, w):
        p.some(size_max(number(extent) - 1, 0) if is_static(extent) else extent - 1)
    dims = p.emit("Shape", [y.name], (2,), "i", True, end=2)
    p.values.remove(dims)
    return p.emit("Col2Im", [x.name, dims.name, p.ints(2, 2)], (1, 2, h, w))


RECIPES = {
    "Window": window,
    "MelWeightMatrix": filters,
    "SpaceToDepth": blocks_of_pictures,
    "Quantize blocks": blocks_of_weights,
    "Loss": loss,
    "Resize aspect": kept_aspect,
    "SequenceAt": one_part,
    "MatMul named": two_names,
    "Col2Im": columns,
}
