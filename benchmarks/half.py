"""Products of float16, bfloat16 and 4-bit weights beside onnxruntime and OpenVINO, all on one thread.

    python benchmarks/half.py [WORD ...]

Prints a row for each case whose name contains one of the words (all of them without): milliseconds of the processor for
a call, GFLOP/s of ours, and theirs / ours, so that more than 1 is faster. Models say float16 or float32; ours computes
in the dtype of the case, OpenVINO in its own choice for a model of halves, and onnxruntime as it does. `f32` is ours on
the same model in float32. A peer that cannot run a model has a dash. Of weights of 4 bits, data are float32 at level 0,
and may be rounded to int8 at level 4.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from statistics import geometric_mean, median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

import whence

TURNS = 15
SECONDS = 0.02
"""The least time of a turn."""
Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[[], object]


class Case(NamedTuple):
    name: str
    op: str
    data: tuple[int, ...]
    weight: tuple[int, ...]
    """(k, n) of a product, (o, i, h, w) of a convolution."""
    precision: str
    """What ours multiplies: f16, bf16, or 4 for bits of weights."""
    block: int = 32
    level: int = 0
    """The accuracy level of a product with weights of 4 bits, which have a scale for each block of a row."""

    @property
    def work(self) -> float:
        """Floating point operations, in 1e9."""
        if self.op == "Conv":
            outputs, depth, *window = self.weight
            return 2e-9 * outputs * depth * np.prod(window) * np.prod(self.data[2:])
        return 2e-9 * self.data[0] * np.prod(self.weight)

    def build(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        rng, make = np.random.default_rng(0), _maker()
        dtype = np.dtype(np.float32 if self.precision == "4" else np.float16)
        attributes: dict[str, Any] = {}
        names, domain, op = ["x", "w"], "", self.op
        weights: dict[str, Array] = {"w": (rng.standard_normal(self.weight) / 16).astype(dtype)}
        if self.precision == "4":
            depth, columns = self.weight
            domain, op, names = "com.microsoft", "MatMulNBits", ["x", "w", "s"]
            weights["w"] = rng.integers(0, 256, (columns, depth // self.block, self.block // 2)).astype(np.uint8)
            weights["s"] = (rng.random(columns * depth // self.block) / 99).astype(np.float32)
            attributes = {"K": depth, "N": columns, "bits": 4, "block_size": self.block, "accuracy_level": self.level}
        elif self.op == "Conv":
            attributes = {"pads": [side // 2 for side in self.weight[2:]] * 2}
        node = make.make_node(op, names, ["y"], "product", domain=domain, **attributes)
        type_ = helper.np_dtype_to_tensor_dtype(dtype)
        ends = [[make.make_tensor_value_info(name, type_, shape)] for name, shape in (("x", self.data), ("y", None))]
        arrays = [numpy_helper.from_array(array, name) for name, array in weights.items()]
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = make.make_model(make.make_graph([node], "half", *ends, arrays), ir_version=9, opset_imports=opsets)
        return model, {"x": rng.standard_normal(self.data).astype(dtype)}


def _maker() -> Any:
    return helper


def cases() -> Iterator[Case]:
    for precision in ("f16", "bf16"):
        for m, k, n in ((1, 4096, 4096), (128, 768, 3072), (197, 1536, 384), (512, 1024, 1024)):
            yield Case(f"gemm {m}x{k}x{n} {precision}", "MatMul", (m, k), (k, n), precision)
        for channels, side, outputs, window in (
            (64, 56, 64, 3),
            (256, 14, 256, 3),
            (256, 56, 64, 1),
            (512, 7, 2048, 1),
        ):
            name = f"conv {channels}x{side}x{side} {window}x{window} to {outputs} {precision}"
            weight = (outputs, channels, window, window)
            yield Case(name, "Conv", (1, channels, side, side), weight, precision)
    for (k, n), m, block, level in product(((896, 4864), (4096, 4096), (4096, 11008)), (1, 8, 128), (32, 128), (0, 4)):
        name = f"gemm {m}x{k}x{n} 4-bit block {block} level {level}"
        yield Case(name, "MatMul", (m, k), (k, n), "4", block, level)


def ours(model: onnx.ModelProto, feeds: dict[str, Array], precision: str | None) -> Run:
    chosen: Any = precision
    compiled = whence.compile(model, threads=1, precision=chosen)
    return lambda: compiled.run(feeds)


def onnxruntime(model: onnx.ModelProto, feeds: dict[str, Array]) -> Run:
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def openvino(model: onnx.ModelProto, feeds: dict[str, Array]) -> Run:
    runtime: Any = import_module("openvino")
    core = runtime.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(core.read_model(model.SerializeToString()), "CPU", settings).create_infer_request()
    return lambda: request.infer(feeds, share_inputs=True, share_outputs=True)


def timed(runs: dict[str, Run]) -> dict[str, float]:
    """Median seconds of the processor for a call of each, which take turns."""
    counts: dict[str, int] = {}
    for label, run in runs.items():
        run()
        start = process_time()
        run()
        counts[label] = max(1, int(SECONDS / max(process_time() - start, 1e-6)))
    times: dict[str, list[float]] = {label: [] for label in runs}
    for _ in range(TURNS):
        for label, run in runs.items():
            start = process_time()
            for _ in range(counts[label]):
                run()
            times[label].append((process_time() - start) / counts[label])
    return {label: median(values) for label, values in times.items()}


def main() -> None:
    words = sys.argv[1:]
    ratios: dict[str, list[float]] = {}
    print(f"{'':44}{'ours':>9}{'GF/s':>7}{'f32':>9}{'ort':>9}{'ov':>9}{'ort/':>7}{'ov/':>7}")
    for case in cases():
        if words and not any(word in case.name for word in words):
            continue
        model, feeds = case.build()
        four = case.precision == "4"
        runs = {"ours": ours(model, feeds, None if four else case.precision)}
        if not four:
            runs["f32"] = ours(model, feeds, "f32")
        for peer in (onnxruntime,) if four else (onnxruntime, openvino):
            try:
                runs[peer.__name__] = peer(model, feeds)
                runs[peer.__name__]()
            except Exception as error:
                print(f"  {peer.__name__}: {str(error).splitlines()[0][:90]}", file=sys.stderr)
                runs.pop(peer.__name__, None)
        times = timed(runs)
        columns = [times.get(label) for label in ("f32", "onnxruntime", "openvino")]
        shown = "".join(f"{1e3 * t:9.3f}" if t else f"{'-':>9}" for t in columns)
        compared = [times[peer] / times["ours"] if peer in times else None for peer in ("onnxruntime", "openvino")]
        shown += "".join(f"{ratio:7.2f}" if ratio else f"{'-':>7}" for ratio in compared)
        print(f"{case.name:44}{1e3 * times['ours']:9.3f}{case.work / times['ours']:7.0f}{shown}", flush=True)
        if measured := [ratio for ratio in compared if ratio]:
            kind = f"4-bit level {case.level}" if four else case.precision
            ratios.setdefault(kind, []).append(min(measured))
    for kind, values in ratios.items():
        print(f"{kind:13} best peer / ours {geometric_mean(values):.2f}, least {min(values):.2f}")


if __name__ == "__main__":
    main()
