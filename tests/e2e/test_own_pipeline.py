"""Compiling with a pipeline of one's own."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import whence
from whence.passes.relay.fuse_ops import FuseOpsPass
from whence.reading.pipeline_text import PipelineTextError
from whence.support.errors import PipelineError


def _model() -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="relu1"),
        helper.make_node("Neg", ["a"], ["y"], name="neg1"),
    ]
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(helper.make_graph(nodes, "graph", [x], [y]), opset_imports=opset)


def test_the_passes_of_the_pipeline_run_and_no_others():
    executable = whence.compile(_model(), pipeline="relay-simplify-expr,relay-fuse-ops{max-depth=1}", snapshots=True)
    stages = [stage.stage for stage in executable.artifact.passes if not stage.kernel]
    assert stages == ["input", "relay-simplify-expr", "relay-fuse-ops"]
    assert len(executable.artifact.calls) == 2
    (y,) = executable.run({"x": np.array([-1, 0, 1, 2], np.float32)}).values()
    np.testing.assert_array_equal(y, np.array([0, 0, -1, -2], np.float32))
    assert len(whence.compile(_model(), pipeline=[FuseOpsPass()]).artifact.calls) == 1


def test_a_pipeline_for_an_external_compiler():
    text = "relay-annotate-target{targets=onnxruntime},relay-merge-compiler-regions,relay-partition-graph,"
    executable = whence.compile(_model(), target="onnxruntime, native", pipeline=f"{text}relay-fuse-ops")
    (y,) = executable.run({"x": np.array([-1, 0, 1, 2], np.float32)}).values()
    np.testing.assert_array_equal(y, np.array([0, 0, -1, -2], np.float32))
    names = [call.name for call in executable.artifact.calls]
    assert names
    assert all(name.startswith("tvmgen_default_onnxruntime_main_") for name in names)


def test_errors_say_where_in_the_text_they_are_and_which_layer_has_no_kernel():
    with pytest.raises(
        PipelineTextError, match=r"column 16: unknown pass 'relay-fuse-op' .did you mean relay-fuse-ops"
    ):
        whence.compile(_model(), pipeline="relay-legalize,relay-fuse-op")
    with pytest.raises(PipelineError, match=r"expected constants and calls in @main, got relay.nn.relu .layer 'relu1'"):
        whence.compile(_model(), pipeline="relay-legalize")
