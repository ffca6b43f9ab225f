"""One operator at a time beside onnxruntime, both on one thread.

    python benchmarks/operators.py [WORD ...]

Prints a row for each case whose name contains one of the words (all of them without): the median microseconds of a
call of Whence and of onnxruntime, which are called in turn in one process, and theirs / ours, so that more than 1 is
faster than onnxruntime. Calls are those of Python, copies in and out included; the time is that of the thread, so that
what else runs on the machine counts less.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import geometric_mean, median
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser

import whence

SAMPLES = 60
SAMPLE_SECONDS = 1e-3
"""Calls that are shorter are timed several at once."""
Shape = Sequence[int]
Array = np.ndarray[Any, np.dtype[Any]]


class Case(NamedTuple):
    """A graph of a few nodes in onnx's text form, from inputs X0, X1, .. and weights W0, W1, .. to Y."""

    name: str
    nodes: str
    inputs: Sequence[Shape]
    weights: Sequence[Shape] = ()
    integers: Mapping[str, Sequence[int]] = {}
    """Constant vectors of int64, such as the axes of a reduction."""
    indices: Sequence[tuple[Shape, int]] = ()
    """The shapes of inputs I0, I1, .. of int64, and the number that their elements are below."""

    def model(self) -> onnx.ModelProto:
        random = np.random.default_rng(0)
        float32 = TensorProto.FLOAT
        constants = [
            numpy_helper.from_array((random.standard_normal(shape) * 0.1).astype(np.float32), f"W{i}")
            for i, shape in enumerate(self.weights)
        ]
        constants += [numpy_helper.from_array(np.array(v, np.int64), name) for name, v in self.integers.items()]
        graph = helper.make_graph(
            [parser.parse_node(line.strip()) for line in self.nodes.split(";")],
            "operator",
            [helper.make_tensor_value_info(f"X{i}", float32, shape) for i, shape in enumerate(self.inputs)]
            + [helper.make_tensor_value_info(f"I{i}", TensorProto.INT64, s) for i, (s, _) in enumerate(self.indices)],
            [helper.make_tensor_value_info("Y", float32, None)],
            constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    def arrays(self) -> dict[str, Array]:
        random = np.random.default_rng(1)
        numbers = {f"X{i}": random.standard_normal(shape).astype(np.float32) for i, shape in enumerate(self.inputs)}
        return numbers | {f"I{i}": random.integers(0, end, shape) for i, (shape, end) in enumerate(self.indices)}


def _products() -> Iterator[Case]:
    for m, k, n in (
        *((1, 256, 256), (1, 1024, 1000), (7, 256, 256), (7, 768, 768), (32, 256, 256), (32, 768, 3072)),
        *((128, 768, 768), (128, 3072, 768), (197, 768, 768), (512, 512, 512), (128, 64, 100)),
    ):
        yield Case(f"dense {m}x{k}x{n}", "Y = MatMul(X0, W0)", [(m, k)], [(k, n)])
    yield Case("dense 128x768x3072 bias gelu", f"B = MatMul(X0, W0); A = Add(B, W1); {_GELU}", [(128, 768)],
               [(768, 3072), (3072,), (1,), (1,), (1,)])  # fmt: skip
    yield Case("batch_matmul 12x128x64x128", "Y = MatMul(X0, X1)", [(12, 128, 64), (12, 64, 128)])
    yield Case("batch_matmul 12x128x64x128 of k transposed", "T = Transpose<perm=[0,2,1]>(X1); Y = MatMul(X0, T)",
               [(12, 128, 64), (12, 128, 64)])  # fmt: skip
    for m, k, n in ((64, 256, 128), (128, 288, 300), (256, 300, 256)):
        yield Case(f"gemm {m}x{k}x{n} b transposed", "Y = Gemm<transB=1>(X0, X1)", [(m, k), (n, k)])
        yield Case(f"gemm {m}x{k}x{n} a transposed", "Y = Gemm<transA=1>(X0, X1)", [(k, m), (k, n)])
        yield Case(f"gemm {m}x{k}x{n} both transposed", "Y = Gemm<transA=1, transB=1>(X0, X1)", [(k, m), (n, k)])
        yield Case(f"gemm {m}x{k}x{n} weights transposed", "Y = Gemm<transB=1>(X0, W0)", [(m, k)], [(n, k)])
    yield Case("batch_matmul 12x128x128x64", "Y = MatMul(X0, X1)", [(12, 128, 128), (12, 128, 64)])


_GELU = "C = Div(A, W2); D = Erf(C); E = Add(D, W3); F = Mul(A, E); Y = Mul(F, W4)"
"""With any numbers in place of the root of 2, one and one half, which are as fast."""


def _convolutions() -> Iterator[Case]:
    for image, channels, outputs, kernel, stride in (
        *((224, 3, 64, 7, 2), (56, 64, 64, 3, 1), (28, 128, 128, 3, 1), (14, 256, 256, 3, 1), (7, 512, 512, 3, 1)),
        *((56, 64, 256, 1, 1), (28, 512, 128, 1, 1), (14, 1024, 256, 1, 1), (7, 512, 2048, 1, 1), (56, 256, 512, 1, 2)),
    ):
        pad = kernel // 2
        window = f"<kernel_shape=[{kernel},{kernel}], strides=[{stride},{stride}], pads=[{pad},{pad},{pad},{pad}]>"
        yield Case(
            f"conv2d {kernel}x{kernel}/{stride} {channels}x{image}x{image} -> {outputs}",
            f"Y = Conv{window}(X0, W0, W1)",
            [(1, channels, image, image)],
            [(outputs, channels, kernel, kernel), (outputs,)],
        )
    for image, channels, kernel, stride in ((112, 32, 3, 1), (112, 96, 3, 2), (28, 192, 3, 1), (14, 384, 3, 1),
                                            (7, 960, 3, 1), (28, 120, 5, 1)):  # fmt: skip
        pad = kernel // 2
        window = f"kernel_shape=[{kernel},{kernel}], strides=[{stride},{stride}], pads=[{pad},{pad},{pad},{pad}]"
        yield Case(
            f"depthwise {kernel}x{kernel}/{stride} {channels}x{image}x{image}",
            f"Y = Conv<{window}, group={channels}>(X0, W0, W1)",
            [(1, channels, image, image)],
            [(channels, 1, kernel, kernel), (channels,)],
        )


def _poolings() -> Iterator[Case]:
    wide = "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]"
    for name, node, shape in (
        ("max_pool 3x3/2", f"MaxPool<{wide}>", (1, 64, 112, 112)),
        ("max_pool 2x2/2", "MaxPool<kernel_shape=[2,2], strides=[2,2]>", (1, 64, 112, 112)),
        ("max_pool 3x3/2", f"MaxPool<{wide}>", (1, 48, 35, 35)),
        ("max_pool 2x2/2", "MaxPool<kernel_shape=[2,2], strides=[2,2]>", (4, 6, 28, 28)),
        ("max_pool 3x3/1", "MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>", (1, 192, 28, 28)),
        ("avg_pool 3x3/2", f"AveragePool<{wide}>", (1, 64, 112, 112)),
        ("avg_pool 3x3/2", f"AveragePool<{wide}>", (1, 48, 35, 35)),
        ("avg_pool 2x2/2", "AveragePool<kernel_shape=[2,2], strides=[2,2]>", (1, 128, 56, 56)),
        ("global_avg_pool", "GlobalAveragePool", (1, 2048, 7, 7)),
        ("global_max_pool", "GlobalMaxPool", (1, 512, 14, 14)),
    ):
        yield Case(f"{name} {_spelled(shape)}", f"Y = {node}(X0)", [shape])
    # Between convolutions, where the data is blocked.
    nodes = f"A = Conv<kernel_shape=[1,1]>(X0, W0); B = MaxPool<{wide}>(A); Y = Conv<kernel_shape=[1,1]>(B, W1)"
    yield Case("conv 1x1, max_pool 3x3/2, conv 1x1 64x112x112", nodes, [(1, 64, 112, 112)],
               [(64, 64, 1, 1), (64, 64, 1, 1)])  # fmt: skip


def _spelled(shape: Shape) -> str:
    return "x".join(map(str, shape))


def _reductions() -> Iterator[Case]:
    for kind in ("Sum", "Max", "Mean"):
        for shape, axis in (((128, 768), 1), ((12, 128, 128), 2), ((1, 4096), 1), ((32, 1000), 1), ((1024, 49), 1),
                            ((64, 128, 64), 1), ((512, 512), 0)):  # fmt: skip
            name = f"{kind.lower()} {_spelled(shape)} axis {axis}"
            if kind == "Sum":
                yield Case(name, "Y = ReduceSum<keepdims=0>(X0, A)", [shape], integers={"A": [axis]})
            else:
                yield Case(name, f"Y = Reduce{kind}<keepdims=0, axes=[{axis}]>(X0)", [shape])


def _normalisations() -> Iterator[Case]:
    for shape in ((12, 128, 128), (1, 1000), (64, 4096), (128, 33), (4, 50257), (16, 1500)):
        yield Case(f"softmax {_spelled(shape)}", "Y = Softmax(X0)", [shape])
    for shape in ((64, 1000), (8, 32000)):
        yield Case(f"log_softmax {_spelled(shape)}", "Y = LogSoftmax(X0)", [shape])
    yield Case("softmax 8x64x32 axis 1", "Y = Softmax<axis=1>(X0)", [(8, 64, 32)])
    for shape in ((128, 768), (197, 192), (16, 1000)):
        affine = [(shape[1],), (shape[1],)]
        yield Case(f"layernorm {_spelled(shape)}", "Y = LayerNormalization(X0, W0, W1)", [shape], affine)
    nodes = (
        "M = ReduceMean<axes=[-1]>(X0); D = Sub(X0, M); Q = Pow(D, T); V = ReduceMean<axes=[-1]>(Q); "
        "E = Add(V, W2); S = Sqrt(E); N = Div(D, S); G = Mul(N, W0); Y = Add(G, W1)"
    ).replace("Pow(D, T)", "Mul(D, D)")
    # The third weight stands for epsilon: it is added to a variance near 1, so its sign does not matter.
    yield Case("layernorm 128x768 decomposed", nodes, [(128, 768)], [(768,), (768,), (1,)])


def _elementwise() -> Iterator[Case]:
    big = (128, 3072)
    for kind in ("Relu", "Exp", "Tanh", "Sigmoid", "Sqrt", "Erf", "Log"):
        before = "X0"
        prefix = ""
        if kind in ("Sqrt", "Log"):
            prefix, before = "P = Abs(X0); ", "P"
        yield Case(f"{kind.lower()} {_spelled(big)}", f"{prefix}Y = {kind}({before})", [big])
    for kind in ("Add", "Mul", "Div"):
        yield Case(f"{kind.lower()} {_spelled(big)}", f"Y = {kind}(X0, X1)", [big, big])
    yield Case("add 128x3072 + 3072", "Y = Add(X0, W0)", [big], [(3072,)])
    yield Case("add 64x56x56 + 64x1x1", "Y = Add(X0, W0)", [(1, 64, 56, 56)], [(64, 1, 1)])
    yield Case("relu 1x64x56x56", "Y = Relu(X0)", [(1, 64, 56, 56)])
    yield Case("relu 999x1001", "Y = Relu(X0)", [(999, 1001)])
    yield Case("add relu mul 128x3072", "A = Add(X0, X1); B = Relu(A); Y = Mul(B, X0)", [big, big])
    yield Case("gelu 128x3072", f"A = Identity(X0); {_GELU}", [big], [(1,), (1,), (1,), (1,), (1,)])


def _injective() -> Iterator[Case]:
    for shape, perm in (
        *(((768, 768), (1, 0)), ((128, 12, 64), (1, 0, 2)), ((12, 128, 64), (0, 2, 1))),
        *(((1, 64, 56, 56), (0, 2, 3, 1)), ((1, 56, 56, 64), (0, 3, 1, 2)), ((999, 1001), (1, 0))),
    ):
        order = ",".join(map(str, perm))
        yield Case(f"transpose {_spelled(shape)} [{order}]", f"Y = Transpose<perm=[{order}]>(X0)", [shape])
    for shape, axis in (((1, 64, 56, 56), 1), ((128, 768), 1), ((128, 768), 0), ((256, 33), 1)):
        name = f"concat {_spelled(shape)} axis {axis}"
        yield Case(name, f"Y = Concat<axis={axis}>(X0, X1)", [shape, shape])
    for shape, pads in (((1, 64, 56, 56), (0, 0, 1, 1, 0, 0, 1, 1)), ((128, 768), (0, 16, 0, 16))):
        yield Case(f"pad {_spelled(shape)}", "Y = Pad(X0, P)", [shape], integers={"P": pads})
    starts = {"S": [0, 8], "E": [128, 520]}
    yield Case("slice 128x768 [:, 8:520]", "Y = Slice(X0, S, E)", [(128, 768)], integers=starts)


def _selections() -> Iterator[Case]:
    for shape, k in (((64, 1000), 5), ((64, 1000), 100), ((1, 50257), 50), ((512, 64), 2), ((8, 128), 128)):
        node = "V, N = TopK(X0, K); F = Cast<to=1>(N); Y = Add(V, F)"
        yield Case(f"topk {_spelled(shape)} of {k}", node, [shape], integers={"K": [k]})
    yield Case("argmax 128x1000", "N = ArgMax<axis=1>(X0); Y = Cast<to=1>(N)", [(128, 1000)])
    for shape, taken, axis in (((64, 1000), (64, 100), 1), ((1000, 64), (100, 64), 0), ((8, 128, 64), (8, 32, 64), 1)):
        name = f"gather_elements {_spelled(shape)} -> {_spelled(taken)} axis {axis}"
        yield Case(name, f"Y = GatherElements<axis={axis}>(X0, I0)", [shape], indices=[(taken, shape[axis])])
        for kind in ("none", "add"):
            name = f"scatter_elements {kind} {_spelled(shape)} <- {_spelled(taken)} axis {axis}"
            node = f'Y = ScatterElements<axis={axis}, reduction="{kind}">(X0, I0, X1)'
            yield Case(name, node, [shape, taken], indices=[(taken, shape[axis])])
    for shape, count, axis in (((30522, 768), (128,), 0), ((64, 1000), (100,), 1), ((1000, 16), (8, 64), 0)):
        name = f"gather {_spelled(shape)} [{_spelled(count)}] axis {axis}"
        yield Case(name, f"Y = Gather<axis={axis}>(X0, I0)", [shape], indices=[(count, shape[axis])])
    yield Case("gather_nd 64x64x32 [512x2]", "Y = GatherND(X0, I0)", [(64, 64, 32)], indices=[((512, 2), 64)])
    for kind in ("none", "add"):
        node = f'Y = ScatterND<reduction="{kind}">(X0, I0, X1)'
        yield Case(f"scatter_nd {kind} 64x64x32 <- 100x2", node, [(64, 64, 32), (100, 32)], indices=[((100, 2), 64)])
        yield Case(f"scatter_nd {kind} 4096 <- 1000x1", node, [(4096,), (1000,)], indices=[((1000, 1), 4096)])


def _carried() -> Iterator[Case]:
    for shape, axis in (((64, 1000), 1), ((1000, 64), 0), ((8, 128, 64), 1), ((1, 4096), 1), ((512, 33), 1)):
        yield Case(f"cumsum {_spelled(shape)} axis {axis}", "Y = CumSum(X0, A)", [shape], integers={"A": [axis]})
    for shape in ((1, 64, 56, 56), (1, 32, 128, 128), (4, 128, 17, 17)):
        affine = [(shape[1],), (shape[1],)]
        yield Case(f"instance_norm {_spelled(shape)}", "Y = InstanceNormalization(X0, W0, W1)", [shape], affine)


def _repeated() -> Iterator[Case]:
    for shape, times in (
        ((64, 100), (1, 8)),
        ((64, 100), (8, 1)),
        ((1, 64, 28, 28), (1, 1, 2, 2)),
        ((16, 1), (1, 512)),
    ):
        yield Case(f"tile {_spelled(shape)} {_spelled(times)}", "Y = Tile(X0, R)", [shape], integers={"R": times})
    for shape, to in (
        ((1, 768), (128, 768)),
        ((128, 1), (128, 768)),
        ((8, 1, 64), (8, 32, 64)),
        ((1, 1, 33), (4, 50, 33)),
    ):
        yield Case(f"expand {_spelled(shape)} {_spelled(to)}", "Y = Expand(X0, E)", [shape], integers={"E": to})


FAMILIES = (
    _products,
    _convolutions,
    _poolings,
    _reductions,
    _normalisations,
    _elementwise,
    _injective,
    _selections,
    _carried,
    _repeated,
)
CASES = [case for family in FAMILIES for case in family()]


def medians(calls: Sequence[Callable[[], object]]) -> list[float]:
    """The median seconds of each call, called in turn."""
    repeats: list[int] = []
    for call in calls:
        call()
        begin = thread_time()
        call()
        repeats.append(max(1, int(SAMPLE_SECONDS / max(thread_time() - begin, 1e-7))))
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(SAMPLES):
        for call, count, taken in zip(calls, repeats, times, strict=True):
            begin = thread_time()
            for _ in range(count):
                call()
            taken.append((thread_time() - begin) / count)
    return [median(taken) for taken in times]


def onnxruntime_call(model: onnx.ModelProto, feed: dict[str, Array]) -> Callable[[], Any]:
    runtime: Any = onnxruntime  # which has no types
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feed)[0]


def run(case: Case) -> float:
    """Check and time one case; returns its ratio."""
    model, arrays = case.model(), case.arrays()
    exe = whence.compile(model, threads=1)
    theirs = onnxruntime_call(model, arrays)
    inputs = list(arrays.values())
    np.testing.assert_allclose(np.asarray(exe(*inputs)), theirs(), rtol=2e-3, atol=2e-3, err_msg=case.name)
    us, them = medians([lambda: exe(*inputs), theirs])
    print(f"{case.name:50} {us * 1e6:10.1f} {them * 1e6:10.1f} {them / us:6.2f}", flush=True)
    return them / us


def main() -> None:
    words = sys.argv[1:]
    print(f"{'operator':50} {'whence us':>10} {'ort us':>10} {'ratio':>6}")
    ratios = [run(case) for case in CASES if not words or any(word in case.name for word in words)]
    print(f"geometric mean of {len(ratios)} ratios: {geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
