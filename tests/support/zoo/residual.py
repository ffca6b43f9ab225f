"""Networks of convolutions alone: for phones, for pixels, for films."""

from __future__ import annotations

import numpy as np

from zoo.builder import Built, Net


def _head(net: Net, x: str, inner: int, classes: int, act: str) -> Built:
    """A dense layer as a convolution of the mean of each channel, and one of classes."""
    x = net.conv(net.node("GlobalAveragePool", x), inner, act=act, norm=False)
    return net.build(net.gemm(net.node("Flatten", x, axis=1), classes))


def _ghost(net: Net, x: str, outputs: int, act: str) -> str:
    """Half of the channels by a pointwise convolution, the others by a depthwise one of these."""
    half = -(-outputs // 2)
    first = net.conv(x, half, act=act)
    both = net.concat([first, net.conv(first, half, 3, groups=half, act=act)])
    cut = net.slice(both, 0, outputs, 1)
    net.widths[cut] = outputs
    return cut


def _hard_squeeze(net: Net, x: str) -> str:
    """A gate of channels whose hard sigmoid is written by Add, Clip and Div."""
    inner = net.conv(net.node("GlobalAveragePool", x), max(4, net.widths[x] // 4), act="relu", norm=False)
    raised = net.node("Add", net.conv(inner, net.widths[x], norm=False), net.constant(3.0))
    gate = net.node("Div", net.node("Clip", raised, net.constant(0.0), net.constant(6.0)), net.constant(6.0))
    net.powers[gate], net.means[gate] = 0.28, 0.5
    return net.mul(x, gate)


def ghostnet(size: int = 224, blocks: int = 16, classes: int = 1000, saturating: bool = False) -> Built:
    """GhostNet: each half of a layer's channels is a cheap function of the other half."""
    net = Net("ghostnet", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 16, 3, 2, act="relu")
    rows = (
        *((3, 16, 16, 0, 1), (3, 48, 24, 0, 2), (3, 72, 24, 0, 1), (5, 72, 40, 1, 2), (5, 120, 40, 1, 1)),
        *((3, 240, 80, 0, 2), (3, 200, 80, 0, 1), (3, 184, 80, 0, 1), (3, 184, 80, 0, 1), (3, 480, 112, 1, 1)),
        *((3, 672, 112, 1, 1), (5, 672, 160, 1, 2), (5, 960, 160, 0, 1), (5, 960, 160, 1, 1), (5, 960, 160, 0, 1)),
        (5, 960, 160, 1, 1),
    )
    for block, (kernel, hidden, outputs, squeezes, stride) in enumerate(rows[:blocks]):
        with net.scope(f"blocks.{block}"):
            y = _ghost(net, x, hidden, "relu")
            if stride > 1:
                y = net.conv(y, hidden, kernel, stride, groups=hidden)
            if squeezes:
                y = _hard_squeeze(net, y)
            y = _ghost(net, y, outputs, "")
            if stride > 1 or outputs != net.widths[x]:
                x = net.conv(net.conv(x, net.widths[x], kernel, stride, groups=net.widths[x]), outputs)
            x = net.add(y, x)
    return _head(net, net.conv(x, 960, act="relu"), 1280, classes, "relu")


def repvgg_a0(
    size: int = 224, depths: tuple[int, ...] = (2, 4, 14, 1), classes: int = 1000, saturating: bool = False
) -> Built:
    """RepVGG-A0 as it is deployed: 3x3 convolutions and ReLUs."""
    net = Net("repvgg_a0", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 48, 3, 2, act="relu", norm=False)
    for depth, outputs in zip(depths, (48, 96, 192, 1280), strict=False):
        for block in range(depth):
            x = net.conv(x, outputs, 3, 1 if block else 2, act="relu", norm=False)
    return net.build(net.gemm(net.global_pool(x), classes))


def mobilenet_v4_small(size: int = 224, blocks: int = 12, classes: int = 1000, saturating: bool = False) -> Built:
    """MobileNetV4-Conv-Small: inverted bottlenecks with a depthwise convolution before, between, or both."""
    net = Net("mobilenet_v4_small", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 32, 3, 2, act="relu")
    for inner, outputs in ((32, 32), (96, 64)):
        x = net.conv(net.conv(x, inner, 3, 2, act="relu"), outputs, act="relu")
    rows = (
        *((5, 5, 2, 96, 3), *[(0, 3, 1, 96, 2)] * 4, (3, 0, 1, 96, 4), (3, 3, 2, 128, 6), (5, 5, 1, 128, 4)),
        *((0, 5, 1, 128, 4), (0, 5, 1, 128, 3), *[(0, 3, 1, 128, 4)] * 2),
    )
    for block, (before, between, stride, outputs, factor) in enumerate(rows[:blocks]):
        with net.scope(f"blocks.{block}"):
            y, hidden = x, factor * net.widths[x]
            if before:
                y = net.conv(y, net.widths[x], before, 1 if between else stride, groups=net.widths[x])
            y = net.conv(y, hidden, act="relu")
            if between:
                y = net.conv(y, hidden, between, stride, groups=hidden, act="relu")
            y = net.conv(y, outputs)
            x = net.add(x, y) if stride == 1 and outputs == net.widths[x] else y
    return _head(net, net.conv(x, 960, act="relu"), 1280, classes, "relu")


def _basic(net: Net, x: str) -> str:
    y = net.conv(net.conv(x, net.widths[x], 3, act="relu"), net.widths[x], 3)
    return net.act(net.add(y, x), "relu")


def _exchanged(net: Net, branches: list[str]) -> list[str]:
    """Sums of all branches at the resolution of each: coarse ones are enlarged, fine ones strided down."""
    fused = list[str]()
    for to, at in enumerate(branches):
        total = ""
        for source, y in enumerate(branches):
            if source > to:
                y = net.resize(net.conv(y, net.widths[at]), 1 << (source - to))
            for step in range(to - source):
                last = step == to - source - 1
                y = net.conv(y, net.widths[at] if last else net.widths[y], 3, 2, act="" if last else "relu")
            total = net.add(total, y) if total else y
        fused.append(net.act(total, "relu"))
    return fused


def hrnet_small(
    size: int = 224, width: int = 16, count: int = 4, classes: int = 19, keeps_norms: bool = True,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """HRNet-W18-small for segmentation: parallel branches of all resolutions, with norms as nodes."""
    net = Net("hrnet_small", keeps_norms=keeps_norms, saturating=saturating)
    x = net.conv(net.conv(net.input("image", (1, 3, size, size)), 64, 3, 2, act="relu"), 64, 3, 2, act="relu")
    y = net.conv(net.conv(net.conv(x, 32, act="relu"), 32, 3, act="relu"), 128)
    branches = [net.act(net.add(y, net.conv(x, 128)), "relu")]
    for stage in range(1, count):
        with net.scope(f"stage{stage + 1}"):
            coarse = net.conv(branches[-1], width << stage, 3, 2, act="relu")
            if stage == 1:
                branches = [net.conv(branches[0], width, 3, act="relu")]
            branches = [_basic(net, _basic(net, x)) for x in (*branches, coarse)]
            branches = _exchanged(net, branches)
    wide = [net.resize(x, 1 << level, "linear") if level else x for level, x in enumerate(branches)]
    joint = net.concat(wide)
    return net.build(net.conv(net.conv(joint, net.widths[joint], act="relu"), classes, norm=False))


def edsr(size: int = 64, width: int = 64, blocks: int = 16, saturating: bool = False) -> Built:
    """EDSR: an image twice as large, by residual blocks without norms and a shuffle of channels into pixels."""
    net = Net("edsr", saturating=saturating)
    x = head = net.conv(net.input("image", (1, 3, size, size)), width, 3, norm=False)
    for block in range(blocks):
        with net.scope(f"body.{block}"):
            y = net.conv(net.conv(x, width, 3, act="relu", norm=False), width, 3, norm=False)
            x = net.add(y, x)
    x = net.add(net.conv(x, width, 3, norm=False), head)
    x = net.node("DepthToSpace", net.conv(x, 4 * width, 3, norm=False), blocksize=2, mode="CRD")
    net.widths[x] = width
    return net.build(net.conv(x, 3, 3, norm=False))


def _factored(net: Net, x: str, outputs: int, stride: int = 1, act: str = "") -> str:
    """A convolution of rows and columns, then one of time."""
    inner = net.widths[x] * outputs * 27 // (net.widths[x] * 9 + 3 * outputs)
    y = net.conv(x, inner, (1, 3, 3), (1, stride, stride), act="relu")
    return net.conv(y, outputs, (3, 1, 1), (stride, 1, 1), act=act)


def r2plus1d(
    size: int = 96, frames: int = 8, depths: tuple[int, ...] = (2, 2, 2, 2), width: int = 64, classes: int = 400,
    keeps_norms: bool = True, saturating: bool = False,
) -> Built:  # fmt: skip
    """R(2+1)D-18: films [1, 3, frames, size, size], whose convolutions have three axes."""
    net = Net("r2plus1d", keeps_norms=keeps_norms, saturating=saturating)
    x = net.conv(net.input("film", (1, 3, frames, size, size)), 45, (1, 7, 7), (1, 2, 2), act="relu")
    x = net.conv(x, width, (3, 1, 1), act="relu")
    for stage, depth in enumerate(depths):
        for block in range(depth):
            with net.scope(f"layer{stage + 1}.{block}"):
                stride, outputs = 2 if stage and not block else 1, width << stage
                y = _factored(net, _factored(net, x, outputs, stride, "relu"), outputs)
                if stride > 1:
                    x = net.conv(x, outputs, (1, 1, 1), stride)
                x = net.act(net.add(y, x), "relu")
    return net.build(net.gemm(net.global_pool(x), classes))


def style_transfer(size: int = 128, width: int = 32, blocks: int = 5, saturating: bool = False) -> Built:
    """Fast style transfer: borders reflected, instance norms, images enlarged before convolutions."""
    net = Net("style_transfer", saturating=saturating)

    def conv(x: str, outputs: int, kernel: int, stride: int = 1, act: str = "relu") -> str:
        border = kernel // 2
        padded = net.node("Pad", x, net.whole(0, 0, border, border, 0, 0, border, border), mode="reflect")
        y = net.conv(padded, outputs, kernel, stride, padding=0, norm=False)
        scale = net.tensor("scale", net.rng.uniform(0.8, 1.2, outputs).astype(np.float32))
        return net.act(net.node("InstanceNormalization", y, scale, net.bias(outputs), epsilon=1e-5), act)

    x = conv(net.input("image", (1, 3, size, size)), width, 9)
    x = conv(conv(x, 2 * width, 3, 2), 4 * width, 3, 2)
    for block in range(blocks):
        with net.scope(f"res{block + 1}"):
            x = net.add(conv(conv(x, 4 * width, 3), 4 * width, 3, act=""), x)
    for outputs in (2 * width, width):
        x = conv(net.resize(x), outputs, 3)
    padded = net.node("Pad", x, net.whole(0, 0, 4, 4, 0, 0, 4, 4), mode="reflect")
    return net.build(net.conv(padded, 3, 9, padding=0, norm=False))
