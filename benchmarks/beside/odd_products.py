"""Random products: convolutions of every kind, gemm, batches of matrices, attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .one_node import Case, Dice, Family, listed, text

_WORK = (3e5, 4e8)
"""Multiplications of a case."""
_LARGEST = 2e7
"""Elements of a tensor at most."""


def convolution(
    channels: int, outputs: int, image: Sequence[int], kernel: Sequence[int], *, stride: int = 1, groups: int = 1,
    dilation: int = 1, pad: int = -1,
) -> Case:  # fmt: skip
    """A convolution with a bias; `pad` of -1 keeps the size of the image, but for the stride."""
    rank = len(image)
    reach = [(k - 1) * dilation + 1 for k in kernel]
    pads = [k // 2 if pad < 0 else pad for k in reach]
    window = (
        f"kernel_shape={listed(kernel)}, strides={listed([stride] * rank)}, pads={listed([*pads, *pads])}, "
        f"dilations={listed([dilation] * rank)}, group={groups}"
    )
    result = [(size + 2 * p - k) // stride + 1 for size, p, k in zip(image, pads, reach, strict=True)]
    work = outputs * channels // groups * prod(kernel) * prod(result) if min(result) > 0 else 0
    name = f"conv {channels}x{text(image)} -> {outputs} {text(kernel)}/{stride}"
    name += f" groups {groups}" * (groups > 1) + f" dilation {dilation}" * (dilation > 1) + f" pad {pads[0]}"
    weights = [(outputs, channels // groups, *kernel), (outputs,)]
    large = max(channels * prod(image), outputs * prod(result), outputs * channels // groups * prod(kernel)) > _LARGEST
    return Case(name, f"Y = Conv<{window}>(X0, W0, W1)", [(1, channels, *image)], weights, work=0 if large else work)


def _conv2d(dice: Dice) -> Case:
    side, kernel = dice.size(3, 130), dice.choice((1, 1, 1, 2, 3, 3, 3, 3, 5, 7))
    image = (side, side if dice.random() < 0.7 else dice.size(3, 130))
    dilation = 1 if kernel == 1 or dice.random() < 0.85 else dice.choice((2, 3))
    stride = dice.choice((1, 1, 1, 2, 2, 3)) if dilation == 1 else 1
    channels, outputs = dice.size(1, 1100), dice.size(1, 1100)
    pad = -1 if dice.random() < 0.7 else dice.choice((0, 1))
    return convolution(channels, outputs, image, (kernel, kernel), stride=stride, dilation=dilation, pad=pad)


def _grouped(dice: Dice) -> Case:
    side, kernel, groups = dice.size(3, 130), dice.choice((1, 3, 3, 5)), dice.choice((2, 3, 4, 8, 16, 32))
    channels, outputs = groups * dice.size(1, 1100 // groups), groups * dice.size(1, 1100 // groups)
    return convolution(channels, outputs, (side, side), (kernel, kernel), stride=dice.choice((1, 1, 2)), groups=groups)


def _depthwise(dice: Dice) -> Case:
    side, kernel, channels = dice.size(3, 130), dice.choice((3, 3, 3, 5, 7)), dice.size(4, 1100)
    dilation = dice.choice((1, 1, 1, 1, 2))
    stride = dice.choice((1, 1, 2)) if dilation == 1 else 1
    return convolution(
        channels, channels, (side, side), (kernel, kernel), stride=stride, groups=channels, dilation=dilation
    )


def _conv1d(dice: Dice) -> Case:
    channels, outputs, length, kernel = dice.size(1, 1100), dice.size(1, 1100), dice.size(8, 16000), dice.size(1, 15)
    groups = channels if dice.random() < 0.15 else 1
    stride, dilation = dice.choice((1, 1, 1, 2, 5)), dice.choice((1, 1, 1, 2, 4))
    outputs = channels if groups > 1 else outputs
    return convolution(channels, outputs, (length,), (kernel,), stride=stride, groups=groups, dilation=dilation)


def _transposed(dice: Dice) -> Case:
    rank = dice.choice((1, 2, 2, 2))
    channels, outputs, side = dice.size(1, 600), dice.size(1, 600), dice.size(3, 100 if rank == 2 else 2000)
    stride, kernel, pad = dice.choice(((2, 2, 0), (2, 4, 1), (2, 3, 1), (3, 3, 0), (1, 3, 1), (4, 8, 2)))
    pads = listed([pad] * rank * 2)
    window = f"kernel_shape={listed([kernel] * rank)}, strides={listed([stride] * rank)}, pads={pads}"
    shapes = [(channels, outputs, *(kernel,) * rank), (outputs,)]
    work = channels * outputs * kernel**rank * side**rank
    name = f"conv_transpose {channels}x{text([side] * rank)} -> {outputs} {kernel}/{stride} pad {pad}"
    nodes = f"Y = ConvTranspose<{window}>(X0, W0, W1)"
    return Case(name, nodes, [(1, channels, *(side,) * rank)], shapes, work=work)


def gemm(m: int, k: int, n: int, *, transposed: bool = False, bias: bool = False) -> Case:
    """A product with a constant of (k, n), or of (n, k) that is transposed."""
    weight = (n, k) if transposed else (k, n)
    nodes = f"Y = Gemm<transB={int(transposed)}>(X0, W0{', W1' * bias})"
    name = f"gemm {m}x{k}x{n}{' transposed' * transposed}{' bias' * bias}"
    return Case(name, nodes, [(m, k)], [weight, *[(n,)] * bias], work=m * k * n)


def _gemm(dice: Dice) -> Case:
    m, k, n = dice.size(1, 1500), dice.size(1, 51000), dice.size(1, 51000)
    case = gemm(m, k, n, transposed=dice.random() < 0.5, bias=dice.random() < 0.5)
    return case if max(k * n, m * k, m * n) < _LARGEST else case._replace(work=0)


def _batches(dice: Dice) -> Case:
    batch, m, k, n = dice.size(1, 64), dice.size(1, 600), dice.size(1, 600), dice.size(1, 600)
    name, work = f"matmul {batch}x{m}x{k}x{n}", batch * m * k * n
    if dice.random() < 0.5:
        return Case(name, "Y = MatMul(X0, X1)", [(batch, m, k), (batch, k, n)], work=work)
    nodes = "T = Transpose<perm=[0, 2, 1]>(X1); Y = MatMul(X0, T)"
    return Case(f"{name} transposed", nodes, [(batch, m, k), (batch, n, k)], work=work)


def _attention(dice: Dice) -> Case:
    batch, heads = dice.choice((1, 1, 2)), dice.size(1, 16)
    queries, width = dice.size(1, 700), dice.choice((16, 32, 40, 48, 64, 64, 72, 80, 96, 128))
    keys = queries if dice.random() < 0.6 else dice.size(8, 1000)
    nodes = "T = Transpose<perm=[0, 1, 3, 2]>(X1); S = MatMul(X0, T); C = Mul(S, W0); "
    masked = dice.random() < 0.4
    nodes += "M = Add(C, X3); P = Softmax(M); " if masked else "P = Softmax(C); "
    inputs = [(batch, heads, rows, width) for rows in (queries, keys, keys)] + [(batch, 1, queries, keys)] * masked
    name = f"attention {batch}x{heads}x{queries}x{keys} of {width}{' masked' * masked}"
    work = 2 * batch * heads * queries * keys * width
    return Case(name, f"{nodes}Y = MatMul(P, X2)", inputs, [(1,)], work=work)


def _bounded(family: Family) -> Family:
    return lambda dice: dice.within(*_WORK, family)


PRODUCTS: dict[str, Family] = {
    name: _bounded(family)
    for name, family in {
        "conv2d": _conv2d,
        "grouped": _grouped,
        "depthwise": _depthwise,
        "conv1d": _conv1d,
        "conv_transpose": _transposed,
        "gemm": _gemm,
        "matmul": _batches,
        "attention": _attention,
    }.items()
}
