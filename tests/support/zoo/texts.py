"""Encoders and decoders of text beside those like BERT and GPT-2: T5, and Mamba's scans of states."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from zoo.attention import heads, joined
from zoo.builder import Built, Net

_ZERO = numpy_helper.from_array(np.zeros(1, np.int64))


def _distances(net: Net, steps: int, first: int, count: int, both: bool) -> str:
    """T5's bias of places [1, count, steps - first, steps]: buckets of distances, by the nodes of its exporter."""
    buckets = 32
    context = net.node("Unsqueeze", net.tensor("context", np.arange(first, steps)), net.whole(1))
    memory = net.node("Unsqueeze", net.tensor("memory", np.arange(steps)), net.whole(0))
    apart = net.node("Sub", memory, context)
    half = buckets // 2 if both else buckets
    if both:
        later = net.node("Cast", net.node("Greater", apart, net.constant(0, np.int64)), to=7)
        start = net.node("Mul", later, net.constant(half, np.int64))
        apart = net.node("Abs", apart)
    else:
        start = ""
        zeros = net.node("ConstantOfShape", net.node("Shape", apart), value=_ZERO)
        apart = net.node("Neg", net.node("Min", apart, zeros))
    exact = half // 2
    near = net.node("Less", apart, net.constant(exact, np.int64))
    ratio = net.node("Div", net.node("Cast", apart, to=1), net.constant(exact))
    log = net.node("Div", net.node("Log", ratio), net.constant(np.log(128 / exact)))
    far = net.node("Cast", net.node("Mul", log, net.constant(half - exact)), to=7)
    far = net.node("Add", far, net.constant(exact, np.int64))
    far = net.node("Min", far, net.constant(half - 1, np.int64))
    bucket = net.node("Where", near, apart, far)
    bias = net.embedding(net.node("Add", bucket, start) if start else bucket, buckets, count)
    return net.node("Unsqueeze", net.transpose(bias, 2, 0, 1), net.whole(0))


def _attended(net: Net, q: str, k: str, v: str, width: int, bias: str = "") -> str:
    """Attention without a scale, as T5's weights have it, of heads, and its projection."""
    scores = net.node("MatMul", q, k)
    y = net.node("MatMul", net.node("Softmax", net.node("Add", scores, bias) if bias else scores, axis=-1), v)
    net.widths[y], net.powers[y] = width, 0.2
    return net.linear(joined(net, y), width, bias=False)


def _query(net: Net, x: str, count: int) -> str:
    size = net.widths[x] // count
    return heads(net, net.linear(x, net.widths[x], bias=False, gain=1.4 * size**-0.5), count)


def _forward(net: Net, x: str, inner: int) -> str:
    y = net.linear(net.rms_norm(x), inner, act="relu", bias=False)
    return net.add(x, net.linear(y, net.widths[x], bias=False))


