"""Recipes of operators on pictures and sequences of open sizes: windows, pools, resizing, recurrent ones."""

from __future__ import annotations

import numpy as np
from random_open_onnx import Program, Redraw, Value, is_static, last_static, number

from whence.dialects.sizes import Size, product


def _picture(p: Program, rank: int) -> Value:
    """A batch of pictures (or rows) of a known number of channels."""
    try:
        return p.pick(lambda x: x.rank == rank and is_static(x.shape[1]) and number(x.shape[1]) <= 24)
    except Redraw:
        extents = [p.extent() for _ in range(rank - 2)]
        return p.input((p.dice.choice((1, p.dice.choice(list(p.symbols.values())))), p.dice.choice((3, 8)), *extents))


def convolution(p: Program) -> Value:
    rank = p.dice.choice((3, 4, 4))
    x = _picture(p, rank)
    channels = number(x.shape[1])
    groups = channels if p.dice.random() < 0.3 else 1
    out = channels if groups > 1 else p.dice.choice((1, 5, 8, 16))
    kernel = [p.dice.choice((1, 2, 3, 5)) for _ in range(rank - 2)]
    stride = [p.dice.choice((1, 1, 2)) for _ in kernel]
    around = [k // 2 for k in kernel]
    shape: list[Size] = [x.shape[0], out]
    for n, k, s, a in zip(x.shape[2:], kernel, stride, around, strict=True):
        shape.append((n + 2 * a - k) // s + 1)
        p.some(n + 2 * a - k + 1)
    weights = p.weights(out, channels // groups, *kernel, scale=0.3)
    given = [x.name, weights, *([p.weights(out)] if p.dice.random() < 0.5 else [])]
    return p.emit("Conv", given, tuple(shape), strides=stride, pads=around * 2, group=groups)


def pool(p: Program) -> Value:
    x = _picture(p, p.dice.choice((3, 4, 4)))
    kernel = [p.dice.choice((2, 3)) for _ in x.shape[2:]]
    stride = [p.dice.choice((1, 2)) for _ in kernel]
    around = [k // 2 for k in kernel]
    for n, k, a in zip(x.shape[2:], kernel, around, strict=True):
        p.some(n + 2 * a - k + 1)
    sizes = zip(x.shape[2:], kernel, stride, around, strict=True)
    shape = (*x.shape[:2], *((n + 2 * a - k) // s + 1 for n, k, s, a in sizes))
    op = p.dice.choice(("MaxPool", "AveragePool"))
    return p.emit(op, [x.name], shape, kernel_shape=kernel, strides=stride, pads=around * 2)


def global_pool(p: Program) -> Value:
    x = _picture(p, p.dice.choice((3, 4)))
    op = p.dice.choice(("GlobalAveragePool", "GlobalMaxPool"))
    p.some(product(x.shape[2:]))
    return p.emit(op, [x.name], (*x.shape[:2], *[1] * (x.rank - 2)))


def up(p: Program) -> Value:
    x = _picture(p, 4)
    scales = p.constant(np.array([1, 1, 2, 2], np.float32))
    shape = (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])
    mode = p.dice.choice(("nearest", "linear"))
    return p.emit("Resize", [x.name, "", scales], shape, mode=mode)


def up_learned(p: Program) -> Value:
    x = _picture(p, 4)
    channels, out = number(x.shape[1]), p.dice.choice((1, 4, 8))
    shape = (x.shape[0], out, 2 * x.shape[2], 2 * x.shape[3])
    p.some(x.shape[2] * x.shape[3])
    weights = p.weights(channels, out, 2, 2, scale=0.3)
    return p.emit("ConvTranspose", [x.name, weights], shape, strides=[2, 2])


def batch_norm(p: Program) -> Value:
    x = _picture(p, p.dice.choice((3, 4)))
    n = number(x.shape[1])
    spread = p.constant(np.abs(p.numbers.standard_normal(n)).astype(np.float32) + 0.5)
    given = [x.name, p.weights(n), p.weights(n), p.weights(n), spread]
    return p.emit("BatchNormalization", given, x.shape)


def recurrent(p: Program) -> Value:
    x = p.pick(lambda x: x.rank == 3 and last_static(x))
    p.some(product(x.shape))
    hidden, inner = p.dice.choice((1, 4, 8)), number(x.shape[-1])
    op, gates = p.dice.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    directions = p.dice.choice((1, 2))
    shape = (x.shape[0], directions, x.shape[1], hidden)
    given = [
        x.name,
        p.weights(directions, gates * hidden, inner, scale=0.3),
        p.weights(directions, gates * hidden, hidden, scale=0.3),
        p.weights(directions, 2 * gates * hidden, scale=0.3),
    ]
    direction = "bidirectional" if directions == 2 else p.dice.choice(("forward", "reverse"))
    return p.emit(op, given, shape, hidden_size=hidden, direction=direction)


RECIPES = {
    "Conv": convolution,
    "Pool": pool,
    "GlobalPool": global_pool,
    "Resize": up,
    "ConvTranspose": up_learned,
    "BatchNormalization": batch_norm,
    "Recurrent": recurrent,
}
