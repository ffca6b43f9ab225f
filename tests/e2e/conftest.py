"""The networks that onnx ships, and a small one of our own."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from random_weights import randomize_weights
from reference_runtime import onnxruntime_outputs

from whence.executables.sized import SizedExecutable

Array = NDArray[Any]
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def _ramp(shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape))
    return (np.arange(size).reshape(shape) / size).astype(np.float32)


HEADS = {"bvlc_alexnet": "r15", "densenet121": "r135"}
"""Of networks that repeat what they are made of: up to which tensor they are looked at, past the first repetition.

Of alexnet all but products of 4096 features, whose weights are nine tenths of the work; resnet50 ends with such a one.
"""


def head(model: ModelProto, last: str) -> ModelProto:
    """The part of a model that ends with a tensor."""
    graph = model.graph
    count = next(index for index, node in enumerate(graph.node) if last in node.output) + 1
    wanted = {last}
    kept: list[NodeProto] = []
    for node in reversed(graph.node[:count]):
        if not wanted.isdisjoint(node.output):
            kept.append(node)
            wanted.update(node.input)
    copy = ModelProto()
    copy.CopyFrom(model)
    for field, found in (
        ("node", kept[::-1]),
        ("input", [value for value in graph.input if value.name in wanted]),
        ("initializer", [tensor for tensor in graph.initializer if tensor.name in wanted]),
        ("output", [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)]),
    ):
        copy.graph.ClearField(field)
        getattr(copy.graph, field).extend(found)
    return copy


class Zoo:
    """The light networks: real graphs, whose weights are all one value."""

    def path(self, name: str) -> Path:
        return LIGHT / f"light_{name}.onnx"

    @cache  # noqa: B019 (one zoo per session)
    def model(self, name: str) -> ModelProto:
        return cast(Any, onnx).load(self.path(name))

    @lru_cache(maxsize=1)  # noqa: B019
    def random(self, name: str) -> ModelProto:
        """The network with random weights, or its head; some are large, so only the last one is kept."""
        model = self.model(name)
        return randomize_weights(head(model, HEADS[name]) if name in HEADS else model, seed=1)

    def input(self, name: str) -> tuple[str, Array]:
        """The name of the input, and 0 to 1 in steps, as the shipped outputs were made with."""
        graph = self.model(name).graph
        (value,) = {v.name: v for v in graph.input if v.name not in {t.name for t in graph.initializer}}.values()
        return value.name, _ramp(tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim))

    def shipped_output(self, name: str) -> Array:
        tensor = TensorProto()
        tensor.ParseFromString((LIGHT / f"light_{name}_output_0.pb").read_bytes())
        return numpy_helper.to_array(tensor)


def _small_network(seed: int = 0) -> ModelProto:
    """Convolution, batch norm, relu; a residual; pooling, a classifier with softmax. Input `x`, output `y`."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, Array] = {
        "w1": rng.standard_normal((16, 3, 3, 3)) * 0.3,
        "w2": rng.standard_normal((16, 16, 3, 3)) * 0.1,
        "b2": rng.standard_normal(16) * 0.1,
        "scale": rng.uniform(0.5, 1.5, 16),
        "shift": rng.standard_normal(16) * 0.1,
        "mean": rng.standard_normal(16) * 0.1,
        "var": rng.uniform(0.5, 1.5, 16),
        "w3": rng.standard_normal((10, 16)) * 0.5,
        "b3": rng.standard_normal(10) * 0.1,
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["conv1"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["conv1", "scale", "shift", "mean", "var"], ["bn1"], name="bn1"),
        helper.make_node("Relu", ["bn1"], ["relu1"], name="relu1"),
        helper.make_node("Conv", ["relu1", "w2", "b2"], ["conv2"], name="conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["conv2", "relu1"], ["add"], name="add"),
        helper.make_node("Relu", ["add"], ["relu2"], name="relu2"),
        helper.make_node("GlobalAveragePool", ["relu2"], ["pool"], name="pool"),
        helper.make_node("Flatten", ["pool"], ["flat"], name="flatten"),
        helper.make_node("Gemm", ["flat", "w3", "b3"], ["fc"], name="fc", transB=1),
        helper.make_node("Softmax", ["fc"], ["y"], name="prob", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 9, 7])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="session")
def zoo() -> Zoo:
    return Zoo()


@pytest.fixture
def onnxruntime() -> Any:
    """onnxruntime on one thread: its outputs for a model and inputs by name."""
    return onnxruntime_outputs


@pytest.fixture
def small_network() -> ModelProto:
    return _small_network()


@pytest.fixture
def no_programs_beside_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has nobody compile programs for sizes that are met often: a test that waits for none leaves them to the next."""

    def nothing(_self: SizedExecutable, _state: object) -> None:
        pass

    monkeypatch.setattr(SizedExecutable, "_work", nothing)
