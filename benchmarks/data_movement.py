"""Operators that move, sort and sample data beside onnxruntime, both on one thread.

    python benchmarks/data_movement.py [WORD ...]

Prints a row for each case whose name contains one of the words (all of them without): the median microseconds of a
call of Whence and of onnxruntime, which are called in turn in one process, and ours / theirs, so that less than 1 is
faster than onnxruntime. Calls are those of Python, copies in and out included.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from statistics import median
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, parser

import whence

SAMPLES = 30
SAMPLE_SECONDS = 1e-3
"""Calls that are shorter are timed several at once."""
Array = np.ndarray[Any, Any]
RUNTIME: Any = onnxruntime
RANDOM = np.random.default_rng(0)


class Case(NamedTuple):
    """A graph of a few nodes in onnx's text form, from inputs X0, X1, .. and constants W0, W1, .. to Y (and Z)."""

    name: str
    nodes: str
    inputs: Sequence[Array]
    constants: Sequence[Array] = ()
    outputs: Sequence[str] = ("Y",)

    def model(self) -> onnx.ModelProto:
        infos = [
            helper.make_tensor_value_info(f"X{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for i, x in enumerate(self.inputs)
        ]
        graph = helper.make_graph(
            [parser.parse_node(line.strip()) for line in self.nodes.split(";")],
            "operator",
            infos,
            [helper.make_empty_tensor_value_info(name) for name in self.outputs],
            [numpy_helper.from_array(x, f"W{i}") for i, x in enumerate(self.constants)],
        )
        return onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        )


def _floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def _indices(high: int, *shape: int) -> Array:
    return RANDOM.integers(0, high, shape)


def _moves() -> Iterator[Case]:
    yield Case("gather rows 50257x768 by 128", "Y = Gather(X0, X1)", [_floats(50257, 768), _indices(50257, 1, 128)])
    yield Case("gather elements 64x1000 by 64x100", "Y = GatherElements<axis=1>(X0, X1)",
               [_floats(64, 1000), _indices(1000, 64, 100)])  # fmt: skip
    yield Case("gather_nd 32x128x64 by 1000x2", "Y = GatherND(X0, X1)", [_floats(32, 128, 64), _indices(32, 1000, 2)])
    yield Case("scatter_nd 1000x64 by 128", "Y = ScatterND(X0, X1, X2)",
               [_floats(1000, 64), _indices(1000, 128, 1), _floats(128, 64)])  # fmt: skip
    yield Case("scatter_nd add 64x64x64 by 500", 'Y = ScatterND<reduction="add">(X0, X1, X2)',
               [_floats(64, 64, 64), _indices(64, 500, 3), _floats(500)])  # fmt: skip
    yield Case("scatter_elements 64x1000 by 64x100", "Y = ScatterElements<axis=1>(X0, X1, X2)",
               [_floats(64, 1000), _indices(1000, 64, 100), _floats(64, 100)])  # fmt: skip
    yield Case("one_hot 128 of 1000", "Y = OneHot(X0, W0, W1)", [_indices(1000, 128)],
               [np.array(1000), np.array([0, 1], np.float32)])  # fmt: skip
    yield Case("tile 64x64 by 8x8", "Y = Tile(X0, W0)", [_floats(64, 64)], [np.array([8, 8])])
    yield Case("expand 1x64x1 to 64x64x64", "Y = Expand(X0, W0)", [_floats(1, 64, 1)], [np.array([64, 64, 64])])
    yield Case("slice step 2", "Y = Slice(X0, W0, W1, W2, W3)", [_floats(64, 112, 112)],
               [np.array([0, 0]), np.array([112, 112]), np.array([1, 2]), np.array([2, 2])])  # fmt: skip
    yield Case("depth_to_space 64x56x56", "Y = DepthToSpace<blocksize=2>(X0)", [_floats(1, 64, 56, 56)])
    yield Case("space_to_depth 64x56x56", "Y = SpaceToDepth<blocksize=2>(X0)", [_floats(1, 64, 56, 56)])
    yield Case("pad reflect 64x56x56", 'Y = Pad<mode="reflect">(X0, W0)', [_floats(1, 64, 56, 56)],
               [np.array([0, 0, 1, 1, 0, 0, 1, 1])])  # fmt: skip
    yield Case("reverse_sequence 64x32x64", "Y = ReverseSequence<time_axis=0, batch_axis=1>(X0, X1)",
               [_floats(64, 32, 64), _indices(64, 32)])  # fmt: skip


