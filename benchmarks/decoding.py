"""A decoder with a growing cache, one token per step.

    python benchmarks/decoding.py [layers=4] [steps=64] [past=32] [cpu=1]

A GPT-2 of that many layers (768 wide, 12 heads) with random weights runs step after step: in one program for all sizes,
in onnxruntime, and, for the cache of the last step, in a program for these sizes. All take turns in one process on one
thread; ratios are those of medians of seconds per step, with cpu=1 of the thread's own, where others keep the machine
busy. The first step of a size includes what a new size costs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from statistics import median
from typing import Any, cast

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import whence

ort: Any = import_module("onnxruntime")
WIDTH, HEADS, WORDS, PLACES = 768, 12, 8192, 1024
RNG = np.random.default_rng(0)


class Builder:
    """Nodes and weights of a model."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, *shape: int) -> str:
        values: Any = cast(Any, RNG.standard_normal(shape, np.float32)) * np.float32(0.03)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def number(self, value: Any, dtype: type = np.int64) -> str:
        name = f"number{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(cast(Any, np.array(value, dtype)), name))
        return name

    def node(self, op: str, inputs: list[str], name: str, outputs: int = 1, **attributes: Any) -> Any:
        results = [name if not i else f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, results, name=name, **attributes))
        return results[0] if outputs == 1 else results

    def norm(self, x: str, name: str) -> str:
        scale = self.weight(f"{name}.scale", WIDTH)
        return self.node("LayerNormalization", [x, scale, self.weight(f"{name}.bias", WIDTH)], name)

    def linear(self, x: str, name: str, rows: int, columns: int) -> str:
        product = self.node("MatMul", [x, self.weight(f"{name}.weight", rows, columns)], f"{name}.product")
        return self.node("Add", [product, self.weight(f"{name}.bias", columns)], name)


