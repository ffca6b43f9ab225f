# pyright: basic, reportMissingImports=false
"""Functions and loaded models of TensorFlow go where files go. Needs TensorFlow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import relay
from whence.support.errors import FrontendError

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
tf: Any = pytest.importorskip("tensorflow")

rng = np.random.default_rng(0)


def reals(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


class Layers(tf.Module):
    """Two functions of variables, one of which changes, and of a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable(reals(3, 2), name="weight")
        self.calls = tf.Variable(0.0, name="calls")
        self.table = tf.constant(reals(400, 2))

    @tf.function(input_signature=[tf.TensorSpec((None, 3), name="x"), tf.TensorSpec((None,), tf.int32, name="rows")])
    def both(self, x: Any, rows: Any) -> Any:
        self.calls.assign_add(1.0)
        return {"y": x @ self.weight + tf.gather(self.table, rows), "calls": self.calls.read_value()}

    @tf.function
    def pair(self, x: Any) -> Any:
        return tf.nn.relu(x @ self.weight), tf.shape(x)[0]


def check(executable: whence.Executable, layers: Layers) -> None:
    x, rows = reals(5, 3), np.array([3, 0, 1, 1, 2], np.int32)
    expected = x @ layers.weight.numpy() + layers.table.numpy()[rows]
    for count in (1, 2):
        results = executable.run({"x": x, "rows": rows})
        np.testing.assert_allclose(np.asarray(results["y"]), expected, rtol=1e-5, atol=1e-6)
        assert results["calls"] == count


def test_a_function_with_variables_and_a_tensor():
    layers = Layers()
    check(whence.compile(layers.both), layers)
    concrete = layers.both.get_concrete_function()
    executable = whence.compile(concrete)
    check(executable, layers)
    assert {"matmul", "AssignAddVariableOp"} <= set(executable.layers)
    assert layers.calls.numpy() == 0
    layers.weight.assign(layers.weight * 2.0)
    check(whence.compile(concrete), layers)


def test_outputs_without_names():
    layers, x = Layers(), reals(4, 3)
    concrete = layers.pair.get_concrete_function(tf.TensorSpec((4, 3), name="x"))
    results = whence.compile(concrete).run({"x": x})
    np.testing.assert_allclose(np.asarray(results["output_0"]), np.maximum(x @ layers.weight.numpy(), 0), rtol=1e-5)
    assert results["output_1"] == 4


def test_a_loaded_model(tmp_path: Path):
    layers = Layers()
    tf.saved_model.save(layers, str(tmp_path), signatures={"first": layers.both, "serving_default": layers.both})
    loaded = tf.saved_model.load(str(tmp_path))
    check(whence.compile(loaded), layers)
    check(whence.compile(loaded, signature="first"), layers)
    with pytest.raises(FrontendError, match="expected a signature among first, serving_default, got 'second'"):
        whence.compile(loaded, signature="second")


def test_a_graph_def():
    graph = tf.Graph()
    with graph.as_default():
        tf.nn.relu(tf.compat.v1.placeholder(tf.float32, (2, 3), name="x"), name="y")
    x = reals(2, 3)
    executable = whence.compile(graph.as_graph_def())
    np.testing.assert_array_equal(np.asarray(executable(x)), np.maximum(x, 0))
    module, _ = relay.frontend.from_tensorflow(graph.as_graph_def())
    assert "nn.relu" in str(module)


@pytest.mark.parametrize("kind", ["module", "function", "tensor"])
def test_what_is_no_model_is_refused(kind: str):
    source = {"module": Layers, "function": lambda: Layers().pair, "tensor": lambda: tf.constant(1.0)}[kind]()
    with pytest.raises(FrontendError, match=r"expected a concrete function.*get_concrete_function\(\.\.\)"):
        whence.compile(source)


def test_nodes_stand_at_the_lines_that_made_them(tmp_path: Path):
    layers = Layers()
    options = tf.saved_model.SaveOptions(save_debug_info=True)
    tf.saved_model.save(layers, str(tmp_path), signatures=layers.both, options=options)
    executable = whence.compile(tmp_path)
    executable.run({"x": reals(2, 3), "rows": np.array([0, 1], np.int32)})
    line = Layers.both.python_function.__code__.co_firstlineno + 2
    for layer, at in (("AssignAddVariableOp", line), ("matmul", line + 1), ("GatherV2", line + 1)):
        assert f"{__file__}:{at}" in str(executable.where(layer)).splitlines()[0]
