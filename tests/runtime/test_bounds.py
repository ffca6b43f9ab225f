"""Models built with bound checkers: wrong indices end a run with an error that names layer and buffer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import whence
from whence import te
from whence.lowering.relay_to_te import transform
from whence.runtime.program import executor
from whence.support.context import PassContext
from whence.support.errors import WhenceError

CHECKED = {"tir.instrument_bound_checkers": True}


def model(path: Path) -> str:
    """y = relu(x[indices]) + 1, the indices given."""
    nodes = [
        helper.make_node("Gather", ["x", "indices"], ["g"], name="rows", axis=0),
        helper.make_node("Relu", ["g"], ["r"], name="relu1"),
        helper.make_node("Add", ["r", "one"], ["y"], name="add1"),
    ]
    graph = helper.make_graph(
        nodes,
        "gather",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 4]),
            helper.make_tensor_value_info("indices", TensorProto.INT64, [3]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    file = path / "gather.onnx"
    file.write_bytes(made.SerializeToString())
    return str(file)


@pytest.fixture
def unclipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gathers go where their indices say, and no kernel comes from the cache."""

    def given(index: te.Expr, extent: int) -> te.Expr:
        return index

    def unseen(*_: object) -> None:
        """What looks at indices before the run."""

    monkeypatch.setattr(transform, "_clipped", given)
    monkeypatch.setattr(executor, "check_indices", unseen)
    monkeypatch.setenv("WHENCE_CACHE_DIR", "")


X = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.mark.usefixtures("unclipped")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_wrong_index_is_an_error_that_names_the_layer(tmp_path: Path, threads: int):
    with PassContext(config=CHECKED):
        executable = whence.compile(model(tmp_path), threads=threads)
    assert executable.artifact.program.checked
    right = np.array([0, 7, -1])
    expected = np.maximum(X[right], 0) + 1
    np.testing.assert_array_equal(executable(X, right), expected)
    with pytest.raises(WhenceError) as caught:
        executable(X, np.array([0, 8, 3]))
    text = str(caught.value)
    assert "expected an index inside dimension 0 of buffer 'p1', got 8 (layer 'rows', " in text
    assert text.endswith("gather.onnx node 0)")
    # The next run starts anew.
    np.testing.assert_array_equal(executable(X, right), expected)


def test_what_is_clipped_needs_no_check(tmp_path: Path):
    with PassContext(config=CHECKED):
        assert not whence.compile(model(tmp_path)).artifact.program.checked


@pytest.mark.usefixtures("unclipped")
def test_off_unless_asked_for(tmp_path: Path):
    assert not whence.compile(model(tmp_path)).artifact.program.checked
