"""Networks that say something of every pixel or box: segmentation, detection, diffusion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zoo.attention import heads, joined, weighted
from zoo.builder import Built, Net


def unet(size: int = 256, width: int = 32, depth: int = 4, saturating: bool = False) -> Built:
    """U-Net of transposed convolutions, with norms folded."""
    net = Net("unet", saturating=saturating)

    def double(x: str, outputs: int) -> str:
        return net.conv(net.conv(x, outputs, 3, act="relu"), outputs, 3, act="relu")

    x, kept = net.input("image", (1, 3, size, size)), list[str]()
    for level in range(depth):
        with net.scope(f"encoder{level + 1}"):
            kept.append(double(x, width << level))
            x = net.pool(kept[-1], 2, 2)
    x = double(x, width << depth)
    for level in reversed(range(depth)):
        with net.scope(f"decoder{level + 1}"):
            x = double(net.concat([net.deconv(x, width << level, 2, 2), kept[level]]), width << level)
    return net.build(net.conv(x, 1, act="sigmoid", norm=False))


def _c2f(net: Net, x: str, outputs: int, count: int, shortcut: bool) -> str:
    """YOLOv8's block: a split, bottlenecks of two convolutions, everything concatenated."""
    half = outputs // 2
    parts = net.split(net.conv(x, outputs, act="silu"), (half, half))
    for _ in range(count):
        y = net.conv(net.conv(parts[-1], half, 3, act="silu"), half, 3, act="silu")
        parts.append(net.add(parts[-1], y) if shortcut else y)
    return net.conv(net.concat(parts), outputs, act="silu")


def _anchors(size: int, strides: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:  # pyright: ignore[reportMissingTypeArgument]
    centres, steps = list[np.ndarray](), list[np.ndarray]()  # pyright: ignore[reportMissingTypeArgument]
    for stride in strides:
        side = size // stride
        rows, columns = np.meshgrid(np.arange(side) + 0.5, np.arange(side) + 0.5, indexing="ij")
        centres.append(np.stack([columns.ravel(), rows.ravel()]))
        steps.append(np.full((1, side * side), stride))
    return np.concatenate(centres, 1)[None], np.concatenate(steps, 1)[None]


def yolov8n(size: int = 640, width: int = 16, classes: int = 80, saturating: bool = False) -> Built:
    """YOLOv8n with the decoding of boxes in the model, as it is exported."""
    net, wide = Net("yolov8n", saturating=saturating), 4 * width
    x = net.conv(net.input("images", (1, 3, size, size)), width, 3, 2, act="silu")
    levels = list[str]()
    for stage, count in enumerate((1, 2, 2, 1)):
        with net.scope(f"model.{2 * stage + 1}"):
            outputs = 2 * width << stage
            x = _c2f(net, net.conv(x, outputs, 3, 2, act="silu"), outputs, count, True)
            levels.append(x)
    half = net.conv(levels[3], 8 * width, act="silu")
    pooled = [half]
    for _ in range(3):
        pooled.append(net.pool(pooled[-1], 5, 1, 2))
    p5 = net.conv(net.concat(pooled), 16 * width, act="silu")
    p4 = _c2f(net, net.concat([net.resize(p5), levels[2]]), 8 * width, 1, False)
    p3 = _c2f(net, net.concat([net.resize(p4), levels[1]]), wide, 1, False)
    p4 = _c2f(net, net.concat([net.conv(p3, wide, 3, 2, act="silu"), p4]), 8 * width, 1, False)
    p5 = _c2f(net, net.concat([net.conv(p4, 8 * width, 3, 2, act="silu"), p5]), 16 * width, 1, False)
    flat = list[str]()
    for level, x in enumerate((p3, p4, p5)):
        with net.scope(f"model.22.{level}"):
            parts = list[str]()
            for inner, outputs in ((64, 64), (max(wide, classes), classes)):
                y = net.conv(net.conv(x, inner, 3, act="silu"), inner, 3, act="silu")
                parts.append(net.conv(y, outputs, norm=False))
            flat.append(net.reshape(net.concat(parts), 1, 64 + classes, -1))
    boxes, scores = net.split(net.concat(flat, 2, joins_channels=False), (64, classes))
    centres, steps = _anchors(size, (8, 16, 32))
    shares = net.node("Softmax", net.transpose(net.reshape(boxes, 1, 4, 16, steps.shape[-1]), 0, 2, 1, 3), axis=1)
    ramp = net.tensor("ramp", np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1))
    distances = net.reshape(net.node("Conv", shares, ramp, kernel_shape=[1, 1]), 1, 4, -1)
    near, far = net.split(distances, (2, 2))
    at = net.tensor("anchors", centres.astype(np.float32))
    low, high = net.node("Sub", at, near), net.node("Add", at, far)
    middle = net.node("Div", net.node("Add", low, high), net.constant(2.0))
    decoded = net.node("Concat", middle, net.node("Sub", high, low), axis=1)
    scaled = net.node("Mul", decoded, net.tensor("strides", steps.astype(np.float32)))
    return net.build(net.node("Concat", scaled, net.node("Sigmoid", scores), axis=1))


