"""A small model with all that the explorer has to tell apart: twins, folded nodes, dropped nodes, a shared kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import whence


@pytest.fixture(scope="session")
def source() -> ModelProto:
    """Two equal convolutions with batch norm and relu, a dropout between them, and a bias made by ConstantOfShape."""
    rng = np.random.default_rng(5)
    nodes = [helper.make_node("ConstantOfShape", ["extent"], ["bias"], name="bias_maker")]
    arrays: dict[str, npt.NDArray[Any]] = {"extent": np.array([16], np.int64)}
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


@pytest.fixture(scope="session")
def compiled(source: ModelProto) -> whence.Executable:
    return whence.compile(source)
