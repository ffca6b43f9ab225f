"""Shapes that no vector divides, each beside its even neighbours, and onnxruntime, all on one thread.

    python benchmarks/tails.py [WORD ...]

Prints a row for each group whose name contains one of the words (all of them without): per shape the median
microseconds of Whence, called in turn with the others of its group, and of onnxruntime; then, for the uneven shape, how
much longer it takes than the neighbour that takes longest, both per product or element.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from operators import Case, medians, onnxruntime_call

import whence


class Group(NamedTuple):
    """Cases with the number of products, or elements, of each; the first is the uneven one."""

    name: str
    cases: Sequence[tuple[Case, int]]


def _scores(rows: int) -> tuple[Case, int]:
    case = Case(f"6x{rows}x64", "T = Transpose<perm=[0,2,1]>(X1); Y = MatMul(X0, T)", [(6, rows, 64)] * 2)
    return case, 6 * rows * rows * 64


def _product(batch: int, rows: int, columns: int) -> tuple[Case, int]:
    shapes = [(batch, rows, 64), (batch, 64, columns)]
    return Case(f"{batch}x{rows}x64x{columns}", "Y = MatMul(X0, X1)", shapes), batch * rows * 64 * columns


def _pixelwise(outputs: int) -> tuple[Case, int]:
    nodes = "Y = Conv<kernel_shape=[1,1]>(X0, W0, W1)"
    case = Case(f"512 -> {outputs}", nodes, [(1, 512, 13, 13)], [(outputs, 512, 1, 1), (outputs,)])
    return case, 512 * outputs * 169


def _grouped(channels: int) -> tuple[Case, int]:
    nodes = "Y = Conv<kernel_shape=[1,1], group=4>(X0, W0, W1)"
    shapes = [(channels, channels // 4, 1, 1), (channels,)]
    return Case(f"{channels} in 4 groups", nodes, [(1, channels, 28, 28)], shapes), channels * channels // 4 * 784


def _image(pixels: int) -> tuple[Case, int]:
    nodes = "Y = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(X0, W0, W1)"
    case = Case(f"64x{pixels}x{pixels}", nodes, [(1, 64, pixels, pixels)], [(64, 64, 3, 3), (64,)])
    return case, 64 * 64 * 9 * pixels * pixels


def _softmax(*shape: int) -> tuple[Case, int]:
    return Case("x".join(map(str, shape)), "Y = Softmax<axis=1>(X0)", [shape]), int(np.prod(shape))


GROUPS = (
    Group("scores", [_scores(197), _scores(192), _scores(208)]),
    Group("batch_matmul", [_product(1, 197, 197), _product(1, 192, 192), _product(1, 208, 208)]),
    Group("batch_matmul", [_product(12, 50, 33), _product(12, 48, 32), _product(12, 56, 40)]),
    Group("conv2d 1x1", [_pixelwise(1000), _pixelwise(992), _pixelwise(1008)]),
    Group("grouped conv2d 1x1", [_grouped(272), _grouped(256), _grouped(320)]),
    Group("conv2d 3x3", [_image(29), _image(28), _image(30)]),
    Group("softmax", [_softmax(64, 1001), _softmax(64, 1000), _softmax(64, 1008)]),
    Group("softmax of unit extents", [_softmax(64, 1000, 1, 1), _softmax(64, 1000)]),
)


def run(group: Group) -> None:
    calls: list[Callable[[], object]] = []
    for case, _ in group.cases:
        model, arrays = case.model(), case.arrays()
        exe = whence.compile(model, threads=1)
        theirs = onnxruntime_call(model, {f"X{i}": array for i, array in enumerate(arrays)})
        np.testing.assert_allclose(np.asarray(exe(*arrays)), theirs(), rtol=2e-3, atol=2e-3, err_msg=case.name)
        calls += [partial(exe, *arrays), theirs]
    seconds = medians(calls)
    each = [taken / work for taken, (_, work) in zip(seconds[::2], group.cases, strict=True)]
    for i, (case, _) in enumerate(group.cases):
        ours, them = seconds[2 * i : 2 * i + 2]
        row = f"{group.name} {case.name}" if i == 0 else f"    {case.name}"
        ratio = f"{each[0] / max(each[1:]):10.2f}" if i == 0 else ""
        print(f"{row:44} {ours * 1e6:10.1f} {them * 1e6:10.1f} {them / ours:8.2f}{ratio}", flush=True)


def main() -> None:
    words = sys.argv[1:]
    print(f"{'shape':44} {'whence us':>10} {'ort us':>10} {'ort/ours':>8} {'to even':>9}")
    for group in GROUPS:
        if not words or any(word in group.name for word in words):
            run(group)


if __name__ == "__main__":
    main()
