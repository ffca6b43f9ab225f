"""Models of decoders with growing caches, of random weights: a GPT-2, and a small model of the kind that laptops run.

Both take ids [batch, seq] and per layer a cache of keys and one of values, and return logits and longer caches.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

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


class Sizes(NamedTuple):
    """The sizes of a small model."""

    layers: int = 24
    width: int = 896
    heads: int = 14
    key_heads: int = 2
    head: int = 64
    hidden: int = 4864
    words: int = 32768
    places: int = 8192


BLOCK = 32
"""The numbers of a row of a weight that share a scale."""


class SmallBuilder(Builder):
    """Nodes and weights of 4 bits of a model."""

    def linear4(self, x: str, name: str, rows: int, columns: int) -> str:
        """A product with a weight of 4 bits a number."""
        blocks = rows // BLOCK
        packed = RNG.integers(0, 256, (columns, blocks, BLOCK // 2)).astype(np.uint8)
        scales = cast(Any, RNG.random((columns, blocks), np.float32)) * np.float32(0.2 * rows**-0.5)
        self.weights += [
            numpy_helper.from_array(packed, f"{name}.packed"),
            numpy_helper.from_array(scales, f"{name}.scales"),
        ]
        given = [x, f"{name}.packed", f"{name}.scales"]
        sizes = {"K": rows, "N": columns, "bits": 4, "block_size": BLOCK, "accuracy_level": 4}
        return self.node("MatMulNBits", given, name, domain="com.microsoft", **sizes)

    def rms(self, x: str, name: str, width: int) -> str:
        scale = np.ones(width, np.float32)
        self.weights.append(numpy_helper.from_array(scale, f"{name}.scale"))
        return self.node("SimplifiedLayerNormalization", [x, f"{name}.scale"], name, axis=-1, epsilon=1e-6)


def small_decoder(sizes: Sizes = Sizes(), grouped: bool = False) -> onnx.ModelProto:
    """A decoder of the kind of Qwen2-0.5B: weights of 4 bits, rotated positions, key heads that query heads share.

    grouped: with `GroupQueryAttention`, one operator that only onnxruntime has; else as exporters of PyTorch write it:
    the keys and values of a cache are repeated for the query heads that share them.
    """
    s, b = sizes, SmallBuilder()
    one, axis0, axis1 = b.number(1), b.number([0]), b.number([1])
    seq = b.node("Gather", [b.node("Shape", ["ids"], "shape_ids"), one], "seq")
    past = b.node("Gather", [b.node("Shape", ["keys0"], "shape_keys"), b.number(2)], "past")
    total = b.node("Add", [past, seq], "total")
    rows = b.node("Range", [past, total, one], "rows")
    columns = b.node("Range", [b.number(0), total, one], "columns")
    across = b.node("Unsqueeze", [columns, axis0], "across")
    seen = b.node("LessOrEqual", [across, b.node("Unsqueeze", [rows, axis1], "down")], "seen")
    angles = np.arange(s.places)[:, None] * 10000.0 ** (-np.arange(0, s.head, 2) / s.head)
    for name, table in (("cos", np.cos(angles)), ("sin", np.sin(angles))):
        b.weights.append(numpy_helper.from_array(table.astype(np.float32), name))
    places = b.node("Unsqueeze", [rows, axis0], "places")
    count32 = b.node("Cast", [total], "total32", to=TensorProto.INT32)
    last = b.node("Unsqueeze", [b.node("Sub", [count32, b.number(1, np.int32)], "last"), axis0], "lasts")
    far, scale = b.number(-1e9, np.float32), b.number(s.head**-0.5, np.float32)
    joined = b.number([0, 0, s.heads * s.head])
    group = s.heads // s.key_heads
    all_keys = b.number([0, s.heads, -1, s.head])
    fives = b.number([1, 1, group, 1, 1])
    x = b.node("Gather", [b.weight("words", s.words, s.width), "ids"], "embed")
    caches: list[str] = []
    for i in range(s.layers):
        n = f"layer{i}."
        y = b.rms(x, f"{n}norm1", s.width)
        q, k, v = (
            b.linear4(y, f"{n}{word}", s.width, heads * s.head)
            for word, heads in (("q", s.heads), ("k", s.key_heads), ("v", s.key_heads))
        )
        if grouped:
            given = [q, k, v, f"keys{i}", f"values{i}", last, count32, "cos", "sin"]
            outputs = [f"{n}mixed", f"new_keys{i}", f"new_values{i}"]
            b.nodes.append(
                helper.make_node(
                    "GroupQueryAttention", given, outputs, f"{n}attention", domain="com.microsoft",
                    num_heads=s.heads, kv_num_heads=s.key_heads, do_rotary=1,
                )
            )  # fmt: skip
            mixed = outputs[0]
            caches += outputs[1:]
        else:
            q, k, v = (
                b.node(
                    "Transpose", [b.node("Reshape", [part, b.number([0, 0, heads, s.head])], f"{part}.heads")],
                    f"{part}.turned", perm=[0, 2, 1, 3],
                )
                for part, heads in ((q, s.heads), (k, s.key_heads), (v, s.key_heads))
            )  # fmt: skip
            q, k = (
                b.node("RotaryEmbedding", [part, places, "cos", "sin"], f"{part}.rotated", domain="com.microsoft")
                for part in (q, k)
            )
            k = b.node("Concat", [f"keys{i}", k], f"new_keys{i}", axis=2)
            v = b.node("Concat", [f"values{i}", v], f"new_values{i}", axis=2)
            caches += [k, v]
            k, v = (
                b.node(
                    "Reshape",
                    [b.node("Expand", [b.node("Unsqueeze", [part, b.number([2])], f"{part}.five"), fives],
                            f"{part}.repeated"), all_keys],
                    f"{part}.all",
                )
                for part in (k, v)
            )  # fmt: skip
            turned = b.node("Transpose", [k], f"{n}kt", perm=[0, 1, 3, 2])
            scores = b.node("Mul", [b.node("MatMul", [q, turned], f"{n}scores"), scale], f"{n}scaled")
            odds = b.node("Softmax", [b.node("Where", [seen, scores, far], f"{n}masked")], f"{n}odds", axis=-1)
            mixed = b.node("Transpose", [b.node("MatMul", [odds, v], f"{n}mix")], f"{n}back", perm=[0, 2, 1, 3])
            mixed = b.node("Reshape", [mixed, joined], f"{n}join")
        x = b.node("Add", [x, b.linear4(mixed, f"{n}o", s.heads * s.head, s.width)], f"{n}a")
        y = b.rms(x, f"{n}norm2", s.width)
        gate, up = (b.linear4(y, f"{n}{word}", s.width, s.hidden) for word in ("gate", "up"))
        bent = b.node("Mul", [gate, b.node("Sigmoid", [gate], f"{n}sigmoid")], f"{n}silu")
        x = b.node("Add", [x, b.linear4(b.node("Mul", [bent, up], f"{n}act"), f"{n}down", s.hidden, s.width)], f"{n}b")
    b.nodes.append(
        helper.make_node("Identity", [b.linear4(b.rms(x, "norm", s.width), "head", s.width, s.words)], ["logits"])
    )
    value = helper.make_tensor_value_info
    cache = ["batch", s.key_heads, "past", s.head]
    inputs = [value("ids", TensorProto.INT64, ["batch", "seq"])]
    inputs += [value(f"{kind}{i}", TensorProto.FLOAT, cache) for i in range(s.layers) for kind in ("keys", "values")]
    longer = ["batch", s.key_heads, "total", s.head]
    outputs = [value("logits", TensorProto.FLOAT, ["batch", "seq", s.words])]
    outputs += [value(name, TensorProto.FLOAT, longer) for name in caches]
    graph = helper.make_graph(b.nodes, "small", inputs, outputs, b.weights)
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)
