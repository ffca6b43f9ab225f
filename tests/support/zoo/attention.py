"""Attention as exporters spell it, for the networks beside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zoo.builder import Net


def heads(net: Net, x: str, count: int, perm: Sequence[int] = (0, 2, 1, 3), batch: int | str = 1) -> str:
    """[n, t, c] -> [n, count, t, c / count], or as `perm` orders it."""
    return net.transpose(net.reshape(x, batch, -1, count, net.widths[x] // count), *perm)


def joined(net: Net, x: str, batch: int | str = 1) -> str:
    """[n, h, t, d] -> [n, t, h * d]."""
    return net.reshape(net.transpose(x, 0, 2, 1, 3), batch, -1, net.widths[x], width=net.widths[x])


def weighted(net: Net, q: str, k: str, v: str, size: int, mask: str = "", spelling: str = "divide") -> str:
    """softmax(q k / sqrt(size) + mask) v, of q and v [.., t, size] and k [.., size, t].

    spelling: `divide`, the scores are divided; `both`, q and k have the root of the scale each, as torch's
    scaled_dot_product_attention is exported; `first`, q is scaled.
    """
    if spelling == "both":
        root = net.constant(size**-0.25)
        q, k = net.node("Mul", q, root), net.node("Mul", k, root)
    elif spelling == "first":
        q = net.node("Mul", q, net.constant(size**-0.5))
    scores = net.node("MatMul", q, k)
    if spelling == "divide":
        scores = net.node("Div", scores, net.constant(size**0.5))
    if mask:
        scores = net.node("Add", scores, mask)
    shares = net.node("Softmax", scores, axis=-1)
    result = net.node("MatMul", shares, v)
    net.widths[result], net.powers[result] = net.widths[v], 0.2 * net.powers[v]
    return result


def attention(
    net: Net, x: str, count: int, *, mask: str = "", spelling: str = "divide", batch: int | str = 1, context: str = ""
) -> str:
    """Attention of `count` heads on itself, or on `context`, with three projections and one of the result."""
    width = net.widths[x]
    other = context or x
    # Scores of a deviation near two: neither all alike nor a choice of one.
    q, k, v = net.linear(x, width, gain=1.4), net.linear(other, width, gain=1.4), net.linear(other, width)
    parts = (
        heads(net, q, count, batch=batch),
        heads(net, k, count, (0, 2, 3, 1), batch),
        heads(net, v, count, batch=batch),
    )
    return net.linear(joined(net, weighted(net, *parts, width // count, mask, spelling), batch), width)


def perceptron(net: Net, x: str, inner: int, act: str = "gelu") -> str:
    return net.linear(net.linear(x, inner, act=act), net.widths[x])


def encoder_block(net: Net, x: str, count: int, act: str = "gelu", factor: int = 4, spelling: str = "both") -> str:
    """A block whose norms stand first, as in ViT and Whisper."""
    x = net.add(x, attention(net, net.layer_norm(x), count, spelling=spelling))
    return net.add(x, perceptron(net, net.layer_norm(x), factor * net.widths[x], act))


def additive(net: Net, mask: str) -> str:
    """The mask [n, t] of ones and zeros as what BERT adds to scores [n, 1, 1, t]: 0, and the least float32."""
    wide = net.node("Unsqueeze", mask, net.whole(1, 2))
    floats = net.node("Cast", wide, to=1)
    least = net.constant(np.finfo(np.float32).min)
    return net.node("Mul", net.node("Sub", net.constant(1.0), floats), least)
