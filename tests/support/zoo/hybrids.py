"""Networks of images that mix pixels by attention, pools and perceptrons, among convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zoo.attention import attention, encoder_block, heads, joined, perceptron, weighted
from zoo.builder import Built, Net


def _inverted(net: Net, x: str, outputs: int, stride: int = 1, factor: int = 4, act: str = "silu") -> str:
    hidden = factor * net.widths[x]
    y = net.conv(net.conv(net.conv(x, hidden, act=act), hidden, 3, stride, groups=hidden, act=act), outputs)
    return net.add(x, y) if stride == 1 and outputs == net.widths[x] else y


def _tokens(net: Net, x: str) -> str:
    """[1, c, h, w] -> [1, h w, c], by Flatten's way of torch: Shape, Slice, Concat and Reshape."""
    start = net.node("Slice", net.node("Shape", x), net.whole(0), net.whole(2), net.whole(0))
    shape = net.node("Concat", start, net.whole(-1), axis=0)
    return net.transpose(net.reshaped(x, shape), 0, 2, 1)


def _image(net: Net, x: str, side: int) -> str:
    """[1, side^2, c] -> [1, c, side, side]."""
    return net.reshape(net.transpose(x, 0, 2, 1), 1, net.widths[x], side, side)


def mobilevit(
    size: int = 256, widths: Sequence[int] = (96, 120, 144), depths: Sequence[int] = (2, 4, 3), classes: int = 1000,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """MobileViT-XS: each pixel of a patch of 2x2 attends to those at the same place of other patches."""
    net = Net("mobilevit", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 16, 3, 2, act="silu")
    x = _inverted(net, x, 32)
    for block in range(3):
        x = _inverted(net, x, 48, 1 if block else 2)
    side = size // 4
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        with net.scope(f"stages.{stage + 2}"):
            outputs, side = (64, 80, 96)[stage], side // 2
            x = _inverted(net, x, outputs, 2)
            y = net.conv(net.conv(x, outputs, 3, act="silu"), width, norm=False)
            half, area = side // 2, side * side // 4
            y = net.transpose(net.reshape(y, width * half, 2, half, 2), 0, 2, 1, 3)
            y = net.transpose(net.reshape(y, 1, width, area, 4), 0, 3, 2, 1)
            y = net.reshape(y, 4, area, width)
            for block in range(depth):
                with net.scope(f"transformer.{block}"):
                    y = net.add(y, attention(net, net.layer_norm(y), 4, spelling="both", batch=4))
                    y = net.add(y, perceptron(net, net.layer_norm(y), 2 * width, "silu"))
            y = net.transpose(net.reshape(net.layer_norm(y), 1, 4, area, width), 0, 3, 2, 1)
            y = net.transpose(net.reshape(y, width * half, half, 2, 2), 0, 2, 1, 3)
            y = net.conv(net.reshape(y, 1, width, side, side), outputs, act="silu")
            x = net.conv(net.concat([x, y]), outputs, 3, act="silu")
    return net.build(net.gemm(net.global_pool(net.conv(x, 384, act="silu")), classes))


def _partitioned(net: Net, x: str, window: int, side: int, grid: bool) -> str:
    """A block whose attention is within windows of [1, side, side, c], or among pixels `side / window` apart."""
    width, tiles, area = net.widths[x], side // window, window * window
    cut = (1, window, tiles, window, tiles, width) if grid else (1, tiles, window, tiles, window, width)
    perm = (0, 2, 4, 1, 3, 5) if grid else (0, 1, 3, 2, 4, 5)
    y = net.transpose(net.reshape(net.layer_norm(x), *cut), *perm)
    y = net.reshape(y, tiles * tiles, area, width)
    count = width // 32
    joint = net.linear(y, 3 * width, gain=1.2)
    apart = net.transpose(net.reshape(joint, tiles * tiles, area, count, 96), 0, 2, 1, 3)
    q, k, v = net.split(apart, (32, 32, 32), 3)
    places = net.weight("places", (1, count, area, area), 0.5)
    y = weighted(net, q, net.transpose(k, 0, 1, 3, 2), v, 32, places, "first")
    y = net.reshape(net.transpose(y, 0, 2, 1, 3), tiles * tiles, window, window, width, width=width)
    back = (1, tiles, tiles, window, window, width)
    y = net.transpose(net.reshape(net.linear(y, width), *back), *np.argsort(perm).tolist())
    x = net.add(x, net.reshape(y, 1, side, side, width))
    return net.add(x, perceptron(net, net.layer_norm(x), 4 * width, "gelu_tanh"))


def maxvit(
    size: int = 224, depths: Sequence[int] = (2, 2, 5, 2), width: int = 32, window: int = 7, classes: int = 1000,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """MaxViT-pico: inverted bottlenecks with squeezes, attention within windows, and attention over a grid."""
    net, side = Net("maxvit", saturating=saturating), size // 2
    x = net.conv(net.input("image", (1, 3, size, size)), width, 3, 2, act="gelu_tanh")
    x = net.conv(x, width, 3, norm=False)
    for stage, depth in enumerate(depths):
        outputs = width << stage
        for block in range(depth):
            with net.scope(f"stages.{stage}.blocks.{block}"):
                stride, hidden = 1 if block else 2, 4 * outputs
                y = net.conv(net.batch_norm(x), hidden, act="gelu_tanh")
                y = net.squeeze(net.conv(y, hidden, 3, stride, groups=hidden, act="gelu_tanh"), outputs // 4, "silu")
                y = net.conv(y, outputs, norm=False)
                if stride > 1:
                    x, side = net.pool(x, 2, 2, kind="AveragePool"), side // 2
                x = net.add(x if net.widths[x] == outputs else net.conv(x, outputs, norm=False), y)
                y = net.transpose(x, 0, 2, 3, 1)
                for grid in (False, True):
                    y = _partitioned(net, y, window, side, grid)
                x = net.transpose(y, 0, 3, 1, 2)
    return net.build(net.gemm(net.layer_norm(net.global_pool(x)), classes))


def _scaled(net: Net, x: str, y: str, last: bool = False) -> str:
    """A branch with a scale of each channel, added to the trunk."""
    width = net.widths[x]
    shape = (width,) if last else (width, 1, 1)
    scale = net.tensor("layer_scale", net.rng.uniform(0.2, 0.6, shape).astype(np.float32))
    y = net.mul(y, scale)
    net.widths[y] = width
    return net.add(x, y)


def _pooled(net: Net, x: str) -> str:
    """The mean of a pixel's neighbours less the pixel."""
    y = net.node("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, count_include_pad=0)
    result = net.node("Sub", y, x)
    net.powers[result], net.means[result] = 0.9 * net.powers[x], 0.0
    return result


def poolformer(
    size: int = 224, depths: Sequence[int] = (2, 2, 6, 2), widths: Sequence[int] = (64, 128, 320, 512),
    classes: int = 1000, saturating: bool = False,
) -> Built:  # fmt: skip
    """PoolFormer-S12: pools where others have attention, norms of all channels."""
    net = Net("poolformer", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), widths[0], 7, 4, padding=2, norm=False)
    for stage, (depth, width) in enumerate(zip(depths, widths, strict=True)):
        if stage:
            x = net.conv(x, width, 3, 2, norm=False)
        for block in range(depth):
            with net.scope(f"network.{2 * stage}.{block}"):
                x = _scaled(net, x, _pooled(net, net.group_norm(x, 1)))
                y = net.conv(net.group_norm(x, 1), 4 * width, act="gelu", norm=False)
                x = _scaled(net, x, net.conv(y, width, norm=False))
    mean = net.node("ReduceMean", net.group_norm(x, 1), axes=[2, 3], keepdims=0)
    net.powers[mean] = 0.1
    return net.build(net.gemm(mean, classes))


def efficientformer(
    size: int = 224, depths: Sequence[int] = (3, 2, 6, 3), widths: Sequence[int] = (48, 96, 224, 448),
    classes: int = 1000, saturating: bool = False,
) -> Built:  # fmt: skip
    """EfficientFormer-L1: blocks of pools and pointwise convolutions, and one of attention at the end."""
    net = Net("efficientformer", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), widths[0] // 2, 3, 2, act="relu")
    x = net.conv(x, widths[0], 3, 2, act="relu")
    for stage, (depth, width) in enumerate(zip(depths, widths, strict=True)):
        if stage:
            x = net.conv(x, width, 3, 2)
        for block in range(depth):
            with net.scope(f"network.{stage}.{block}"):
                x = _scaled(net, x, _pooled(net, x))
                x = _scaled(net, x, net.conv(net.conv(x, 4 * width, act="gelu"), width))
    x, width = _tokens(net, x), widths[-1]
    area = (size // 32) ** 2
    joint = net.linear(net.layer_norm(x), 8 * (32 + 32 + 128), gain=1.3)
    apart = net.transpose(net.reshape(joint, 1, area, 8, 192), 0, 2, 1, 3)
    q, k, v = net.split(apart, (32, 32, 128), 3)
    bias = net.weight("attention_bias", (1, 8, area, area), 0.3)
    y = weighted(net, q, net.transpose(k, 0, 1, 3, 2), v, 32, bias, "first")
    y = net.linear(net.reshape(net.transpose(y, 0, 2, 1, 3), 1, area, 1024, width=1024), width)
    x = _scaled(net, x, y, True)
    x = net.layer_norm(_scaled(net, x, perceptron(net, net.layer_norm(x), 4 * width), True))
    mean = net.node("ReduceMean", x, axes=[1], keepdims=0)
    ends = net.gemm(mean, classes), net.gemm(mean, classes)
    return net.build(net.node("Div", net.add(*ends), net.constant(2.0)))


def segformer_b0(
    size: int = 256, widths: Sequence[int] = (32, 64, 160, 256), depth: int = 2, joint: int = 256, classes: int = 150,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """SegFormer-B0: keys of fewer pixels by strided convolutions, depthwise ones within perceptrons."""
    net = Net("segformer_b0", saturating=saturating)
    x, side, levels = net.input("image", (1, 3, size, size)), size, list[tuple[str, int]]()
    for stage, width in enumerate(widths):
        stride, reduced, count = 2 if stage else 4, 8 >> stage, width // 32
        y = net.conv(x, width, 3 if stage else 7, stride, norm=False)
        side //= stride
        x = net.layer_norm(_tokens(net, y))
        for block in range(depth):
            with net.scope(f"block.{stage}.{block}"):
                y = few = net.layer_norm(x)
                if reduced > 1:
                    few = net.conv(_image(net, y, side), width, reduced, reduced, padding=0, norm=False)
                    few = net.layer_norm(_tokens(net, few))
                x = net.add(attention(net, y, count, context=few), x)
                y = _image(net, net.linear(net.layer_norm(x), 4 * width), side)
                y = net.act(_tokens(net, net.conv(y, 4 * width, 3, groups=4 * width, norm=False)), "gelu")
                x = net.add(net.linear(y, width), x)
        x = _image(net, net.layer_norm(x), side)
        levels.append((x, side))
    parts = list[str]()
    for level, side in levels:
        y = _image(net, net.linear(_tokens(net, level), joint), side)
        parts.append(net.resize(y, size // 4 // side, "linear") if side < size // 4 else y)
    return net.build(net.conv(net.conv(net.concat(parts[::-1]), joint, act="relu"), classes, norm=False))


def _placed(net: Net, x: str, places: str, context: str, where: str, count: int) -> str:
    """Attention on `context` whose queries and keys, but not values, know their places."""
    width = net.widths[x]
    q, k = net.linear(net.add(x, places), width, gain=1.4), net.linear(net.add(context, where), width, gain=1.4)
    parts = heads(net, q, count), heads(net, k, count, (0, 2, 3, 1)), heads(net, net.linear(context, width), count)
    return net.linear(joined(net, weighted(net, *parts, width // count)), width)


def detr(
    size: int = 320, depths: Sequence[int] = (2, 2, 2, 2), layers: int = 3, width: int = 256, count: int = 8,
    queries: int = 100, inner: int = 64, classes: int = 92, saturating: bool = False,
) -> Built:  # fmt: skip
    """DETR: a residual backbone, attention over its last pixels, and of queries on these; boxes by perceptrons."""
    net = Net("detr", saturating=saturating)
    x = net.pool(net.conv(net.input("image", (1, 3, size, size)), inner, 7, 2, act="relu"), 3, 2, 1)
    for stage, depth in enumerate(depths):
        for block in range(depth):
            with net.scope(f"backbone.{stage}.{block}"):
                stride, few = 2 if stage and not block else 1, inner << stage
                y = net.conv(net.conv(net.conv(x, few, act="relu"), few, 3, stride, act="relu"), 4 * few)
                x = net.act(net.add(y, x if block else net.conv(x, 4 * few, 1, stride)), "relu")
    x = _tokens(net, net.conv(x, width, norm=False))
    area = (size // 32) ** 2
    where, places = (net.weight("places", (1, steps, width), 0.5) for steps in (area, queries))
    for layer in range(layers):
        with net.scope(f"encoder.{layer}"):
            x = net.layer_norm(net.add(x, _placed(net, x, where, x, where, count)))
            x = net.layer_norm(net.add(x, perceptron(net, x, 8 * width, "relu")))
    y = net.weight("queries", (1, queries, width), 0.3)
    for layer in range(layers):
        with net.scope(f"decoder.{layer}"):
            y = net.layer_norm(net.add(y, _placed(net, y, places, y, places, count)))
            y = net.layer_norm(net.add(y, _placed(net, y, places, x, where, count)))
            y = net.layer_norm(net.add(y, perceptron(net, y, 8 * width, "relu")))
    y = net.layer_norm(y)
    boxes = net.linear(net.linear(net.linear(y, width, act="relu"), width, act="relu"), 4, act="sigmoid")
    return net.build(net.linear(y, classes), boxes)


def mlp_mixer(
    size: int = 224, patch: int = 16, layers: int = 8, width: int = 384, classes: int = 1000, saturating: bool = False
) -> Built:
    """MLP-Mixer: perceptrons over patches and over channels by turns."""
    net = Net("mlp_mixer", saturating=saturating)
    x = _tokens(net, net.conv(net.input("image", (1, 3, size, size)), width, patch, patch, padding=0, norm=False))
    area = (size // patch) ** 2
    for layer in range(layers):
        with net.scope(f"blocks.{layer}"):
            y = net.transpose(net.layer_norm(x), 0, 2, 1)
            net.widths[y] = area
            y = net.transpose(perceptron(net, y, width // 2), 0, 2, 1)
            net.widths[y] = width
            x = net.add(x, y)
            x = net.add(x, perceptron(net, net.layer_norm(x), 4 * width))
    mean = net.node("ReduceMean", net.layer_norm(x), axes=[1], keepdims=0)
    return net.build(net.gemm(mean, classes))


def sam_encoder(side: int = 32, width: int = 192, layers: int = 4, count: int = 6, saturating: bool = False) -> Built:
    """A plain transformer over patches of an image, with a neck of convolutions whose norms are over channels."""
    net = Net("sam_encoder", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, 16 * side, 16 * side)), width, 16, 16, padding=0, norm=False)
    x = net.add(_tokens(net, x), net.weight("places", (1, side * side, width), 0.5))
    for layer in range(layers):
        with net.scope(f"blocks.{layer}"):
            x = encoder_block(net, x, count)
    x = _image(net, x, side)
    for kernel in (1, 3):
        y = net.conv(x, 256, kernel, norm=False)
        centred = net.node("Sub", y, net.node("ReduceMean", y, axes=[1]))
        spread = net.node("ReduceMean", net.node("Pow", centred, net.constant(2.0)), axes=[1])
        root = net.node("Sqrt", net.node("Add", spread, net.constant(1e-6)))
        scale = net.tensor("scale", net.rng.uniform(0.8, 1.2, (256, 1, 1)).astype(np.float32))
        x = net.node(
            "Add", net.node("Mul", net.node("Div", centred, root), scale), net.weight("bias", (256, 1, 1), 0.1)
        )
        net.widths[x], net.powers[x], net.means[x] = 256, 1.0, 0.0
    return net.build(x)
