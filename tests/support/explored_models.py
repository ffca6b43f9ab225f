"""Small and large models that the Explorer is tried with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Array: TypeAlias = npt.NDArray[np.generic]


def twins() -> ModelProto:
    """Two equal convolutions with batch norm and relu, a dropout between them, and a bias made by ConstantOfShape."""
    rng = np.random.default_rng(5)
    nodes = [helper.make_node("ConstantOfShape", ["extent"], ["bias"], name="bias_maker")]
    arrays: dict[str, Array] = {"extent": np.array([16], np.int64)}
    value = "x"
    for index in (1, 2):
        arrays[f"w{index}"] = rng.standard_normal((16, 16, 3, 3)).astype(np.float32)
        for part in ("scale", "shift", "mean"):
            arrays[f"{part}{index}"] = rng.standard_normal(16).astype(np.float32)
        arrays[f"var{index}"] = rng.uniform(0.5, 1.5, 16).astype(np.float32)
        nodes.append(
            helper.make_node("Conv", [value, f"w{index}", "bias"], [f"c{index}"], name=f"conv{index}", pads=[1] * 4)
        )
        statistics = [f"{part}{index}" for part in ("scale", "shift", "mean", "var")]
        nodes.append(
            helper.make_node("BatchNormalization", [f"c{index}", *statistics], [f"b{index}"], name=f"bn{index}")
        )
        nodes.append(helper.make_node("Relu", [f"b{index}"], [f"r{index}"], name=f"relu{index}"))
        value = f"r{index}"
        if index == 1:
            nodes.append(helper.make_node("Dropout", [value], ["d"], name="dropout"))
            value = "d"
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["y"], name="pool"))
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 1, 1])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def bert(layers: int = 12, tokens: int = 128, width: int = 768, heads: int = 12) -> ModelProto:
    """A BERT from the sum of its embeddings on, by default BERT-base; its layers share their weights."""
    inner = 4 * width
    rng = np.random.default_rng(1)
    arrays: dict[str, Array] = {
        **{f"w{name}": _random(rng, width, width) for name in "qkvo"},
        "wi": _random(rng, width, inner),
        "wu": _random(rng, inner, width),
        **{f"b{name}": _random(rng, width) for name in "qkvou"},
        "bi": _random(rng, inner),
        "gamma": np.ones(width, np.float32),
        "beta": np.zeros(width, np.float32),
        "split": np.array([1, tokens, heads, width // heads], np.int64),
        "joined": np.array([1, tokens, width], np.int64),
        "scale": np.array((width / heads) ** -0.5, np.float32),
        "half": np.array(0.5, np.float32),
        "one": np.array(1, np.float32),
        "root": np.array(0.5**0.5, np.float32),
    }
    graph = _Graph()
    value = "x"
    for layer in range(layers):
        graph.scope = f"encoder/layer.{layer}"
        parts = {
            name: graph.add(
                "Transpose",
                graph.add("Reshape", graph.dense(value, name, "attention/self"), "split"),
                perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3],
            )
            for name in "qkv"
        }
        scores = graph.add("Softmax", graph.add("Mul", graph.add("MatMul", parts["q"], parts["k"]), "scale"), axis=-1)
        mixed = graph.add("Transpose", graph.add("MatMul", scores, parts["v"]), perm=[0, 2, 1, 3])
        attended = graph.dense(graph.add("Reshape", mixed, "joined"), "o", "attention/output")
        value = graph.add("LayerNormalization", graph.add("Add", value, attended), "gamma", "beta", axis=-1)
        wide = graph.dense(value, "i", "intermediate")
        gate = graph.add("Add", graph.add("Erf", graph.add("Mul", wide, "root")), "one")
        active = graph.add("Mul", graph.add("Mul", wide, gate), "half")
        total = graph.add("Add", value, graph.dense(active, "u", "output"))
        value = graph.add("LayerNormalization", total, "gamma", "beta", axis=-1)
    return graph.model(value, [1, tokens, width], [1, tokens, width], arrays)


def blocks(nodes: int = 3000) -> ModelProto:
    """A graph of that many nodes: residual blocks of a convolution, a relu and an addition."""
    rng = np.random.default_rng(2)
    graph = _Graph()
    value = "x"
    for block in range(nodes // 3):
        graph.scope = f"stage{block // 100}/block{block % 100}"
        value = graph.add("Add", value, graph.add("Relu", graph.add("Conv", value, "w")))
    return graph.model(value, [1, 16, 8, 8], [1, 16, 8, 8], {"w": _random(rng, 16, 16, 1, 1)})


class _Graph:
    """An ONNX graph while it is made."""

    def __init__(self):
        self.nodes: list[object] = []
        self.scope = ""

    def add(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"{self.scope}/{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))  # type: ignore[reportArgumentType]
        return name

    def dense(self, value: str, name: str, scope: str) -> str:
        outer, self.scope = self.scope, f"{self.scope}/{scope}"
        result = self.add("Add", self.add("MatMul", value, f"w{name}"), f"b{name}")
        self.scope = outer
        return result

    def model(self, output: str, before: Sequence[int], after: Sequence[int], arrays: dict[str, Array]) -> ModelProto:
        graph = helper.make_graph(
            cast("list[NodeProto]", self.nodes),
            "small",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, before)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, after)],
            [numpy_helper.from_array(array, name) for name, array in arrays.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _random(rng: np.random.Generator, *shape: int) -> npt.NDArray[np.float32]:
    return rng.standard_normal(shape, np.float32) / np.float32(shape[0] ** 0.5)
