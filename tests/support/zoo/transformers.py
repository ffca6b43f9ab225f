"""Transformers of words and of image patches."""

from __future__ import annotations

import numpy as np

from zoo.attention import additive, attention, encoder_block, heads, joined, perceptron, weighted
from zoo.builder import Built, Net


def bert(
    tokens: int = 128, layers: int = 12, width: int = 768, count: int = 12, words: int = 30522, *, batch: int = 1,
    symbolic: bool = False, decomposed: bool = False, saturating: bool = False,
) -> Built:  # fmt: skip
    """BERT-base. decomposed: norms as exporters before opset 17 write them."""
    net = Net("bert", saturating=saturating)
    shape, symbols = (batch, tokens), ("batch", "tokens") if symbolic else ()
    ids, kinds = net.ids("input_ids", shape, words, symbols), net.ids("token_type_ids", shape, 2, symbols)
    rows: int | str = net.extent(ids, 0) if symbolic else batch
    mask = additive(net, net.mask("attention_mask", shape, symbols))
    if symbolic:
        last = net.node("Unsqueeze", net.extent(ids, 1), net.whole(0))
        places = net.node("Slice", net.weight("places", (512, width), 1.0), net.whole(0), last, net.whole(0))
    else:
        places = net.weight("places", (1, tokens, width), 1.0)
    x = net.add(net.add(net.embedding(ids, words, width), net.embedding(kinds, 2, width)), places)
    x = net.layer_norm(x, 1e-12, decomposed)
    for layer in range(layers):
        with net.scope(f"encoder.layer.{layer}"):
            y = attention(net, x, count, mask=mask, batch=rows)
            x = net.layer_norm(net.add(y, x), 1e-12, decomposed)
            x = net.layer_norm(net.add(perceptron(net, x, 4 * width), x), 1e-12, decomposed)
    first = net.node("Gather", x, net.constant(0, np.int64), axis=1)
    return net.build(x, net.gemm(first, width, act="tanh"))


def _cached(net: Net, now: str, past: str) -> str:
    """Keys or values [n, h, t, d] behind those of steps before."""
    return net.concat([past, now], 2, joins_channels=False)


def gpt2(
    tokens: int = 64, past: int = 0, layers: int = 12, width: int = 768, count: int = 12, words: int = 50257, *,
    batch: int = 1, symbolic: bool = False, saturating: bool = False,
) -> Built:  # fmt: skip
    """GPT-2: a prompt of `tokens`, or a step with caches of `past` tokens, which it returns longer by `tokens`."""
    net, size = Net("gpt2", saturating=saturating), width // count
    ids = net.ids("input_ids", (batch, tokens), words, ("batch", "tokens") if symbolic else ())
    rows: int | str = net.extent(ids, 0) if symbolic else batch
    table = net.weight("places", (1024, width), 0.2)
    if symbolic:
        end = net.node("Unsqueeze", net.extent(ids, 1), net.whole(0))
        places = net.node("Slice", table, net.whole(0), end, net.whole(0))
        start = net.whole(0)
    else:
        places = net.slice(table, past, past + tokens, 0)
        start, end = net.whole(past), net.whole(past + tokens)
    x = net.add(net.embedding(ids, words, width), places)
    causal = net.tensor("causal", np.tril(np.ones((1, 1, 1024, 1024), np.bool_)))
    least = net.constant(-1e9 if saturating else np.finfo(np.float32).min)
    caches: list[str] = []
    for layer in range(layers):
        with net.scope(f"h.{layer}"):
            y = net.layer_norm(x)
            flat = net.reshape(y, -1, width)
            joint = net.reshape(net.gemm(flat, 3 * width, transposed=False), rows, -1, 3 * width)
            q, k, v = (heads(net, part, count, batch=rows) for part in net.split(joint, (width,) * 3, 2))
            if past:
                held = [net.input(f"past_{word}.{layer}", (batch, count, past, size), -1) for word in ("key", "value")]
                k, v = (_cached(net, now, before) for now, before in zip((k, v), held, strict=True))
                net.widths[k] = net.widths[v] = width
            caches += [k, v]
            scores = net.node("Div", net.node("MatMul", q, net.transpose(k, 0, 1, 3, 2)), net.constant(size**0.5))
            seen = net.node("Slice", causal, start, end, net.whole(2), net.whole(1))
            seen = net.node("Slice", seen, net.whole(0), end, net.whole(3), net.whole(1))
            shares = net.node("Softmax", net.node("Where", seen, scores, least), axis=-1)
            y = net.node("MatMul", shares, v)
            net.widths[y], net.powers[y] = width, 0.2 * net.powers[v]
            y = net.gemm(net.reshape(joined(net, y, rows), -1, width), width, transposed=False)
            x = net.add(net.reshape(y, rows, -1, width), x)
            y = net.gemm(net.reshape(net.layer_norm(x), -1, width), 4 * width, act="gelu_tanh", transposed=False)
            x = net.add(x, net.reshape(net.gemm(y, width, transposed=False), rows, -1, width))
    return net.build(net.linear(net.layer_norm(x), words, bias=False), *caches)


