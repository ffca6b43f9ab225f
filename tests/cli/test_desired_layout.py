"""`--desired-layout`: a model computes in another layout than it is written in, and the answers are the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]


@pytest.fixture
def model(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two convolutions and a pool, an input, and what onnx says."""
    rng = np.random.default_rng(4)
    weights = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in (("v", (4, 3, 3, 3)), ("b", (4,)), ("w", (2, 4, 1, 1)))
    }
    nodes = [
        helper.make_node("Conv", ["x", "v", "b"], ["first"], "first", pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["first"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["pool", "w"], ["y"], "second"),
    ]
    ends = (
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 6, 6))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 2, 3, 3))],
    )
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    opsets = [helper.make_opsetid("", 17)]
    built = helper.make_model(helper.make_graph(nodes, "net", *ends, initializers), ir_version=8, opset_imports=opsets)
    (tmp_path / "net.onnx").write_bytes(built.SerializeToString())
    x = rng.standard_normal((1, 3, 6, 6)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    (y,) = cast(Any, ReferenceEvaluator(built)).run(None, {"x": x})
    np.savez(tmp_path / "y.npz", y=y)
    return tmp_path / "net.onnx", tmp_path / "x.npz", tmp_path / "y.npz"


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("ops", [[], ["--desired-layout-ops", "nn.max_pool2d", "nn.conv2d"]])
def test_answers_are_the_same(whence: Tool, model: tuple[Path, Path, Path], level: int, ops: list[str]):
    path, given, expected = model
    options = ["--input", given, "--check", expected, "--opt-level", level]
    done = whence("run", path, *options, "--desired-layout", "NHWC", *ops)
    assert done.code == 0, done.err
    assert "(ok)" in done.out


def test_the_layer_that_asked_for_a_transform_is_told(whence: Tool, model: tuple[Path, Path, Path]):
    plain = whence("where", model[0], "--opt-level", 0, "--all").out
    done = whence("where", model[0], "--opt-level", 0, "--all", "--desired-layout", "NHWC")
    assert done.code == 0, done.err
    assert "layout_transform" in done.out
    assert "layout_transform" not in plain


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--desired-layout-ops", "nn.conv2d"], "expected --desired-layout beside it, got none"),
        (["--desired-layout", "NCWH"], "invalid choice: 'NCWH'"),
        (["--desired-layout", "NHWC", "--desired-layout-ops", "nn.dense"], "an operator that takes layouts"),
    ],
)
def test_bad_options(whence: Tool, model: tuple[Path, Path, Path], options: list[str], text: str):
    done = whence("run", model[0], *options)
    assert done.code == 1
    assert text in done.err


def test_a_precision_is_an_option(whence: Tool, model: tuple[Path, Path, Path]) -> None:
    path, given, expected = model
    done = whence("run", path, "--input", given, "--check", expected, "--precision", "f32")
    assert done.code == 0, done.err
    done = whence("run", path, "--input", given, "--precision", "int4")
    assert done.code != 0
    assert "precision: expected f32, f16, bf16 or auto, got 'int4'" in done.err
