"""The weights that a process holds after a compilation: those of the program, and no others beside them."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import whence
from whence.dialects.relay.constants import ConstantPool, pool_of
from whence.planning.artifact import Artifact
from whence.runtime.values.tensors import address
from whence.support.dtypes import Array
from whence.support.errors import FrontendError

MODEL = """<ir_version: 8, opset_import: ["": 18]>
graph (float[1, 32, 9, 9] x) => (float[1, 64, 7, 7] y) { [conv] y = Conv (x, w) }"""


@pytest.fixture
def model() -> onnx.ModelProto:
    model = onnx.parser.parse_model(MODEL)
    weights = np.random.default_rng(0).standard_normal((64, 32, 3, 3)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    return model


def held(pool: ConstantPool) -> list[Array]:
    """The arrays that a pool has in memory."""
    return [array for array in gc.get_referents(vars(pool)["_arrays"]) if isinstance(array, np.ndarray)]


def pooled(artifact: Artifact) -> list[tuple[int, ...]]:
    """The shapes of the constants of a model."""
    return [array.shape for array in held(pool_of(artifact.snapshots[0].module))]


def test_weights_of_a_file_make_room_for_what_is_made_of_them(model: onnx.ModelProto) -> None:
    artifact = whence.compile(model).artifact
    (packed,) = artifact.params
    assert packed.shape != (64, 32, 3, 3)
    assert pooled(artifact) == [packed.shape]
    pool = pool_of(artifact.snapshots[0].module)
    assert [address(array) for array in held(pool)] == [address(packed)]


def test_weights_that_were_let_go_of_are_read_once_more(model: onnx.ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    data = np.random.default_rng(1).standard_normal((1, 32, 9, 9)).astype(np.float32)
    compiled = whence.compile(path)
    again = whence.compile(compiled.artifact.snapshots[0].module)
    assert np.array_equal(again(data), compiled(data))


def test_weights_of_another_file_are_not_taken(model: onnx.ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    module = whence.compile(path).artifact.snapshots[0].module
    model.graph.name = "another"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(FrontendError, match="expected the weights that were compiled, got another file"):
        whence.compile(module)
    path.unlink()
    with pytest.raises(FrontendError, match="expected the weights that were compiled"):
        whence.compile(module)


def test_weights_of_a_module_stay(model: onnx.ModelProto) -> None:
    module = whence.load(model)
    before = {key: pool_of(module)[key] for key in pool_of(module)}
    whence.compile(module)
    assert before.keys() == {"w"}
    assert np.array_equal(pool_of(module)["w"], before["w"])


def test_weights_stay_where_every_module_is_kept(model: onnx.ModelProto) -> None:
    assert (64, 32, 3, 3) in pooled(whence.compile(model, snapshots=True).artifact)
