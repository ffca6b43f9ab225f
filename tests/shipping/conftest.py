"""A small model, built once, and exported in every form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

import whence
from whence import relay
from whence.relay.build_module import GraphExecutorFactoryModule

Array = NDArray[Any]


def net() -> onnx.ModelProto:
    """relu(conv(x)) of 8 channels, flattened, and a dense layer; every layer has a name."""
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 13]>
    net (float[1, 3, 32, 32] x) => (float[1, 5] y, float[1, 8, 32, 32] a) {
        [conv] c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)
        [act] a = Relu (c)
        [pool] p = GlobalAveragePool (a)
        [flat] f = Flatten (p)
        [dense] y = Gemm <transB = 1> (f, v, b)
    }""")
    rng = np.random.default_rng(0)
    for name, shape in (("w", (8, 3, 3, 3)), ("v", (5, 8)), ("b", (5,))):
        model.graph.initializer.append(numpy_helper.from_array(rng.standard_normal(shape, np.float32), name))
    return model


def expected(model: onnx.ModelProto, x: Array) -> tuple[Array, Array]:
    """What numpy makes of it."""
    w, v, b = (numpy_helper.to_array(one) for one in model.graph.initializer)
    padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    a = np.maximum(np.einsum("chwij,ocij->ohw", windows, w), 0)
    return (a.mean((1, 2)) @ v.T + b)[None], a[None]


@pytest.fixture(scope="session")
def model() -> onnx.ModelProto:
    return net()


@pytest.fixture(scope="session")
def image() -> Array:
    return np.random.default_rng(1).standard_normal((1, 3, 32, 32), np.float32)


@pytest.fixture(scope="session")
def lib(model: onnx.ModelProto) -> GraphExecutorFactoryModule:
    with whence.PassContext(opt_level=3):
        return relay.build(whence.load(model), "llvm")


@pytest.fixture(scope="session")
def files(lib: GraphExecutorFactoryModule, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Suffix -> the exported file."""
    folder = tmp_path_factory.mktemp("exported")
    return {kind: Path(lib.export_library(folder / f"net.{kind}")) for kind in ("tar", "so", "o")}


@pytest.fixture(scope="session")
def reference(model: onnx.ModelProto, image: Array) -> dict[str, Array]:
    """The outputs by name."""
    return dict(zip(("y", "a"), expected(model, image), strict=True))
