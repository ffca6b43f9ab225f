"""Reductions, norms, poolings, convolutions and products of odd and huge shapes: scheduled, and right.

    python tests/support/odd_shapes.py [--cases N] [--seed S]

Every case is compiled for a machine drawn among several, where a kernel that has the plain schedule counts as a
failure. Small cases that this machine can run are compared with onnxruntime. Prints the failures and the counts.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np
import onnx.parser
from numpy.random import Generator
from numpy.typing import NDArray

import whence
from whence.support.errors import ScheduleWarning, WhenceError

Array = NDArray[Any]
ort: Any = import_module("onnxruntime")

SIZES = [1, 2, 3, 5, 7, 13, 17, 21, 31, 33, 64, 65, 127, 129, 255, 257, 423, 513, 1023, 1025, 4097, 65537, 262145]
LARGEST = 1 << 23
"""Elements of an input, at most."""
RUN = 1 << 20
"""Elements of an input that is run, at most."""
TARGETS = ("native", "llvm -mcpu=haswell", "llvm -mcpu=x86-64", "llvm -mcpu=skylake-avx512")
AXIS = ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
REDUCE = [
    *("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceLogSum"),
    *("ReduceLogSumExp", "ReduceSumSquare", "ReduceProd"),
]


class Case(NamedTuple):
    """A model of one operator, and the shapes of its inputs."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    target: str

    @property
    def model(self) -> onnx.ModelProto:
        return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> net {self.text}')


def _shape(rng: Generator, rank: int, most: int = LARGEST) -> tuple[int, ...]:
    """A shape of up to `most` elements; every second one is large."""
    least = most // 16 if rank > 1 and rng.integers(2) else 0
    while True:
        shape = tuple(int(size) for size in rng.choice(SIZES, rank))
        if least <= prod(shape) <= most:
            return shape


def _net(call: str, *shapes: tuple[int, ...], dtype: str = "float") -> tuple[str, tuple[tuple[int, ...], ...]]:
    inputs = ", ".join(
        f"float[{', '.join(map(str, shape))}] {name}" for name, shape in zip("xwb", shapes, strict=False)
    )
    return f"({inputs}) => ({dtype}[{', '.join('abcdef'[: len(shapes[0])])}] y) {{ {call} }}", shapes


def _along(rng: Generator) -> Any:
    shape = _shape(rng, int(rng.integers(1, 5)))
    axis = int(rng.integers(len(shape)))
    kind = rng.choice([*AXIS, "ArgMax", "ArgMin"])
    return _net(f"y = {kind} <axis = {axis}> (x)", shape, dtype="int64" if kind.startswith("Arg") else "float")


def _reduce(rng: Generator) -> Any:
    shape = _shape(rng, int(rng.integers(1, 5)))
    axes = sorted(int(axis) for axis in rng.choice(len(shape), int(rng.integers(1, len(shape) + 1)), replace=False))
    return _net(f"a = Constant <value_ints = {axes}> () y = {rng.choice(REDUCE)} (x, a)", shape)


def _norm(rng: Generator) -> Any:
    shape = _shape(rng, 4)
    match int(rng.integers(3)):
        case 0:
            return _net("y = LayerNormalization <axis = -1> (x, w, b)", shape, shape[-1:], shape[-1:])
        case 1:
            return _net("y = InstanceNormalization (x, w, b)", shape, shape[1:2], shape[1:2])
        case _:
            return _net("y = LRN <size = 5> (x)", shape)


def _window(rng: Generator, shape: tuple[int, ...]) -> tuple[list[int], str]:
    """A kernel that fits an image, and the attributes of its steps."""
    most = [min(size, 15) for size in shape[2:]]
    kernel = [int(rng.integers(1, size + 1)) for size in most]
    ends = zip(kernel, shape[2:], strict=True)
    dilations = [int(rng.integers(1, 3)) if 2 * (length - 1) < size else 1 for length, size in ends]
    strides = [int(rng.integers(1, 3)) for _ in kernel]
    pads = [int(rng.integers(0, size)) for size in kernel] * 2
    return kernel, f"strides = {strides}, dilations = {dilations}, pads = {pads}"


def _pool(rng: Generator) -> Any:
    shape = _shape(rng, int(rng.integers(3, 5)))
    kernel, steps = _window(rng, shape)
    kind = rng.choice(["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"])
    if kind.startswith("Global"):
        return _net(f"y = {kind} (x)", shape)
    if kind == "AveragePool":
        # Dilations come with version 19 of the standard.
        steps = f"strides = {[1 + size % 2 for size in kernel]}"
    return _net(f"y = {kind} <kernel_shape = {kernel}, {steps}> (x)", shape)


def _conv(rng: Generator) -> Any:
    shape = _shape(rng, int(rng.integers(3, 5)), LARGEST // 8)
    kernel, steps = _window(rng, shape)
    channels = shape[1]
    if rng.integers(2):
        groups, filters, depth = channels, channels, 1
    else:
        groups, depth = 1, channels
        filters = int(rng.choice([size for size in SIZES if size <= 129]))
    if prod((filters, depth, *kernel)) > LARGEST:
        return _conv(rng)
    return _net(f"y = Conv <group = {groups}, {steps}> (x, w)", shape, (filters, depth, *kernel))


def _product(rng: Generator) -> Any:
    rows, depth, columns = _shape(rng, 3, LARGEST)
    return _net("y = MatMul (x, w)", (rows, depth), (depth, columns))


KINDS: tuple[Callable[[Generator], Any], ...] = (_along, _reduce, _norm, _pool, _conv, _product)


def cases(count: int, seed: int) -> Iterator[Case]:
    """Draw cases, of each kind as many."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        text, shapes = KINDS[number % len(KINDS)](rng)
        yield Case(text, shapes, str(rng.choice(TARGETS)))


def check(case: Case, run: int = RUN) -> str:
    """Compile a case and, if its inputs have at most `run` elements, run it; return what is wrong, "" if nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScheduleWarning)
        try:
            compiled = whence.compile(case.model, target=case.target, threads=1)
        except (WhenceError, ScheduleWarning) as error:
            return f"{type(error).__name__}: {error}"
    if sum(map(prod, case.shapes)) > run:
        return ""
    rng = np.random.default_rng(0)
    feeds = {name: rng.standard_normal(shape).astype("f4") for name, shape in zip("xwb", case.shapes, strict=False)}
    (ours,) = compiled.run(feeds).values()
    session = ort.InferenceSession(case.model.SerializeToString(), providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, feeds)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{list(ours.shape)}, not {theirs.dtype}{list(theirs.shape)}"
    scale = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=1.0))
    if not np.allclose(ours, theirs, rtol=1e-4, atol=1e-5 * scale, equal_nan=True):
        return f"off by {np.nanmax(np.abs(ours - theirs)):g} of {scale:g}"
    return ""


def main() -> int:
    """Return 1 if a case is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    wrong = ran = 0
    for number, case in enumerate(cases(args.cases, args.seed)):
        ran += sum(map(prod, case.shapes)) <= RUN
        if problem := check(case):
            wrong += 1
            print(f"{number} {case.target}: {case.text}\n    {problem}", flush=True)
        if number % 50 == 49:
            print(f"{number + 1} cases, {ran} of them run, {wrong} wrong", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