def t5_encoder(
    tokens: int = 128, layers: int = 6, width: int = 512, count: int = 8, inner: int = 2048, words: int = 32128,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """The encoder of T5-small, whose first layer's bias of places all layers add."""
    net = Net("t5_encoder", saturating=saturating)
    x = net.embedding(net.ids("input_ids", (1, tokens), words), words, width)
    bias = _distances(net, tokens, 0, count, True)
    for layer in range(layers):
        with net.scope(f"encoder.block.{layer}"):
            y = net.rms_norm(x)
            k, v = (net.linear(y, width, bias=False) for _ in range(2))
            parts = _query(net, y, count), heads(net, k, count, (0, 2, 3, 1)), heads(net, v, count)
            x = _forward(net, net.add(x, _attended(net, *parts, width, bias)), inner)
    return net.build(net.rms_norm(x))


def t5_step(
    past: int = 64, tokens: int = 128, layers: int = 6, width: int = 512, count: int = 8, inner: int = 2048,
    words: int = 32128, saturating: bool = False,
) -> Built:  # fmt: skip
    """A step of T5-small's decoder: keys and values of `past` steps, and those of `tokens` that were encoded."""
    net, size = Net("t5_step", saturating=saturating), width // count
    x = net.embedding(net.ids("input_ids", (1, 1), words), words, width)
    bias = _distances(net, past + 1, past, count, False)
    caches = list[str]()
    for layer in range(layers):
        with net.scope(f"decoder.block.{layer}"):
            held, encoded = (
                [net.input(f"{kind}_{word}.{layer}", (1, count, steps, size), -1) for word in ("key", "value")]
                for kind, steps in (("past", past), ("encoded", tokens))
            )
            y = net.rms_norm(x)
            now = (heads(net, net.linear(y, width, bias=False), count) for _ in range(2))
            k, v = (net.concat([a, b], 2, joins_channels=False) for a, b in zip(held, now, strict=True))
            caches += [k, v]
            x = net.add(x, _attended(net, _query(net, y, count), net.transpose(k, 0, 1, 3, 2), v, width, bias))
            k, v = encoded
            q = _query(net, net.rms_norm(x), count)
            x = net.add(x, _attended(net, q, net.transpose(k, 0, 1, 3, 2), v, width))
            x = _forward(net, x, inner)
    return net.build(net.linear(net.rms_norm(x), words, bias=False, gain=0.5), *caches)


def _scan(net: Net, kept: str, put: str, read: str, steps: int, inner: int, states: int) -> str:
    """h = kept[t] h + put[t], y[t] = h read[t], step by step, as a traced loop is exported: [1, inner, steps]."""
    state, rows = net.constant(np.zeros((1, inner, states))), list[str]()
    for step in range(steps):
        at = net.constant(step, np.int64)
        decayed = net.node("Mul", net.node("Gather", kept, at, axis=2), state)
        state = net.node("Add", decayed, net.node("Gather", put, at, axis=2))
        column = net.node("Unsqueeze", net.node("Gather", read, at, axis=1), net.whole(-1))
        row = net.node("Gather", net.node("MatMul", state, column), net.constant(0, np.int64), axis=2)
        rows.append(net.node("Unsqueeze", row, net.whole(-1)))
    return net.node("Concat", *rows, axis=-1)


def mamba(
    tokens: int = 32, layers: int = 4, width: int = 256, states: int = 16, words: int = 8192, saturating: bool = False
) -> Built:
    """Mamba: gated blocks with a short depthwise convolution, and a scan whose rates the input decides."""
    net, inner, rank = Net("mamba", saturating=saturating), 2 * width, max(1, width // 16)
    x = net.embedding(net.ids("input_ids", (1, tokens), words), words, width)
    for layer in range(layers):
        with net.scope(f"layers.{layer}"):
            both = net.transpose(net.linear(net.rms_norm(x), 2 * inner, bias=False), 0, 2, 1)
            u, gate = net.split(both, (inner, inner))
            u = net.conv(u, inner, (4,), padding=3, groups=inner, norm=False)
            u = net.act(net.slice(u, 0, tokens, 2), "silu")
            few = net.linear(net.transpose(u, 0, 2, 1), rank + 2 * states, bias=False)
            rate, put, read = net.split(few, (rank, states, states), 2)
            rate = net.node("Softplus", net.transpose(net.linear(rate, inner), 0, 2, 1))
            decay = net.node("Neg", net.node("Exp", net.tensor("A_log", _logs(inner, states))))
            wide = net.node("Unsqueeze", rate, net.whole(-1))
            kept = net.node("Exp", net.node("Mul", net.node("Unsqueeze", decay, net.whole(0, 2)), wide))
            put = net.node("Mul", wide, net.node("Unsqueeze", put, net.whole(1)))
            put = net.node("Mul", put, net.node("Unsqueeze", u, net.whole(-1)))
            y = _scan(net, kept, put, read, tokens, inner, states)
            skipped = net.weight("D", (inner, 1), 0.5)
            y = net.node("Add", y, net.node("Mul", u, skipped))
            net.widths[y], net.powers[y], net.means[y] = inner, 2.0, 0.0
            y = net.transpose(net.mul(y, net.act(gate, "silu")), 0, 2, 1)
            x = net.add(x, net.linear(y, width, bias=False))
    return net.build(net.linear(net.rms_norm(x), words, bias=False))


def _logs(inner: int, states: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.log(np.tile(np.arange(1, states + 1, dtype=np.float32), (inner, 1)))
