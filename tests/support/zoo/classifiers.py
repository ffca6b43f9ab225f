"""Image classifiers of convolutions: each function builds one for images of `size` pixels."""

from __future__ import annotations

from zoo.builder import Built, Net


def _head(net: Net, x: str, classes: int) -> Built:
    return net.build(net.gemm(net.global_pool(x), classes))


def resnet50(
    size: int = 224, depths: tuple[int, ...] = (3, 4, 6, 3), width: int = 64, classes: int = 1000, *, batch: int = 1,
    keeps_norms: bool = False, saturating: bool = False, symbolic: bool = False,
) -> Built:  # fmt: skip
    """ResNet-50 v1.5: the stride is in the 3x3 convolution."""
    net = Net("resnet50", keeps_norms=keeps_norms, saturating=saturating)
    x = net.input("image", (batch, 3, size, size), symbols=("batch", 3, size, size) if symbolic else ())
    x = net.pool(net.conv(x, width, 7, 2, act="relu"), 3, 2, 1)
    for stage, depth in enumerate(depths):
        inner = width << stage
        for block in range(depth):
            with net.scope(f"layer{stage + 1}.{block}"):
                stride = 2 if stage and not block else 1
                y = net.conv(net.conv(x, inner, act="relu"), inner, 3, stride, act="relu")
                y = net.conv(y, 4 * inner)
                if not block:
                    x = net.conv(x, 4 * inner, 1, stride)
                x = net.act(net.add(y, x), "relu")
    return _head(net, x, classes)


def vgg16(size: int = 224, width: int = 64, hidden: int = 4096, classes: int = 1000, saturating: bool = False) -> Built:
    net = Net("vgg16", saturating=saturating)
    x = net.input("image", (1, 3, size, size))
    for outputs, depth in ((1, 2), (2, 2), (4, 3), (8, 3), (8, 3)):
        for _ in range(depth):
            x = net.conv(x, outputs * width, 3, act="relu", norm=False)
        x = net.pool(x, 2, 2)
    side = size // 32
    x = net.reshape(x, 1, -1, width=8 * width * side * side)
    x = net.gemm(net.gemm(x, hidden, act="relu"), hidden, act="relu")
    return net.build(net.gemm(x, classes))


def _inverted(net: Net, x: str, outputs: int, hidden: int, kernel: int, stride: int, act: str, squeeze: int) -> str:
    """An inverted residual; a squeeze of `squeeze` channels, or none, is gated as the activation's network does."""
    y = x if hidden == net.widths[x] else net.conv(x, hidden, act=act)
    y = net.conv(y, hidden, kernel, stride, groups=hidden, act=act)
    if squeeze:
        y = net.squeeze(y, squeeze, *(("silu", "sigmoid") if act == "silu" else ("relu", "hardsigmoid")))
    y = net.conv(y, outputs)
    return net.add(x, y) if stride == 1 and outputs == net.widths[x] else y


