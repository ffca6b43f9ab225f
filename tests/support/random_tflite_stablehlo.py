"""Random models of StableHLO's operators, of windows that are reduced, and of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from random_tflite_parts import Make, Rng, one, pick, sizes
from tflite_builder import Array, Net


def binary(op: str, *dtypes: str) -> Make:
    def make(rng: Rng) -> bytes:
        dtype, shape = pick(rng, *dtypes), sizes(rng, int(rng.integers(1, 5)))
        right: Any = (dtype, shape)
        if op == "STABLEHLO_SHIFT_LEFT":
            right = rng.integers(0, 5, shape).astype(dtype)
        return one(op, [(dtype, shape), right], [dtype])

    return make


def pad(rng: Rng) -> bytes:
    shape = [n + 2 for n in sizes(rng, int(rng.integers(1, 4)))]
    edges = {"edgePaddingLow": (-1, 3), "edgePaddingHigh": (-1, 3), "interiorPadding": (0, 3)}
    fields: dict[str, Any] = {name: rng.integers(*bounds, len(shape)) for name, bounds in edges.items()}
    filler = np.array(1.5, np.float32)
    return one("STABLEHLO_PAD", [("float32", shape), filler], options="StablehloPadOptions", **fields)


def _windows(rng: Rng) -> tuple[list[int], list[Array]]:
    """A shape; windows, strides, and dilations of both."""
    rank = int(rng.integers(1, 4))
    shape = [int(n) for n in rng.integers(4, 7, rank)]
    return shape, [np.asarray(rng.integers(1, most, rank), np.int64) for most in (3, 4, 3, 3)]


def reduce_window(rng: Rng) -> bytes:
    shape, (kernel, strides, _, dilation) = _windows(rng)
    dtype = pick(rng, "float32", "int32")
    start = np.array(pick(rng, 0, 1), dtype)
    which = int(rng.integers(1, 5))
    inputs: list[Any] = [(dtype, shape), start, kernel, strides, dilation]
    return one("REDUCE_WINDOW", inputs, [dtype], "ReduceWindowOptions", reduceFunction=which)


def stablehlo_reduce_window(rng: Rng) -> bytes:
    shape, (kernel, strides, apart, dilation) = _windows(rng)
    net = Net()
    x, start = net.input("x", shape), net.const("start", np.array(pick(rng, 0.0, 1.0), np.float32))
    inner = net.subgraph()
    a, b = inner.input("a", []), inner.input("b", [])
    inner.outputs = [inner.tensor("c", [])]
    inner.op(pick(rng, "STABLEHLO_ADD", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"), [a, b], inner.outputs)
    body, y = inner.finish(), net.tensor("y", [])
    net.op(
        "STABLEHLO_REDUCE_WINDOW",
        [x, start],
        [y],
        "StablehloReduceWindowOptions",
        windowDimensions=kernel,
        windowStrides=strides,
        baseDilations=apart,
        windowDilations=dilation,
        padding=rng.integers(0, 3, 2 * len(shape)),
        bodySubgraphIndex=body,
    )
    return net.build([y])


def gather(rng: Rng) -> bytes:
    """Slices of a matrix of rows, at points that may be too far."""
    shape = [n + 1 for n in sizes(rng, 3)]
    count = int(rng.integers(1, 5))
    sliced = [1, int(rng.integers(1, shape[1] + 1)), int(rng.integers(1, shape[2] + 1))]
    points = rng.integers(0, 7, (count, 2)).astype(pick(rng, np.int32, np.int64))
    result = [count, sliced[1], sliced[2]]
    net = Net()
    inputs = [net.input("x", shape), net.const("points", points)]
    y = net.tensor("y", result)
    net.op(
        "STABLEHLO_GATHER",
        inputs,
        [y],
        "StablehloGatherOptions",
        offsetDims=np.array([1, 2]),
        collapsedSliceDims=np.array([0]),
        startIndexMap=np.array(pick(rng, [0, 1], [0, 2])),
        indexVectorDim=1,
        sliceSizes=np.array(sliced),
    )
    return net.build([y])


def scatter(rng: Rng) -> bytes:
    """Slices of a matrix of rows, updated at points that may be too far."""
    shape = [n + 1 for n in sizes(rng, 3)]
    count, dtype = int(rng.integers(1, 5)), pick(rng, "float32", "int32")
    window = [int(rng.integers(1, shape[1] + 1)), int(rng.integers(1, shape[2] + 1))]
    net = Net()
    points = rng.integers(0, 7, (count, 2)).astype(pick(rng, np.int32, np.int64))
    inputs = [net.input("x", shape, dtype), net.const("points", points), net.input("new", [count, *window], dtype)]
    inner, body = net.subgraph(), pick(rng, "", "ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")
    a, b = inner.input("a", [], dtype), inner.input("b", [], dtype)
    inner.outputs = [inner.tensor("c", [], dtype) if body else b]
    if body:
        inner.op(f"STABLEHLO_{body}", [a, b], inner.outputs)
    y, number = net.tensor("y", [], dtype), inner.finish()
    net.op(
        "STABLEHLO_SCATTER",
        inputs,
        [y],
        "StablehloScatterOptions",
        updateWindowDims=np.array([1, 2]),
        insertedWindowDims=np.array([0]),
        scatterDimsToOperandDims=np.array(pick(rng, [0, 1], [0, 2])),
        indexVectorDim=1,
        updateComputationSubgraphIndex=number,
    )
    return net.build([y])


def composite(rng: Rng) -> bytes:
    flexible: Any = flexbuffers
    net, shape = Net(), sizes(rng, 2)
    x, y, inner = net.input("x", shape), net.tensor("y", shape), net.subgraph()
    a = inner.input("a", shape)
    inner.outputs = [inner.tensor("b", shape)]
    inner.op("EXP", [a], inner.outputs, "ExpOptions")
    number = inner.finish()
    fields: dict[str, Any] = {"name": b"an.exponential", "decompositionSubgraphIndex": number}
    fields["compositeAttributes"] = list(bytes(flexible.Dumps({})))
    net.op("STABLEHLO_COMPOSITE", [x], [y], "StableHLOCompositeOptions", **fields)
    return net.build([y])


def transformed(op: str) -> Make:
    """A transform of images, and a part of it."""

    def make(rng: Rng) -> bytes:
        net = Net()
        lengths = [int(2 ** rng.integers(1, 4)) for _ in range(2)]
        shape = [*sizes(rng, int(rng.integers(1, 3)), 3), *lengths]
        size = net.const("size", np.array(lengths, np.int32))
        found, y = net.tensor("found", [], "complex64"), net.tensor("y", [])
        net.op("RFFT2D", [net.input("x", shape), size], [found], "Rfft2dOptions")
        net.op(op, [found], [y])
        return net.build([y])

    return make


STABLEHLO: dict[str, Make] = {
    "COMPLEX_ABS": transformed("COMPLEX_ABS"),
    "IMAG": transformed("IMAG"),
    "REAL": transformed("REAL"),
    "REDUCE_WINDOW": reduce_window,
    "STABLEHLO_ADD": binary("STABLEHLO_ADD", "float32", "int32"),
    "STABLEHLO_AND": binary("STABLEHLO_AND", "bool", "int32"),
    "STABLEHLO_COMPOSITE": composite,
    "STABLEHLO_GATHER": gather,
    "STABLEHLO_MAXIMUM": binary("STABLEHLO_MAXIMUM", "float32", "int32"),
    "STABLEHLO_MINIMUM": binary("STABLEHLO_MINIMUM", "float32", "int32"),
    "STABLEHLO_MULTIPLY": binary("STABLEHLO_MULTIPLY", "float32", "int32"),
    "STABLEHLO_PAD": pad,
    "STABLEHLO_REDUCE_WINDOW": stablehlo_reduce_window,
    "STABLEHLO_SCATTER": scatter,
    "STABLEHLO_SHIFT_LEFT": binary("STABLEHLO_SHIFT_LEFT", "int32", "int16", "int8"),
}