def _turned(net: Net, x: str, cos: str, sin: str, size: int) -> str:
    """Rotary places of [n, h, t, size]: x cos + rotate_half(x) sin."""
    low, high = net.slice(x, 0, size // 2, 3), net.slice(x, size // 2, 1 << 62, 3)
    half = net.concat([net.node("Neg", high), low], 3, joins_channels=False)
    result = net.node("Add", net.node("Mul", x, cos), net.node("Mul", half, sin))
    net.widths[result], net.powers[result] = net.widths[x], net.powers[x]
    return result


def _repeated(net: Net, x: str, groups: int, repeats: int, steps: int, size: int) -> str:
    """Each head of keys and values for `repeats` heads of queries, by Unsqueeze, Expand and Reshape."""
    wide = net.node("Expand", net.node("Unsqueeze", x, net.whole(2)), net.whole(1, groups, repeats, steps, size))
    result = net.reshape(wide, 1, groups * repeats, steps, size, width=groups * repeats * size)
    return result


def llama(
    tokens: int = 64, past: int = 0, layers: int = 6, width: int = 768, count: int = 12, groups: int = 4,
    inner: int = 2048, words: int = 32000, name: str = "llama", saturating: bool = False,
) -> Built:  # fmt: skip
    """A decoder like Llama, or Qwen2, whose first projections have biases.

    It has grouped queries, rotary places, root mean square norms, and gated perceptrons.
    """
    net, size, biased = Net(name, saturating=saturating), width // count, name == "qwen2"
    ids = net.ids("input_ids", (1, tokens), words)
    places = net.tensor("places", np.arange(past, past + tokens, dtype=np.int64)[None])
    rates = net.tensor("inv_freq", (10000.0 ** (-np.arange(0, size, 2) / size)).astype(np.float32)[None, :, None])
    angles = net.node("MatMul", rates, net.node("Cast", net.node("Unsqueeze", places, net.whole(1)), to=1))
    angles = net.transpose(angles, 0, 2, 1)
    both = net.node("Concat", angles, angles, axis=-1)
    cos, sin = (net.node("Unsqueeze", net.node(op, both), net.whole(1)) for op in ("Cos", "Sin"))
    steps = past + tokens
    least = -1e9 if saturating else np.finfo(np.float32).min
    mask = net.tensor("mask", np.triu(np.full((1, 1, tokens, steps), least, np.float32), past + 1))
    x = net.embedding(ids, words, width)
    caches: list[str] = []
    for layer in range(layers):
        with net.scope(f"layers.{layer}"):
            y = net.rms_norm(x)
            q = _turned(net, heads(net, net.linear(y, width, bias=biased, gain=1.4), count), cos, sin, size)
            few = [net.linear(y, groups * size, bias=biased, gain=gain) for gain in (1.4, 1.0)]
            k, v = (heads(net, part, groups) for part in few)
            k = _turned(net, k, cos, sin, size)
            if past:
                held = [net.input(f"past_{word}.{layer}", (1, groups, past, size), -1) for word in ("key", "value")]
                k, v = (_cached(net, now, before) for now, before in zip((k, v), held, strict=True))
            caches += [k, v]
            k, v = (_repeated(net, part, groups, count // groups, steps, size) for part in (k, v))
            y = weighted(net, q, net.transpose(k, 0, 1, 3, 2), v, size, mask)
            x = net.add(x, net.linear(joined(net, y), width, bias=False))
            y = net.rms_norm(x)
            gate = net.linear(y, inner, act="silu", bias=False)
            x = net.add(x, net.linear(net.mul(gate, net.linear(y, inner, bias=False)), width, bias=False))
    return net.build(net.linear(net.rms_norm(x), words, bias=False), *caches)


def vit_small(
    size: int = 224, patch: int = 16, layers: int = 12, width: int = 384, count: int = 6, classes: int = 1000, *,
    batch: int = 1, symbolic: bool = False, saturating: bool = False,
) -> Built:  # fmt: skip
    net = Net("vit_small", saturating=saturating)
    image = net.input("image", (batch, 3, size, size), symbols=("batch", 3, size, size) if symbolic else ())
    rows: int | str = net.extent(image, 0) if symbolic else batch
    x = net.conv(image, width, patch, patch, padding=0, norm=False)
    steps = (size // patch) ** 2
    x = net.transpose(net.reshape(x, rows, width, steps), 0, 2, 1)
    token = net.weight("class", (1, 1, width), 1.0)
    if isinstance(rows, str):
        sizes = net.node("Concat", net.node("Unsqueeze", rows, net.whole(0)), net.whole(1, width), axis=0)
        token = net.node("Expand", token, sizes)
    elif batch > 1:
        token = net.node("Expand", token, net.whole(batch, 1, width))
    x = net.concat([token, x], 1, joins_channels=False)
    net.widths[x] = width
    x = net.add(x, net.weight("places", (1, steps + 1, width), 0.5))
    for layer in range(layers):
        with net.scope(f"blocks.{layer}"):
            x = net.add(x, attention(net, net.layer_norm(x), count, spelling="both", batch=rows))
            x = net.add(x, perceptron(net, net.layer_norm(x), 4 * width))
    first = net.node("Gather", net.layer_norm(x), net.constant(0, np.int64), axis=1)
    return net.build(net.gemm(first, classes))


def _window_mask(side: int, window: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """-100 between the pixels of a window that a shift has brought together [windows, window^2, window^2]."""
    shift, marks = window // 2, np.zeros((side, side))
    for row, rows in enumerate((slice(0, -window), slice(-window, -shift), slice(-shift, None))):
        for column, columns in enumerate((slice(0, -window), slice(-window, -shift), slice(-shift, None))):
            marks[rows, columns] = 3 * row + column
    count = side // window
    parts = marks.reshape(count, window, count, window).transpose(0, 2, 1, 3).reshape(-1, window * window)
    return np.where(parts[:, None] == parts[:, :, None], 0, -100).astype(np.float32)


def _rolled(net: Net, x: str, shift: int) -> str:
    """Rows and columns of [1, h, w, c] turned by `shift`, as torch.roll is exported: slices and concats."""
    for axis in (1, 2):
        cut = (shift, 1 << 62), (0, shift)
        x = net.concat([net.slice(x, *ends, axis) for ends in cut], axis, joins_channels=False)
    return x


def _windows(net: Net, x: str, count: int, window: int, side: int, shifted: bool) -> str:
    """Attention within windows of [1, side, side, c], with a bias of places and, where shifted, a mask."""
    width, tiles, area = net.widths[x], side // window, window * window
    size = width // count
    if shifted:
        x = _rolled(net, x, window // 2)
    apart = net.transpose(net.reshape(x, 1, tiles, window, tiles, window, width), 0, 1, 3, 2, 4, 5)
    x = net.reshape(apart, tiles * tiles, area, width)
    joint = net.reshape(net.linear(x, 3 * width, gain=1.2), tiles * tiles, area, 3, count, size)
    joint = net.transpose(joint, 2, 0, 3, 1, 4)
    q, k, v = (net.node("Gather", joint, net.constant(part, np.int64), axis=0) for part in range(3))
    q = net.node("Mul", q, net.constant(size**-0.5))
    scores = net.node("MatMul", q, net.transpose(k, 0, 1, 3, 2))
    scores = net.node("Add", scores, net.weight("places", (1, count, area, area), 0.5))
    if shifted:
        apart = net.reshape(scores, 1, tiles * tiles, count, area, area)
        mask = net.tensor("mask", _window_mask(side, window)[None, :, None])
        scores = net.reshape(net.node("Add", apart, mask), -1, count, area, area)
    y = net.node("MatMul", net.node("Softmax", scores, axis=-1), v)
    y = net.reshape(net.transpose(y, 0, 2, 1, 3), tiles * tiles, area, width, width=width)
    net.powers[y] = 0.2
    y = net.reshape(net.linear(y, width), 1, tiles, tiles, window, window, width)
    y = net.reshape(net.transpose(y, 0, 1, 3, 2, 4, 5), 1, side, side, width)
    return _rolled(net, y, -(window // 2)) if shifted else y


def swin_tiny(
    size: int = 224, depths: tuple[int, ...] = (2, 2, 6, 2), width: int = 96, window: int = 7, classes: int = 1000,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """Swin-tiny: windows of 7x7, every other block's shifted and masked with -100."""
    net, side = Net("swin_tiny", saturating=saturating), size // 4
    x = net.conv(net.input("image", (1, 3, size, size)), width, 4, 4, padding=0, norm=False)
    x = net.layer_norm(net.transpose(x, 0, 2, 3, 1))
    for stage, depth in enumerate(depths):
        if stage:
            corners = [
                net.slice(net.slice(x, row, 1 << 62, 1, 2), column, 1 << 62, 2, 2)
                for column in (0, 1)
                for row in (0, 1)
            ]
            side //= 2
            x = net.linear(net.layer_norm(net.concat(corners, 3)), width << stage, bias=False)
        for block in range(depth):
            with net.scope(f"layers.{stage}.blocks.{block}"):
                shifted = bool(block % 2) and side > window
                x = net.add(x, _windows(net, net.layer_norm(x), 3 << stage, window, side, shifted))
                x = net.add(x, perceptron(net, net.layer_norm(x), 4 * net.widths[x]))
    mean = net.node("ReduceMean", net.layer_norm(x), axes=[1, 2], keepdims=0)
    return net.build(net.gemm(mean, classes))


def encoder(tokens: int, layers: int, width: int, count: int, saturating: bool = False) -> Built:
    """Blocks of attention alone, whose norms stand first."""
    net = Net("encoder", saturating=saturating)
    x = net.input("x", (1, tokens, width), 2)
    for layer in range(layers):
        with net.scope(f"layers.{layer}"):
            x = encoder_block(net, x, count)
    return net.build(net.layer_norm(x))
