"""Layers that transformers, speech and segmentation networks have, beside onnxruntime, both on one thread.

    python benchmarks/layers.py [WORD ...]

Prints what `benchmarks/operators.py` does, in the same form, for convolutions of one and three axes, transposed and
deformable ones, recurrent layers, attention, and products of odd sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import geometric_mean

from operators import Case, run


def _convolutions() -> Iterator[Case]:
    yield Case("conv1d 3 256x500 -> 256", "Y = Conv<pads=[1,1]>(X0, W0, W1)", [(1, 256, 500)], [(256, 256, 3), (256,)])
    yield Case("conv1d 10/5 1x16000 -> 512", "Y = Conv<strides=[5]>(X0, W0)", [(1, 1, 16000)], [(512, 1, 10)])
    yield Case("conv1d 256/128 1x640 -> 258", "Y = Conv<strides=[128]>(X0, W0)", [(1, 1, 640)], [(258, 1, 256)])
    yield Case("conv1d 128 in 16 groups 768x49", "Y = Conv<pads=[64,64], group=16>(X0, W0)", [(1, 768, 49)],
               [(768, 48, 128)])  # fmt: skip
    yield Case("depthwise conv1d 31 256x500", "Y = Conv<pads=[15,15], group=256>(X0, W0)", [(1, 256, 500)],
               [(256, 1, 31)])  # fmt: skip
    nodes = "A = Conv<pads=[1,1]>(X0, W0); B = Relu(A); C = Conv<pads=[1,1]>(B, W0); Y = Add(C, X0)"
    yield Case("two of conv1d 3, residual 256x500", nodes, [(1, 256, 500)], [(256, 256, 3)])
    yield Case("conv3d 3 16x16x32x32 -> 32", "Y = Conv<pads=[1,1,1,1,1,1]>(X0, W0)", [(1, 16, 16, 32, 32)],
               [(32, 16, 3, 3, 3)])  # fmt: skip
    for name, attributes, data, weight in (
        ("conv2d_transpose 4/2 64x56x56 -> 32", "strides=[2,2], pads=[1,1,1,1]", (64, 56, 56), (64, 32, 4, 4)),
        ("conv2d_transpose 2/2 64x28x28 -> 32", "strides=[2,2]", (64, 28, 28), (64, 32, 2, 2)),
        ("conv2d_transpose 16/8 21x28x28", "strides=[8,8], pads=[4,4,4,4]", (21, 28, 28), (21, 21, 16, 16)),
        ("conv1d_transpose 16/8 256x100 -> 128", "strides=[8], pads=[4,4]", (256, 100), (256, 128, 16)),
        ("conv3d_transpose 2/2 32x8x8x8 -> 16", "strides=[2,2,2]", (32, 8, 8, 8), (32, 16, 2, 2, 2)),
    ):
        yield Case(name, f"Y = ConvTranspose<{attributes}>(X0, W0)", [(1, *data)], [weight])


def _windows() -> Iterator[Case]:
    wide = "kernel_shape=[3,3,3], strides=[2,2,2], pads=[1,1,1,1,1,1]"
    yield Case(
        "max_pool1d 3/2 256x1000", "Y = MaxPool<kernel_shape=[3], strides=[2], pads=[1,1]>(X0)", [(1, 256, 1000)]
    )
    yield Case("max_pool3d 3/2 32x16x32x32", f"Y = MaxPool<{wide}>(X0)", [(1, 32, 16, 32, 32)])
    yield Case("avg_pool3d 3/2 32x16x32x32", f"Y = AveragePool<{wide}>(X0)", [(1, 32, 16, 32, 32)])
    yield Case("lp_pool 3/2 64x56x56", "Y = LpPool<kernel_shape=[3,3], strides=[2,2]>(X0)", [(1, 64, 56, 56)])
    yield Case("max_pool2d 2/2 with places 64x56x56", "Y, I = MaxPool<kernel_shape=[2,2], strides=[2,2]>(X0)",
               [(1, 64, 56, 56)])  # fmt: skip


def _recurrent() -> Iterator[Case]:
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for time, batch, features, hidden in ((32, 1, 64, 128), (32, 1, 256, 256), (32, 8, 128, 128), (64, 1, 80, 100)):
            yield Case(
                f"{kind.lower()} {time} steps, batch {batch}, {features} -> {hidden}",
                f"Y = {kind}<hidden_size={hidden}>(X0, W0, W1)",
                [(time, batch, features)],
                [(1, gates * hidden, features), (1, gates * hidden, hidden)],
            )


def _attention() -> Iterator[Case]:
    for length in (128, 384):
        nodes = "S = MatMul(X0, X1); P = Softmax(S); Y = MatMul(P, X2)"
        heads = (1, 12, length, 64)
        yield Case(f"attention 12x{length}x64", nodes, [heads, (1, 12, 64, length), heads])


def _products() -> Iterator[Case]:
    for m, k, n in ((1, 768, 768), (1, 768, 30522), (8, 768, 768), (127, 511, 509)):
        yield Case(f"product {m}x{k}x{n}", "Y = MatMul(X0, W0)", [(m, k)], [(k, n)])
    for m in (1, 128):
        yield Case(f"product of inputs {m}x768x768", "Y = MatMul(X0, X1)", [(m, 768), (768, 768)])
        yield Case(f"product of inputs, transposed {m}x768x768", "Y = Gemm<transB=1>(X0, X1)", [(m, 768), (768, 768)])
    yield Case("product that broadcasts 2x4x64x64", "Y = MatMul(X0, X1)", [(2, 4, 64, 64), (4, 64, 64)])


FAMILIES = (_convolutions, _windows, _recurrent, _attention, _products)


def main() -> None:
    words = sys.argv[1:]
    print(f"{'layer':50} {'whence us':>10} {'ort us':>10} {'ratio':>6}")
    cases = [case for family in FAMILIES for case in family()]
    ratios = [run(case) for case in cases if not words or any(word in case.name for word in words)]
    print(f"geometric mean of {len(ratios)} ratios: {geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
