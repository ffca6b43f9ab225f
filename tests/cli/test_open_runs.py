"""Models of open sizes on the command line: memory in numbers of the run, and missing sizes named early."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import whence as library

_OPEN = """
<ir_version: 8, opset_import: ["": 18]>
net (float[batch, seq, 4] x) => (float[batch, seq, 4] y) {
    a = Softmax <axis = 1> (x)
    b = Exp (a)
    y = Softmax <axis = 1> (b)
}
"""


@pytest.fixture(params=["onnx", "tar"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A model of open sizes, or what was compiled of it, and inputs beside it."""
    (path := tmp_path / "net.onnx").write_bytes(onnx.parser.parse_model(_OPEN).SerializeToString())
    np.savez(tmp_path / "x.npz", x=np.ones((2, 30, 4), np.float32))
    if request.param == "tar":
        library.compile(path).export_library(path := tmp_path / "net.tar")
    return path


def test_a_run_tells_the_memory_of_its_sizes(whence: Any, model: Path):
    text = whence("run", model, "--inputs", model.parent / "x.npz").out
    (line,) = [line for line in text.splitlines() if line.startswith("memory")]
    assert line.startswith("memory for batch = 2, seq = 30: workspace ")
    assert line.endswith(f"inputs and outputs {2 * 2 * 30 * 4 * 4}, constants 0")
    data = json.loads(whence("run", model, "--inputs", model.parent / "x.npz", "--json").out)
    assert data["sizes"] == {"batch": 2, "seq": 30}
    assert data["memory"]["io_bytes"] == 2 * 2 * 30 * 4 * 4
    assert 0 < data["memory"]["peak_bytes"] <= data["memory"]["workspace_bytes"]


def test_without_a_run_memory_is_formulas():
    memory = library.compile(onnx.parser.parse_model(_OPEN)).memory
    assert "inputs, outputs  32*batch*seq" in str(memory)
    assert "-" not in str(memory)


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [
        ("batch=1", "--sizes: expected a number for each of batch, seq, got batch: seq is missing"),
        ("batch=1,Seq=2", "got batch, Seq: seq is missing; unknown Seq (did you mean seq?)"),
    ],
)
def test_a_missing_size_is_named_before_anything_is_compiled(whence: Any, tmp_path: Path, sizes: str, complaint: str):
    (path := tmp_path / "net.onnx").write_bytes(onnx.parser.parse_model(_OPEN).SerializeToString())
    for command in ("memory", "debug", "profile"):
        done = whence(command, path, "--sizes", sizes)
        assert (done.code, done.out) == (1, "")
        assert complaint in done.err
        assert "compiling" not in done.err