def mobilenet_v2(
    size: int = 224, depth: int = 4, classes: int = 1000, *, batch: int = 1, keeps_norms: bool = False,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """MobileNetV2. depth: the most blocks of a stage."""
    net = Net("mobilenet_v2", keeps_norms=keeps_norms, saturating=saturating)
    x = net.conv(net.input("image", (batch, 3, size, size)), 32, 3, 2, act="relu6")
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for factor, outputs, count, stride in stages:
        for block in range(min(count, depth)):
            with net.scope(f"features.{outputs}.{block}"):
                x = _inverted(net, x, outputs, factor * net.widths[x], 3, 1 if block else stride, "relu6", 0)
    return _head(net, net.conv(x, 1280, act="relu6"), classes)


def mobilenet_v3_small(size: int = 224, blocks: int = 11, classes: int = 1000, saturating: bool = False) -> Built:
    net = Net("mobilenet_v3_small", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 16, 3, 2, act="hardswish")
    rows = (
        *((3, 16, 16, 8, "relu", 2), (3, 72, 24, 0, "relu", 2), (3, 88, 24, 0, "relu", 1)),
        *((5, 96, 40, 24, "hardswish", 2), (5, 240, 40, 64, "hardswish", 1), (5, 240, 40, 64, "hardswish", 1)),
        *((5, 120, 48, 32, "hardswish", 1), (5, 144, 48, 40, "hardswish", 1), (5, 288, 96, 72, "hardswish", 2)),
        *((5, 576, 96, 144, "hardswish", 1), (5, 576, 96, 144, "hardswish", 1)),
    )
    for block, (kernel, hidden, outputs, squeeze, act, stride) in enumerate(rows[:blocks]):
        with net.scope(f"features.{block + 1}"):
            x = _inverted(net, x, outputs, hidden, kernel, stride, act, squeeze)
    x = net.global_pool(net.conv(x, 576, act="hardswish"))
    return net.build(net.gemm(net.gemm(x, 1024, act="hardswish"), classes))


def efficientnet_b0(size: int = 224, depth: int = 4, classes: int = 1000, saturating: bool = False) -> Built:
    """EfficientNet-B0. depth: the most blocks of a stage."""
    net = Net("efficientnet_b0", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 32, 3, 2, act="silu")
    stages = (
        *((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3)),
        *((6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)),
    )
    for factor, outputs, count, stride, kernel in stages:
        for block in range(min(count, depth)):
            with net.scope(f"blocks.{outputs}.{block}"):
                width = net.widths[x]
                step = 1 if block else stride
                x = _inverted(net, x, outputs, factor * width, kernel, step, "silu", max(1, width // 4))
    return _head(net, net.conv(x, 1280, act="silu"), classes)


def densenet121(
    size: int = 224, depths: tuple[int, ...] = (6, 12, 24, 16), growth: int = 32, classes: int = 1000,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """DenseNet-121, whose norms stand before activations, so that most stay norms."""
    net = Net("densenet121", saturating=saturating)
    x = net.pool(net.conv(net.input("image", (1, 3, size, size)), 2 * growth, 7, 2, act="relu"), 3, 2, 1)
    for stage, depth in enumerate(depths):
        parts = [x]
        for layer in range(depth):
            with net.scope(f"block{stage + 1}.layer{layer + 1}"):
                y = net.batch_norm(net.concat(parts), "relu")
                parts.append(net.conv(net.conv(y, 4 * growth, act="relu"), growth, 3))
        x = net.batch_norm(net.concat(parts), "relu")
        if stage < len(depths) - 1:
            x = net.pool(net.conv(x, net.widths[x] // 2), 2, 2, kind="AveragePool")
    return _head(net, x, classes)


def squeezenet(size: int = 224, classes: int = 1000, saturating: bool = False) -> Built:
    """SqueezeNet 1.1."""
    net = Net("squeezenet", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 64, 3, 2, act="relu", padding=0, norm=False)
    for inner, outputs in (
        (0, 0),
        (16, 64),
        (16, 64),
        (0, 0),
        (32, 128),
        (32, 128),
        (0, 0),
        *[(48, 192)] * 2,
        *[(64, 256)] * 2,
    ):
        if not inner:
            x = net.pool(x, 3, 2, ceil=True)
            continue
        y = net.conv(x, inner, act="relu", norm=False)
        x = net.concat([net.conv(y, outputs, kernel, act="relu", norm=False) for kernel in (1, 3)])
    return net.build(net.global_pool(net.conv(x, classes, act="relu", norm=False)))


def _shuffled(net: Net, x: str, groups: int, size: int) -> str:
    """Channels of groups interleaved, by Reshape, Transpose and Reshape as exporters write it."""
    width = net.widths[x]
    apart = net.reshape(x, 1, groups, width // groups, size, size)
    return net.reshape(net.transpose(apart, 0, 2, 1, 3, 4), 1, width, size, size, width=width)


def shufflenet(
    size: int = 224, depths: tuple[int, ...] = (4, 8, 4), classes: int = 1000, saturating: bool = False
) -> Built:
    """ShuffleNet v1 of three groups."""
    net, groups = Net("shufflenet", saturating=saturating), 3
    x = net.pool(net.conv(net.input("image", (1, 3, size, size)), 24, 3, 2, act="relu"), 3, 2, 1)
    side = size // 4
    for stage, depth in enumerate(depths):
        outputs = 240 << stage
        for block in range(depth):
            with net.scope(f"stage{stage + 2}.{block}"):
                stride, branch = (1, outputs) if block else (2, outputs - net.widths[x])
                y = net.conv(x, outputs // 4, groups=groups if stage or block else 1, act="relu")
                y = _shuffled(net, y, groups, side)
                y = net.conv(net.conv(y, outputs // 4, 3, stride, groups=outputs // 4), branch, groups=groups)
                side //= stride
                joined = net.concat([net.pool(x, 3, 2, 1, "AveragePool"), y]) if stride == 2 else net.add(x, y)
                x = net.act(joined, "relu")
    return _head(net, x, classes)


def shufflenet_v2(
    size: int = 224, depths: tuple[int, ...] = (4, 8, 4), classes: int = 1000, saturating: bool = False
) -> Built:
    """ShuffleNetV2 x1.0, with branches of 58, 116 and 232 channels."""
    net = Net("shufflenet_v2", saturating=saturating)
    x = net.pool(net.conv(net.input("image", (1, 3, size, size)), 24, 3, 2, act="relu"), 3, 2, 1)
    side = size // 4
    for stage, depth in enumerate(depths):
        half = 58 << stage
        for block in range(depth):
            with net.scope(f"stage{stage + 2}.{block}"):
                if block:
                    kept, y = net.split(x, (half, half))
                    stride = 1
                else:
                    kept = net.conv(net.conv(x, net.widths[x], 3, 2, groups=net.widths[x]), half, act="relu")
                    y, stride = x, 2
                y = net.conv(y, half, act="relu")
                y = net.conv(net.conv(y, half, 3, stride, groups=half), half, act="relu")
                side //= stride
                x = _shuffled(net, net.concat([kept, y]), 2, side)
    return _head(net, net.conv(x, 1024, act="relu"), classes)


def inception_v3(size: int = 299, classes: int = 1000, saturating: bool = False) -> Built:
    """Inception v3: windows of 1x7 and 7x1, branches of many widths."""
    net = Net("inception_v3", saturating=saturating)

    def conv(x: str, outputs: int, *kernel: int, stride: int = 1, padding: int | None = None) -> str:
        window = kernel * 2 if len(kernel) == 1 else kernel
        return net.conv(x, outputs, window, stride, act="relu", padding=padding)

    def mean(x: str, outputs: int) -> str:
        return conv(net.pool(x, 3, 1, 1, "AveragePool"), outputs, 1)

    x = conv(net.input("image", (1, 3, size, size)), 32, 3, stride=2, padding=0)
    x = net.pool(conv(conv(x, 32, 3, padding=0), 64, 3), 3, 2)
    x = net.pool(conv(conv(x, 80, 1), 192, 3, padding=0), 3, 2)
    for pooled in (32, 64, 64):
        branches = [conv(x, 64, 1), conv(conv(x, 48, 1), 64, 5), conv(conv(conv(x, 64, 1), 96, 3), 96, 3)]
        x = net.concat([*branches, mean(x, pooled)])
    y = conv(conv(conv(x, 64, 1), 96, 3), 96, 3, stride=2, padding=0)
    x = net.concat([conv(x, 384, 3, stride=2, padding=0), y, net.pool(x, 3, 2)])
    for inner in (128, 160, 160, 192):
        y = conv(conv(conv(x, inner, 1), inner, 1, 7), 192, 7, 1)
        z = conv(conv(conv(conv(x, inner, 1), inner, 7, 1), inner, 1, 7), inner, 7, 1)
        x = net.concat([conv(x, 192, 1), y, conv(z, 192, 1, 7), mean(x, 192)])
    y = conv(conv(x, 192, 1), 320, 3, stride=2, padding=0)
    z = conv(conv(conv(conv(x, 192, 1), 192, 1, 7), 192, 7, 1), 192, 3, stride=2, padding=0)
    x = net.concat([y, z, net.pool(x, 3, 2)])
    for _ in range(2):
        y, z = conv(x, 384, 1), conv(conv(x, 448, 1), 384, 3)
        wide = [net.concat([conv(part, 384, 1, 3), conv(part, 384, 3, 1)]) for part in (y, z)]
        x = net.concat([conv(x, 320, 1), *wide, mean(x, 192)])
    return _head(net, x, classes)


def regnet_y_400mf(
    size: int = 224, depths: tuple[int, ...] = (1, 3, 6, 6), classes: int = 1000, saturating: bool = False
) -> Built:
    """RegNetY-400MF: groups of 8 channels, 104, 208 and 440 channels, squeezes."""
    net = Net("regnet_y_400mf", saturating=saturating)
    x = net.conv(net.input("image", (1, 3, size, size)), 32, 3, 2, act="relu")
    for depth, outputs in zip(depths, (48, 104, 208, 440), strict=False):
        for block in range(depth):
            with net.scope(f"stage{outputs}.{block}"):
                stride, width = 1 if block else 2, net.widths[x]
                y = net.conv(net.conv(x, outputs, act="relu"), outputs, 3, stride, groups=outputs // 8, act="relu")
                y = net.conv(net.squeeze(y, max(1, width // 4)), outputs)
                x = net.act(net.add(x if block else net.conv(x, outputs, 1, stride), y), "relu")
    return _head(net, x, classes)


def convnext_tiny(
    size: int = 224, depths: tuple[int, ...] = (3, 3, 9, 3), width: int = 96, classes: int = 1000,
    saturating: bool = False,
) -> Built:  # fmt: skip
    """ConvNeXt-tiny: 7x7 depthwise convolutions between layouts, layer norms, perceptrons with gelu."""
    net = Net("convnext_tiny", saturating=saturating)

    def norm_first(x: str) -> str:
        last = net.layer_norm(net.transpose(x, 0, 2, 3, 1), 1e-6)
        return net.transpose(last, 0, 3, 1, 2)

    x = norm_first(net.conv(net.input("image", (1, 3, size, size)), width, 4, 4, padding=0, norm=False))
    for stage, depth in enumerate(depths):
        outputs = width << stage
        if stage:
            x = net.conv(norm_first(x), outputs, 2, 2, padding=0, norm=False)
        for block in range(depth):
            with net.scope(f"stages.{stage}.{block}"):
                y = net.transpose(net.conv(x, outputs, 7, groups=outputs, norm=False), 0, 2, 3, 1)
                y = net.linear(net.linear(net.layer_norm(y, 1e-6), 4 * outputs, act="gelu"), outputs)
                scale = net.tensor("layer_scale", net.rng.uniform(0.2, 0.6, (outputs, 1, 1)).astype("float32"))
                y = net.mul(scale, net.transpose(y, 0, 3, 1, 2))
                net.widths[y] = outputs
                x = net.add(y, x)
    pooled = net.transpose(net.node("GlobalAveragePool", x), 0, 2, 3, 1)
    return net.build(net.gemm(net.node("Flatten", net.layer_norm(pooled, 1e-6), axis=1), classes))