def _inverted(net: Net, x: str, outputs: int, stride: int = 1, dilation: int = 1) -> str:
    hidden = 6 * net.widths[x]
    y = net.conv(net.conv(x, hidden, act="relu6"), hidden, 3, stride, groups=hidden, act="relu6", dilation=dilation)
    y = net.conv(y, outputs)
    return net.add(x, y) if stride == 1 and outputs == net.widths[x] else y


def deeplab(size: int = 320, width: int = 256, classes: int = 21, saturating: bool = False) -> Built:
    """DeepLabV3 on MobileNetV2: dilated depthwise convolutions, a pyramid of dilations, a bilinear resize."""
    net = Net("deeplab", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 32, 3, 2, act="relu6")
    rows = ((16, 1, 1, 1), (24, 2, 2, 1), (32, 3, 2, 1), (64, 4, 2, 1), (96, 3, 1, 1), (160, 3, 1, 2), (320, 1, 1, 2))
    for outputs, count, stride, dilation in rows:
        for block in range(count):
            with net.scope(f"backbone.{outputs}.{block}"):
                x = _inverted(net, x, outputs, 1 if block else stride, dilation)
    branches = [net.conv(x, width, act="relu")]
    branches += [net.conv(x, width, 3, act="relu", dilation=rate) for rate in (6, 12, 18)]
    pooled = net.conv(net.node("GlobalAveragePool", x), width, act="relu")
    branches.append(net.resize(pooled, size // 16, "linear"))
    y = net.conv(net.conv(net.concat(branches), width, act="relu"), width, 3, act="relu")
    return net.build(net.resize(net.conv(y, classes, norm=False), 16, "linear"))


def ssd(size: int = 320, classes: int = 91, best: int = 100, saturating: bool = False) -> Built:
    """SSDLite on MobileNetV2: six levels of separable heads, boxes decoded, the best of them gathered."""
    net = Net("ssd", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 32, 3, 2, act="relu6")
    rows = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))
    levels, side, sides = list[str](), size // 2, list[int]()
    for outputs, count, stride in rows:
        for block in range(count):
            with net.scope(f"backbone.{outputs}.{block}"):
                x = _inverted(net, x, outputs, 1 if block else stride)
        side = -(-side // stride)
        if outputs in (96, 320):
            levels, sides = [*levels, x], [*sides, side]
    for outputs in (512, 256, 256, 128):
        inner = outputs // 2
        x = net.conv(net.conv(x, inner, act="relu6"), inner, 3, 2, groups=inner, act="relu6")
        x, side = net.conv(x, outputs, act="relu6"), -(-side // 2)
        levels, sides = [*levels, x], [*sides, side]
    parts: tuple[list[str], list[str]] = [], []
    for level, (x, side) in enumerate(zip(levels, sides, strict=True)):
        with net.scope(f"head.{level}"):
            for numbers, part in zip((4, classes), parts, strict=True):
                y = net.conv(x, net.widths[x], 3, groups=net.widths[x], act="relu6")
                y = net.conv(y, 6 * numbers, norm=False)
                y = net.transpose(net.reshape(y, 1, 6, numbers, side, side), 0, 3, 4, 1, 2)
                part.append(net.reshape(y, 1, -1, numbers, width=numbers))
    moves, logits = (net.concat(part, 1, joins_channels=False) for part in parts)
    anchors = net.rng.uniform(0.1, 0.9, (1, 6 * sum(side * side for side in sides), 4)).astype(np.float32)
    centres, extents = net.tensor("centres", anchors[..., :2]), net.tensor("extents", anchors[..., 2:])
    shift, growth = net.slice(moves, 0, 2, 2), net.slice(moves, 2, 4, 2)
    at = net.node("Add", net.node("Mul", net.node("Mul", shift, net.constant(0.1)), extents), centres)
    grown = net.node("Mul", net.node("Exp", net.node("Mul", growth, net.constant(0.2))), extents)
    half = net.node("Mul", grown, net.constant(0.5))
    boxes = net.node("Concat", net.node("Sub", at, half), net.node("Add", at, half), axis=-1)
    top = net.node("ReduceMax", net.slice(net.node("Softmax", logits, axis=-1), 1, classes, 2), axes=[2], keepdims=0)
    values, indices = net.several("TopK", [top, net.whole(best)], 2, axis=1)
    rows_of = net.node("Squeeze", indices, net.whole(0))
    return net.build(net.node("Gather", boxes, rows_of, axis=1), values)


def _residual(net: Net, x: str, outputs: int, time: str) -> str:
    """Two convolutions after group norms, the embedding of time between."""
    groups = min(32, net.widths[x] // 4)
    y = net.conv(net.group_norm(x, groups, "silu"), outputs, 3, norm=False)
    shift = net.gemm(net.act(time, "silu"), outputs)
    y = net.add(y, net.node("Unsqueeze", shift, net.whole(2, 3)))
    y = net.conv(net.group_norm(y, min(32, outputs // 4), "silu"), outputs, 3, norm=False)
    return net.add(y, x if outputs == net.widths[x] else net.conv(x, outputs, norm=False))


def _transformer(net: Net, x: str, count: int, side: int, context: str) -> str:
    """Attention of pixels on themselves and on a context, and a gated perceptron."""
    width = net.widths[x]
    size = width // count
    y = net.conv(net.group_norm(x, min(32, width // 4)), width, norm=False)
    y = net.reshape(net.transpose(y, 0, 2, 3, 1), 1, side * side, width)
    for other in ("", context):
        z = net.layer_norm(y)
        source = other or z
        q, k, v = net.linear(z, width, bias=False, gain=1.4), net.linear(source, width, bias=False, gain=1.4), ""
        v = net.linear(source, width, bias=False)
        parts = heads(net, q, count), heads(net, k, count, (0, 2, 3, 1)), heads(net, v, count)
        y = net.add(net.linear(joined(net, weighted(net, *parts, size, spelling="both")), width), y)
    value, gate = net.split(net.linear(net.layer_norm(y), 8 * width), (4 * width, 4 * width), 2)
    y = net.add(net.linear(net.mul(value, net.act(gate, "gelu")), width), y)
    back = net.transpose(net.reshape(y, 1, side, side, width), 0, 3, 1, 2)
    return net.add(net.conv(back, width, norm=False), x)


def diffusion(
    side: int = 32, width: int = 128, factors: Sequence[int] = (1, 2, 4), tokens: int = 77, depth: int = 256,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """A small UNet of a diffusion model: group norms, attention on words of width `depth`, resizes."""
    net = Net("diffusion", saturating=saturating)
    x, context = net.input("sample", (1, 4, side, side)), net.input("context", (1, tokens, depth), 2)
    step = net.ids("timestep", (1,), 1000)
    rates = net.constant(np.exp(-np.log(10000) * np.arange(width // 2) / (width // 2))[None])
    angles = net.node("Mul", net.node("Unsqueeze", net.node("Cast", step, to=1), net.whole(1)), rates)
    time = net.node("Concat", net.node("Cos", angles), net.node("Sin", angles), axis=-1)
    net.widths[time], net.powers[time] = width, 0.5
    time = net.gemm(net.gemm(time, 4 * width, act="silu"), 4 * width)
    x = net.conv(x, width, 3, norm=False)
    kept, sides = [x], [side]
    for level, factor in enumerate(factors):
        with net.scope(f"down.{level}"):
            x = _residual(net, x, factor * width, time)
            if level:
                x = _transformer(net, x, 8, sides[-1], context)
            kept.append(x)
            if level < len(factors) - 1:
                x = net.conv(x, net.widths[x], 3, 2, norm=False)
                sides.append(sides[-1] // 2)
                kept.append(x)
    x = _residual(
        net, _transformer(net, _residual(net, x, net.widths[x], time), 8, sides[-1], context), net.widths[x], time
    )
    for level, factor in reversed(list(enumerate(factors))):
        with net.scope(f"up.{level}"):
            for _ in range(2):
                x = _residual(net, net.concat([x, kept.pop()]), factor * width, time)
                if level:
                    x = _transformer(net, x, 8, sides[level], context)
            if level:
                x = net.conv(net.resize(x), net.widths[x], 3, norm=False)
    return net.build(net.conv(net.group_norm(x, 32 if width >= 128 else 4, "silu"), 4, 3, norm=False))
