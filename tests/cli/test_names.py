"""Names out of a model steer no terminal: every command shows what is in them escaped."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

EVIL = "a\x1b[31m\nb\u202ec\x9b\r"
SAFE = r"a\x1b[31m\nb\u202ec\x9b\r"
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]


@pytest.fixture(scope="session")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """relu(dropout(x @ w.T)), with control characters in the names of its layers, weight, output, graph and file."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 13]> g (float[4,8] x) => (float[4,6] y) '
        "{h = Gemm <transB = 1> (x, w) d = Dropout(h) y = Relu(d)}"
    )
    graph = model.graph
    for kind, node in zip(("dense", "drop", "act"), graph.node, strict=True):
        node.name = f"{EVIL}.{kind}"
    graph.name = EVIL
    graph.node[0].input[1] = f"{EVIL}w"
    graph.node[2].output[0] = graph.output[0].name = f"{EVIL}y"
    weight = np.random.default_rng(1).standard_normal((6, 8)).astype(np.float32)
    graph.initializer.append(numpy_helper.from_array(weight, f"{EVIL}w"))
    path = tmp_path_factory.mktemp("evil") / "e\x1b[1m.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "--profile"], f"{SAFE}.act"),
        (["why"], f"{SAFE}.act"),
        (["why", "--kernel", "0", "--times"], f"{SAFE}.dense"),
        (["why", "--kernel", "0", "--line", "2"], f"serves {SAFE}."),
        (["where"], f"{SAFE}.drop"),
        (["where", "--all", "--times"], f"{SAFE}.drop"),
        (["where", "--layer", f"{EVIL}.dense"], f"layer {SAFE}.dense (Gemm, e\\x1b[1m.onnx:0)"),
        (["where", "--layer", f"{EVIL}.drop"], "nn.dropout removed"),
        (["tir", "--kernel", "0"], f"{SAFE}.dense"),
    ],
)
def test_commands_show_names_escaped(whence: Tool, evil: Path, words: list[str], told: str):
    done = whence(words[0], evil, *words[1:])
    assert done.code == 0, done.err
    assert told in done.out
    assert not _STEERS.search(done.out + done.err)
    assert not re.search(r"^b", done.out, re.MULTILINE)


def test_errors_show_names_escaped(whence: Tool, evil: Path, tmp_path: Path):
    done = whence("where", evil, "--layer", f"{EVIL}.nope")
    assert (done.code, done.err.count("\nwhence: error:")) == (1, 1)
    assert SAFE in done.err
    np.savez(tmp_path / "y.npz", y=np.zeros((4, 6), np.float32))
    done = whence("run", evil, "--check", tmp_path / "y.npz")
    assert f"checked {SAFE}y: max error" in done.out
    assert not _STEERS.search(done.out + done.err)


@pytest.mark.parametrize(
    "words", [["-t", "asm"], ["-t", "llvm"], ["--audit", "-p", "relay-simplify-inference", "--print-debuginfo"]]
)
def test_listings_show_names_escaped(whence_opt: Tool, evil: Path, words: list[str]):
    done = whence_opt(evil, *words)
    assert done.code == 0, done.err
    assert not _STEERS.search(done.out + done.err)


def test_assembly_names_layers(whence_opt: Tool, evil: Path):
    assert "# a\\x1b[31m\\nb\\u202ec\\x9b\\r.dense | " in whence_opt(evil, "-t", "asm").out