def decoder(layers: int) -> onnx.ModelProto:
    """ids [batch, seq] and per layer a cache [batch, 12, past, 64] of keys and of values -> logits, longer caches."""
    b, head = Builder(), WIDTH // HEADS
    zero, one, axis0, axis1 = b.number(0), b.number(1), b.number([0]), b.number([1])
    seq = b.node("Gather", [b.node("Shape", ["ids"], "shape_ids"), one], "seq")
    past = b.node("Gather", [b.node("Shape", ["keys0"], "shape_keys"), b.number(2)], "past")
    total = b.node("Add", [past, seq], "total")
    rows = b.node("Range", [past, total, one], "rows")
    columns = b.node("Range", [zero, total, one], "columns")
    across = b.node("Unsqueeze", [columns, axis0], "across")
    seen = b.node("LessOrEqual", [across, b.node("Unsqueeze", [rows, axis1], "down")], "seen")
    words = b.node("Gather", [b.weight("words", WORDS, WIDTH), "ids"], "embed")
    x = b.node("Add", [words, b.node("Gather", [b.weight("places", PLACES, WIDTH), rows], "place")], "embedded")
    apart, joined = b.number([0, 0, HEADS, head]), b.number([0, 0, WIDTH])
    far, scale = b.number(-1e9, np.float32), b.number(head**-0.5, np.float32)
    caches: list[str] = []
    for i in range(layers):
        n = f"layer{i}."
        fused = b.linear(b.node("Identity", [b.norm(x, f"{n}norm1")], f"{n}in"), f"{n}qkv", WIDTH, 3 * WIDTH)
        parts = b.node("Split", [fused], f"{n}split", 3, axis=-1, num_outputs=3)
        q, k, v = (
            b.node(
                "Transpose", [b.node("Reshape", [part, apart], f"{part}.heads")], f"{part}.turned", perm=[0, 2, 1, 3]
            )
            for part in parts
        )
        k = b.node("Concat", [f"keys{i}", k], f"new_keys{i}", axis=2)
        v = b.node("Concat", [f"values{i}", v], f"new_values{i}", axis=2)
        caches += [k, v]
        turned = b.node("Transpose", [k], f"{n}kt", perm=[0, 1, 3, 2])
        scores = b.node("Mul", [b.node("MatMul", [q, turned], f"{n}scores"), scale], f"{n}scaled")
        odds = b.node("Softmax", [b.node("Where", [seen, scores, far], f"{n}masked")], f"{n}odds", axis=-1)
        mixed = b.node("Transpose", [b.node("MatMul", [odds, v], f"{n}mixed")], f"{n}back", perm=[0, 2, 1, 3])
        x = b.node(
            "Add", [x, b.linear(b.node("Reshape", [mixed, joined], f"{n}join"), f"{n}out", WIDTH, WIDTH)], f"{n}a"
        )
        wide = b.linear(b.norm(x, f"{n}norm2"), f"{n}up", WIDTH, 4 * WIDTH)
        bent = b.node(
            "Mul",
            [wide, b.node("Sigmoid", [b.node("Mul", [wide, b.number(1.702, np.float32)], f"{n}s")], f"{n}g")],
            f"{n}gelu",
        )
        x = b.node("Add", [x, b.linear(bent, f"{n}down", 4 * WIDTH, WIDTH)], f"{n}b")
    b.node("MatMul", [b.norm(x, "norm"), b.weight("head", WIDTH, WORDS)], "logits")
    value = helper.make_tensor_value_info
    cache = ["batch", HEADS, "past", head]
    inputs = [value("ids", TensorProto.INT64, ["batch", "seq"])]
    inputs += [value(f"{kind}{i}", TensorProto.FLOAT, cache) for i in range(layers) for kind in ("keys", "values")]
    outputs = [value(name, TensorProto.FLOAT, None) for name in ("logits", *caches)]
    graph = helper.make_graph(b.nodes, "gpt2", inputs, outputs, b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def timed(call: Callable[[], Iterable[Any]]) -> tuple[float, list[Any]]:
    """Seconds, and what there is then."""
    clock = time.thread_time if "cpu=1" in sys.argv else time.perf_counter
    start = clock()
    found = list(call())
    return clock() - start, found


def main(*options: str) -> None:
    given = {name: int(number) for name, _, number in (option.partition("=") for option in options)}
    layers, steps, first = given.get("layers", 4), given.get("steps", 64), given.get("past", 32)
    model = decoder(layers)
    symbolic = whence.compile(model, tier="symbolic", threads=1)
    setting = ort.SessionOptions()
    setting.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), setting, providers=["CPUExecutionProvider"])

    def ours(executable: whence.Executable, inputs: dict[str, Any]) -> tuple[float, list[Any]]:
        return timed(lambda: executable.run(inputs).values())

    def theirs(inputs: dict[str, Any]) -> tuple[float, list[Any]]:
        return timed(lambda: session.run(None, inputs))

    names = [f"{kind}{i}" for i in range(layers) for kind in ("keys", "values")]
    start: dict[str, Any] = {name: np.zeros((1, HEADS, 0, WIDTH // HEADS), np.float32) for name in names}
    _, (_, *caches) = ours(symbolic, {"ids": RNG.integers(0, WORDS, (1, first)), **start})
    inputs: dict[str, Any] = {}
    mine: list[float] = []
    again: list[float] = []
    other: list[float] = []
    worst = 0.0
    for _ in range(steps):
        inputs = {"ids": RNG.integers(0, WORDS, (1, 1)), **dict(zip(names, caches, strict=True))}
        took, found = ours(symbolic, inputs)
        mine.append(took)
        took, expected = theirs(inputs)
        other.append(took)
        again.append(ours(symbolic, inputs)[0])
        worst = max(worst, *(float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True)))
        caches = found[1:]
    print(f"{steps} steps of {layers} layers from {first} tokens on, at most {worst:.1e} from onnxruntime")
    a, b, c = median(mine), median(other), median(again)
    print(f"{a * 1e3:.3f} ms a step, each of a new size, {b * 1e3:.3f} ms in onnxruntime: {a / b:.2f}x")
    print(f"{(a - c) * 1e3:.3f} ms of it more than a second call takes")
    static = whence.compile(model, input_shapes={name: value.shape for name, value in inputs.items()}, threads=1)
    times: tuple[list[float], list[float]] = [], []
    for _ in range(steps):
        for kept, executable in zip(times, (symbolic, static), strict=True):
            kept.append(ours(executable, inputs)[0])
    a, b = map(median, times)
    print(f"{a * 1e3:.3f} ms for all sizes, {b * 1e3:.3f} ms for these: {a / b:.2f}x")


if __name__ == "__main__":
    main(*sys.argv[1:])
