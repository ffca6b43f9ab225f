"""A tiny model file, and the tools called in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from whence.cli import main as whence_command
from whence.cli import opt


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]


def _tool(main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]) -> Tool:
    def run(*words: object) -> Done:
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Done(code, str(captured.out), str(captured.err))

    return run


@pytest.fixture
def whence_opt(capsys: pytest.CaptureFixture[str]) -> Tool:
    return _tool(opt.main, capsys)


@pytest.fixture
def whence(capsys: pytest.CaptureFixture[str]) -> Tool:
    return _tool(whence_command.main, capsys)


@pytest.fixture(scope="session")
def weights() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    rng = np.random.default_rng(9)
    return {"w": rng.standard_normal((16, 32), np.float32), "b": rng.standard_normal(16, np.float32)}


@pytest.fixture(scope="session")
def tiny(
    tmp_path_factory: pytest.TempPathFactory, weights: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]
) -> Path:
    """relu(x @ w.T + b), by a Gemm called `dense` and a Relu called `act`."""
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["d"], name="dense", transB=1),
            helper.make_node("Relu", ["d"], ["y"], name="act"),
        ],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 16])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path_factory.mktemp("models") / "tiny.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    path.write_bytes(model.SerializeToString())
    return path
