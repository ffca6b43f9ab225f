"""Speech, recurrent networks, and one that recommends."""

from __future__ import annotations

import numpy as np

from zoo.attention import attention, encoder_block, joined, perceptron
from zoo.builder import Built, Net


def whisper_encoder(
    steps: int = 3000, layers: int = 4, width: int = 384, count: int = 6, bands: int = 80, saturating: bool = False
) -> Built:
    """The encoder of Whisper-tiny: attention over 1500 frames."""
    net = Net("whisper_encoder", saturating=saturating)
    x = net.conv(net.input("mel", (1, bands, steps)), width, (3,), act="gelu", norm=False)
    x = net.transpose(net.conv(x, width, (3,), 2, act="gelu", norm=False), 0, 2, 1)
    x = net.add(x, net.weight("places", (steps // 2, width), 0.5))
    for layer in range(layers):
        with net.scope(f"layers.{layer}"):
            x = encoder_block(net, x, count, spelling="first")
    return net.build(net.layer_norm(x))


def wav2vec2(
    samples: int = 16000, layers: int = 6, width: int = 768, count: int = 12, inner: int = 512, taps: int = 128,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """wav2vec2: strided convolutions of samples, one of 128 taps in 16 groups, and blocks of attention."""
    net = Net("wav2vec2", saturating=saturating)
    x = net.node("Unsqueeze", net.input("samples", (1, samples)), net.whole(1))
    net.widths[x] = 1
    for layer, (kernel, stride) in enumerate(((10, 5), *[(3, 2)] * 4, *[(2, 2)] * 2)):
        x = net.conv(x, inner, (kernel,), stride, padding=0, norm=False)
        if not layer:
            scale = net.tensor("scale", net.rng.uniform(0.8, 1.2, inner).astype(np.float32))
            x = net.node("InstanceNormalization", x, scale, net.bias(inner))
        x = net.act(x, "gelu")
    x = net.linear(net.layer_norm(net.transpose(x, 0, 2, 1)), width)
    y = net.conv(net.transpose(x, 0, 2, 1), width, (taps,), groups=16, padding=taps // 2, norm=False)
    y = net.act(net.slice(y, 0, -1, 2), "gelu")
    x = net.layer_norm(net.add(x, net.transpose(y, 0, 2, 1)))
    for layer in range(layers):
        with net.scope(f"layers.{layer}"):
            x = net.layer_norm(net.add(x, attention(net, x, count, spelling="first")))
            x = net.layer_norm(net.add(x, perceptron(net, x, 4 * width)))
    return net.build(net.linear(x, 32))


def _recurrent(net: Net, x: str, kind: str, hidden: int, both: bool, batch: int) -> str:
    """A layer of LSTM or GRU over [t, n, c], of one direction or both."""
    gates, directions, width = {"LSTM": 4, "GRU": 3}[kind], 1 + both, net.widths[x]
    rows = gates * hidden
    weights = [
        net.weight("W", (directions, rows, width), (width * net.powers[x]) ** -0.5),
        net.weight("R", (directions, rows, hidden), hidden**-0.5),
    ]
    offsets = net.rng.standard_normal((directions, 2 * rows), np.float32) * np.float32(0.1)
    if net.saturating:
        offsets[:, ::16], offsets[:, 1::16] = 100, -100
    start = net.constant(np.zeros((directions, batch, hidden)))
    states = ["", *[start] * (2 if kind == "LSTM" else 1)]
    direction = "bidirectional" if both else "forward"
    extra = {"linear_before_reset": 1} if kind == "GRU" else {}
    inputs = [x, *weights, net.tensor("B", offsets), *states]
    (y,) = net.several(kind, inputs, 1, hidden_size=hidden, direction=direction, **extra)
    if both:
        y = net.reshape(net.transpose(y, 0, 2, 1, 3), 0, 0, -1)
    else:
        y = net.node("Squeeze", y, net.whole(1))
    net.widths[y], net.powers[y] = directions * hidden, 0.2
    return y


def recurrent(
    kind: str, steps: int = 64, width: int = 256, hidden: int = 512, layers: int = 2, both: bool = False, *,
    batch: int = 1, saturating: bool = False,
) -> Built:  # fmt: skip
    """Layers of LSTM or GRU on sequences [steps, batch, width], and a dense layer."""
    net = Net(kind.lower(), saturating=saturating)
    x = net.input("x", (steps, batch, width), 2)
    for _ in range(layers):
        x = _recurrent(net, x, kind, hidden, both, batch)
    return net.build(net.linear(x, 128))


def vocoder(frames: int = 64, width: int = 128, bands: int = 80, saturating: bool = False) -> Built:
    """A generator of speech like HiFi-GAN: transposed convolutions and dilated ones of one axis."""
    net = Net("vocoder", saturating=saturating)
    x = net.conv(net.input("mel", (1, bands, frames)), width, (7,), norm=False)
    for stage, (stride, kernel) in enumerate(((8, 16), (8, 16), (2, 4), (2, 4))):
        x = net.deconv(net.act(x, "leaky"), width >> (stage + 1), kernel, stride, 1)
        branches = list[str]()
        for taps in (3, 7, 11):
            y = x
            for dilation in (1, 3, 5):
                z = net.conv(net.act(y, "leaky"), net.widths[x], (taps,), dilation=dilation, norm=False)
                y = net.add(net.conv(net.act(z, "leaky"), net.widths[x], (taps,), norm=False), y)
            branches.append(y)
        joint = net.add(net.add(branches[0], branches[1]), branches[2])
        x = net.node("Div", joint, net.constant(3.0))
        net.powers[x] = net.powers[joint] / 9
    return net.build(net.conv(net.act(x, "leaky"), 1, (7,), act="tanh", norm=False))


def recommender(
    batch: int = 32, tables: int = 26, words: int = 10000, width: int = 64, inner: tuple[int, int] = (512, 256),
    saturating: bool = False,
) -> Built:  # fmt: skip
    """DLRM: embeddings of categories, products of all pairs of them, perceptrons before and after."""
    net = Net("recommender", saturating=saturating)
    x = net.input("dense", (batch, 13))
    for outputs in (*inner, width):
        x = net.gemm(x, outputs, act="relu")
    ids = net.ids("ids", (batch, tables), words)
    rows = [net.node("Unsqueeze", x, net.whole(1))]
    for table in range(tables):
        index = net.node("Gather", ids, net.constant(table, np.int64), axis=1)
        rows.append(net.node("Unsqueeze", net.embedding(index, words, width), net.whole(1)))
    joint = net.concat(rows, 1, joins_channels=False)
    pairs = net.node("MatMul", joint, net.transpose(joint, 0, 2, 1))
    lower = np.flatnonzero(np.tril(np.ones((tables + 1, tables + 1)), -1))
    flat = net.node("Gather", net.reshape(pairs, batch, -1), net.whole(*lower.tolist()), axis=1)
    net.widths[flat], net.powers[flat] = lower.size, float(width)
    x = net.concat([x, flat])
    for outputs in (*inner, 1):
        x = net.gemm(x, outputs, act="relu" if outputs > 1 else "sigmoid")
    return net.build(x)


def _relative(net: Net, x: str, count: int, steps: int) -> str:
    """Attention that knows distances: scores of 2 steps - 1 distances, shifted by Pad, Reshape and Slice."""
    width = net.widths[x]
    size, far = width // count, 2 * steps - 1
    q, k, v = (net.reshape(net.linear(x, width, gain=1.2), 1, -1, count, size) for _ in range(3))
    waves = net.weight("places", (1, far, width), 0.7)
    places = net.transpose(net.reshape(net.linear(waves, width, bias=False), 1, -1, count, size), 0, 2, 3, 1)
    by_key, by_place = (
        net.transpose(net.node("Add", q, net.weight("bias", (count, size), 0.3)), 0, 2, 1, 3) for _ in range(2)
    )
    near = net.node("MatMul", by_key, net.transpose(k, 0, 2, 3, 1))
    padded = net.node("Pad", net.node("MatMul", by_place, places), net.whole(0, 0, 0, 1, 0, 0, 0, 0))
    turned = net.slice(net.reshape(padded, 1, count, far + 1, steps), 1, 1 << 62, 2)
    shifted = net.slice(net.reshape(turned, 1, count, steps, far), 0, steps, 3)
    scores = net.node("Div", net.node("Add", near, shifted), net.constant(size**0.5))
    y = net.node("MatMul", net.node("Softmax", scores, axis=-1), net.transpose(v, 0, 2, 1, 3))
    net.widths[y], net.powers[y] = width, 0.2
    return net.linear(joined(net, y), width)


def conformer(
    frames: int = 400, layers: int = 6, width: int = 144, count: int = 4, bands: int = 80, taps: int = 31,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """Conformer-S: two strided convolutions, then blocks of half perceptrons, attention and a convolution."""
    net = Net("conformer", saturating=saturating)
    x = net.node("Unsqueeze", net.input("mel", (1, frames, bands)), net.whole(1))
    net.widths[x] = 1
    x = net.conv(net.conv(x, width, 3, 2, act="relu", norm=False), width, 3, 2, act="relu", norm=False)
    steps = frames // 4
    x = net.reshape(net.transpose(x, 0, 2, 1, 3), 1, steps, width * (bands // 4), width=width * (bands // 4))
    x = net.linear(x, width)

    def half(x: str) -> str:
        return net.add(x, net.mul(perceptron(net, net.layer_norm(x), 4 * width, "silu"), net.constant(0.5)))

    for layer in range(layers):
        with net.scope(f"layers.{layer}"):
            x = half(x)
            x = net.add(x, _relative(net, net.layer_norm(x), count, steps))
            y = net.transpose(net.layer_norm(x), 0, 2, 1)
            value, gate = net.split(net.conv(y, 2 * width, (1,), norm=False), (width, width))
            y = net.mul(value, net.act(gate, "sigmoid"))
            y = net.conv(net.conv(y, width, (taps,), groups=width, act="silu"), width, (1,), norm=False)
            x = net.layer_norm(half(net.add(x, net.transpose(y, 0, 2, 1))))
    return net.build(net.node("LogSoftmax", net.linear(x, 128), axis=-1))


def deep_speech(
    frames: int = 200, bands: int = 160, hidden: int = 256, layers: int = 3, saturating: bool = False
) -> Built:
    """Deep Speech 2: wide strided convolutions of a spectrogram, layers of GRU in both directions."""
    net = Net("deep_speech", saturating=saturating)
    x, channels = net.input("spectrogram", (1, 1, bands, frames)), 32
    for window, stride in (((41, 11), (2, 2)), ((21, 11), (2, 1))):
        y = net.conv(x, channels, window, stride)
        x = net.node("Clip", y, net.constant(0.0), net.constant(20.0))
        net.powers[x], net.means[x] = 0.5, 0.4
    x = net.transpose(net.reshape(x, 1, channels * bands // 4, -1, width=channels * bands // 4), 2, 0, 1)
    for _ in range(layers):
        x = _recurrent(net, x, "GRU", hidden, True, 1)
    return net.build(net.node("Softmax", net.linear(x, 29), axis=-1))