def _sorts() -> Iterator[Case]:
    for n in (1000, 10000, 100000):
        for k in (5, 100):
            yield Case(f"topk {k} of {n}", "Y, Z = TopK(X0, W0)", [_floats(1, n)], [np.array([k])], ("Y", "Z"))
    yield Case("topk 5 of 128x1000", "Y, Z = TopK(X0, W0)", [_floats(128, 1000)], [np.array([5])], ("Y", "Z"))
    yield Case("topk 500 of 16x1000", "Y, Z = TopK(X0, W0)", [_floats(16, 1000)], [np.array([500])], ("Y", "Z"))


def _images() -> Iterator[Case]:
    modes = {
        "nearest": 'mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"',
        "linear": 'mode="linear"',
        "cubic": 'mode="cubic"',
    }
    for name, attributes in modes.items():
        for what, scale in (("2x", 2.0), ("0.5x", 0.5)):
            yield Case(f"resize {name} {what} 64x56x56", f"Y = Resize<{attributes}>(X0, , W0)",
                       [_floats(1, 64, 56, 56)], [np.array([1, 1, scale, scale], np.float32)])  # fmt: skip
    yield Case("resize linear 3x480x640 to 224x224", 'Y = Resize<mode="linear">(X0, , , W0)', [_floats(1, 3, 480, 640)],
               [np.array([1, 3, 224, 224])])  # fmt: skip
    grid = RANDOM.uniform(-1, 1, (1, 56, 56, 2)).astype(np.float32)
    yield Case("grid_sample 64x56x56", "Y = GridSample(X0, X1)", [_floats(1, 64, 56, 56), grid])
    corners = np.sort(RANDOM.uniform(0, 800, (100, 2, 2)), axis=1).reshape(100, 4).astype(np.float32)
    align = "Y = RoiAlign<output_height=7, output_width=7, sampling_ratio=2, spatial_scale=0.0625>(X0, X1, X2)"
    yield Case("roi_align 100 of 256x50x50", align, [_floats(1, 256, 50, 50), corners, np.zeros(100, np.int64)])


def _signals() -> Iterator[Case]:
    yield Case("stft 16000 by 400/160", "Y = STFT(X0, W0, W1)", [_floats(1, 16000, 1)],
               [np.array(160), np.hanning(400).astype(np.float32)])  # fmt: skip
    yield Case("dft 64x512", "Y = DFT(X0)", [_floats(64, 512, 2)])


def _seconds(call: Any, count: int) -> float:
    start = thread_time()
    for _ in range(count):
        call()
    return (thread_time() - start) / count


def _row(case: Case) -> None:
    model = case.model()
    options = RUNTIME.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = RUNTIME.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    compiled = whence.compile(model, threads=1)
    feeds = {f"X{i}": x for i, x in enumerate(case.inputs)}
    pair = (lambda: compiled(*case.inputs), lambda: session.run(None, feeds))
    found, wanted = pair[0](), pair[1]()
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=2e-3)
    counts = [max(1, int(SAMPLE_SECONDS / max(1e-7, _seconds(call, 2)))) for call in pair]
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(SAMPLES):
        for call, count, times in zip(pair, counts, samples, strict=True):
            times.append(_seconds(call, count))
    ours, theirs = map(median, samples)
    print(f"{case.name:42}{ours * 1e6:10.1f}{theirs * 1e6:10.1f}{ours / theirs:8.2f}", flush=True)


def main(words: Sequence[str]) -> None:
    print(f"{'':42}{'us':>10}{'ort us':>10}{'ratio':>8}")
    for family in (_moves, _sorts, _images, _signals):
        for case in family():
            if not words or any(word in case.name for word in words):
                _row(case)


if __name__ == "__main__":
    main(sys.argv[1:])
