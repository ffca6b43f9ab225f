"""`whence debug`, `bisect` and `profile`."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from tflite_builder import Net

from whence.compiler.load import load
from whence.explorer.litert import layer_tensors, litert_tensors
from whence.explorer.reference import numpy_tensors
from whence.explorer.report import WIDTH, table
from whence.lowering.llvm_to_native.sampler import can_sample
from whence.runtime.debugger.table import Row, debug_table, layer_table
from whence.runtime.values.params import save_param_dict_to_file


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]
Weights = dict[str, npt.NDArray[Any]]


@pytest.fixture
def x(tmp_path: Path) -> npt.NDArray[np.float32]:
    x = np.random.default_rng(3).standard_normal((2, 32), np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    return x


def test_debug_prints_the_table(whence: Tool, tiny: Path, tmp_path: Path):
    done = whence("debug", tiny, "--number", 1, "--dump-root", tmp_path / "dumps", "--times")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].split()[:2] == ["Node", "Name"]
    assert "Start Time" in lines[0]
    assert lines[0].rstrip().endswith("Layers")
    assert lines[-1].startswith("Total_time")
    assert sorted(path.name for path in (tmp_path / "dumps/_tvmdbg_device_CPU_0").iterdir()) == [
        "_tvmdbg_execution_trace.json",
        "_tvmdbg_graph_dump.json",
        "output_tensors.layers.json",
        "output_tensors.params",
    ]
    assert json.loads(whence("debug", tiny, "--json").out)["calls"]


def test_debug_shows_and_saves_the_tensor_of_a_layer(
    whence: Tool, tiny: Path, tmp_path: Path, x: npt.NDArray[np.float32], weights: Weights
):
    given = ("debug", tiny, "--input", tmp_path / "x.npz")
    done = whence(*given, "--watch", "act", "-o", tmp_path / "o.npz")
    assert done.out.startswith("act: float32[2, 16], 0 to ")
    expected = x @ weights["w"].T + weights["b"]
    np.testing.assert_allclose(np.load(tmp_path / "o.npz")["act"], np.maximum(expected, 0), rtol=1e-4)
    done = whence(*given, "--watch", "dense")
    assert done.code == 1
    assert "layer 'dense', got none" in done.err
    assert whence(*given, "--watch", "dense", "--no-fuse", "-o", tmp_path / "o.npz").code == 0
    np.testing.assert_allclose(np.load(tmp_path / "o.npz")["dense"], expected, rtol=1e-4)


_OPEN = """
<ir_version: 8, opset_import: ["": 17]>
net (float[N, 4] x) => (float[N, 4] y) {
    [act] r = Relu (x)
    [prob] y = Softmax <axis = 1> (r)
}
"""


def test_open_sizes_are_looked_into_at_some(whence: Tool, tmp_path: Path):
    (path := tmp_path / "open.onnx").write_bytes(onnx.parser.parse_model(_OPEN).SerializeToString())
    np.savez(tmp_path / "x.npz", x=(x := np.random.default_rng(0).standard_normal((3, 4), np.float32)))
    for words in (("--sizes", "N=3"), ("--input", tmp_path / "x.npz")):
        done = whence("debug", path, *words)
        assert done.code == 0, done.err
        assert "(3, 4)" in done.out
    out = tmp_path / "out.npz"
    assert whence("debug", path, "--input", tmp_path / "x.npz", "--watch", "prob", "-o", out).code == 0
    powers = np.exp(np.maximum(x, 0))
    np.testing.assert_allclose(np.load(out)["prob"], powers / powers.sum(1, keepdims=True), rtol=1e-5)
    done = whence("debug", path, "--compare", "--sizes", "N=3", "--seed", 1)
    assert (done.code, "no departure" in done.out) == (0, True), done.err
    assert "no departure" in whence("debug", path, "--compare", "--input", tmp_path / "x.npz").out
    for command in (("where", "--all"), ("where", "--layer", "prob"), ("why",), ("why", "--kernel", 0)):
        assert re.search(r"\d\.\d\d\d( ms| +)", whence(command[0], path, *command[1:], "--times", "--sizes", "N=3").out)
    assert whence("profile", path, "--seconds", 0.05, "--sizes", "N=3").out.splitlines()[0].split()[:2] == [
        "ms",
        "share",
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("debug",), r"debug: expected sizes of the inputs \(--sizes N=1\), got float32\[N, 4\] 'x'"),
        (("profile",), r"profile: expected sizes of the inputs \(--sizes N=1\)"),
        (("where", "--times"), r"--times: expected sizes of the inputs"),
        (("where", "--layer", "prob", "--sizes", "N=1"), "--sizes: expected --times beside it, got none"),
        (("debug", "--sizes", "N=1", "--input", "x.npz"), "--sizes: expected no --input beside it, got both"),
        (
            ("debug", "--sizes", "M=1"),
            "--sizes: expected a number for each of N, got M: N is missing; unknown M$",
        ),
        (("debug", "--sizes", "N"), "--sizes: expected text such as batch=1,seq=128, got 'N'"),
        (
            ("debug", "--sizes", "N=1", "--input-shapes", "x:[1,4]"),
            "expected a program for all sizes, got one of fixed",
        ),
    ],
)
def test_sizes_that_will_not_do(whence: Tool, tmp_path: Path, words: tuple[str, ...], complaint: str):
    (path := tmp_path / "open.onnx").write_bytes(onnx.parser.parse_model(_OPEN).SerializeToString())
    done = whence(words[0], path, *words[1:])
    assert (done.code, done.out) == (1, "")
    assert re.search(complaint, done.err)


def test_debug_puts_a_tensor_in(whence: Tool, tiny: Path, tmp_path: Path):
    mine = np.linspace(-1, 1, 32, dtype=np.float32).reshape(2, 16)
    np.save(tmp_path / "mine.npy", mine)
    given = ("debug", tiny, "--no-fuse", "--inject", f"dense={tmp_path / 'mine.npy'}")
    assert whence(*given, "--watch", "act", "-o", tmp_path / "o.npz").code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o.npz")["act"], np.maximum(mine, 0))
    assert "--inject: expected NAME=FILE, got 'dense'" in whence("debug", tiny, "--inject", "dense").err


def test_debug_finds_nan(whence: Tool, tiny: Path, tmp_path: Path):
    assert whence("debug", tiny, "--nan").out == "all numbers are finite\n"
    np.savez(tmp_path / "x.npz", x=np.full((2, 32), np.nan, np.float32))
    done = whence("debug", tiny, "--nan", "-i", tmp_path / "x.npz")
    assert done.code == 1
    assert done.out.startswith("NaN in output 0 of node 0 'x'")


def test_debug_compares(whence: Tool, tiny: Path, tmp_path: Path, x: npt.NDArray[np.float32], weights: Weights):
    done = whence("debug", tiny, "--seed", 1, "--compare")
    assert done.code == 0
    assert "no departure" in done.out
    y = np.maximum(x @ weights["w"].T + weights["b"], 0)
    np.savez(tmp_path / "y.npz", act=2 * y)
    done = whence("debug", tiny, "-i", tmp_path / "x.npz", "--compare", tmp_path / "y.npz")
    assert done.code == 1
    assert "first departure: layer act" in done.out
    done = whence("debug", tiny, "-i", tmp_path / "x.npz", "--compare", tmp_path / "y.npz", "--json")
    assert not json.loads(done.out)["tensors"][0]["right"]


def test_debug_by_hand(whence: Tool, tiny: Path, monkeypatch: pytest.MonkeyPatch):
    commands = "print act\nbreak act\ncontinue\nprint act\nprint dense\nnan\nrestart\nn\nwhat\nquit\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(commands))
    out = whence("debug", tiny, "--step").out
    answers = out.split("(whence) ")
    assert "act has not run" in answers[1]
    assert "will stop after act" in answers[2]
    assert "layers dense, act" in answers[3]
    assert answers[4].startswith("act: float32[2, 16]")
    assert "error: debugger: expected a tensor of layer 'dense'" in answers[5]
    assert "all numbers are finite" in answers[6]
    assert "layers dense, act" in answers[8]
    assert "unknown command 'what'" in answers[9]


def test_bisect(whence: Tool, tiny: Path, tmp_path: Path, x: npt.NDArray[np.float32], weights: Weights):
    assert whence("bisect", tiny, "--seed", 1).out.endswith("no pass departs\nreference: onnxruntime\n")
    y = np.maximum(x @ weights["w"].T + weights["b"], 0)
    np.savez(tmp_path / "y.npz", y=y + 1)
    done = whence("bisect", tiny, "-i", tmp_path / "x.npz", "--ref", tmp_path / "y.npz", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["pass"], found["passes"][0]["right"]) == ("import", False)
    assert found["passes"][0]["absolute"] == pytest.approx(1, rel=1e-3)


@pytest.mark.skipif(not can_sample(), reason="no sampler for this system")
def test_profile(whence: Tool, tiny: Path, tmp_path: Path):
    files = [tmp_path / name for name in ("stacks.txt", "trace.json", "nodes.json")]
    options = ("--folded", files[0], "--chrome-trace", files[1], "--node-data", files[2])
    done = whence("profile", tiny, "--seconds", 0.05, *options)
    assert done.code == 0, done.err
    assert "samples of the program counter" in done.out
    assert json.loads(files[1].read_text())["traceEvents"]
    assert all("tvmgen" in name for name in json.loads(files[2].read_text())["main"]["results"])
    data = json.loads(whence("profile", tiny, "--seconds", 0.05, "--json").out)
    assert sum(one["seconds"] for one in data["layers"]) == pytest.approx(sum(one["seconds"] for one in data["calls"]))
    name = data["calls"][0]["call"]
    text = whence("profile", tiny, "--seconds", 0.05, "--kernel", name).out
    assert text.splitlines()[3].split()[:3] == ["line", "time", "layers"]
    assert "ret" in whence("profile", tiny, "--seconds", 0.05, "--kernel", name, "--asm").out
    assert "--asm: expected --kernel" in whence("profile", tiny, "--asm").err


def test_debug_answers_programs(whence: Tool, tiny: Path, tmp_path: Path):
    (told,) = json.loads(whence("debug", tiny, "--watch", "act", "--json").out)
    assert (told["name"], told["shape"], told["dtype"]) == ("act", [2, 16], "float32")
    (given,) = json.loads(whence("debug", tiny, "--watch", "x", "--fill-mode", "ones", "--json").out)
    assert (given["least"], given["mean"]) == (1, 1)
    assert json.loads(whence("debug", tiny, "--nan", "--json").out) == {"found": None}
    np.savez(tmp_path / "x.npz", x=np.full((2, 32), np.inf, np.float32))
    found = json.loads(whence("debug", tiny, "--nan", "--json", "-i", tmp_path / "x.npz").out)["found"]
    assert (found["kind"], found["count"], found["index"]) == ("Inf", 64, [0, 0])
    times = json.loads(whence("debug", tiny, "--layers", "--json", "--number", 1).out)["microseconds"]
    assert set(times) == {"dense", "act"}


def test_a_params_file_is_a_reference(whence: Tool, tiny: Path, tmp_path: Path, weights: Weights):
    x = np.ones((2, 32), np.float32)
    y = np.maximum(x @ weights["w"].T + weights["b"], 0)
    save_param_dict_to_file({"y": y}, tmp_path / "y.params")
    given = ("debug", tiny, "--fill-mode", "ones", "--compare", tmp_path / "y.params")
    assert "no departure in 1 tensor" in whence(*given).out
    save_param_dict_to_file({"y": y + 1}, tmp_path / "y.params")
    assert "first departure: layer act" in whence(*given).out


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """tanh(x + c), as a TFLite model."""
    net = Net()
    x = net.input("x", (2, 3))
    c = net.const("c", np.linspace(-1, 1, 3, dtype=np.float32))
    total, tanh = net.tensor("total", (2, 3)), net.tensor("net/tanh", (2, 3))
    net.op("ADD", [x, c], [total], "AddOptions")
    net.op("TANH", [total], [tanh])
    path = tmp_path / "rows.tflite"
    path.write_bytes(net.build([tanh]))
    return path


def test_tflite_is_held_against_litert(whence: Tool, rows: Path, monkeypatch: pytest.MonkeyPatch):
    x = np.random.default_rng(0).standard_normal((2, 3), np.float32)
    total = x + np.linspace(-1, 1, 3, dtype=np.float32)
    found: Any = litert_tensors(rows, {"x": x})
    np.testing.assert_allclose(found["total"], total, rtol=1e-6)
    np.testing.assert_allclose(found["net/tanh"], np.tanh(total), rtol=1e-5)
    assert layer_tensors(rows) == {"total": ("total",), "net/tanh": ("net/tanh",)}
    data = json.loads(whence("debug", rows, "--seed", 0, "--no-fuse", "--compare", "--json").out)
    assert [one["tensor"] for one in data["tensors"]] == ["total", "net/tanh"]
    assert max(one["absolute"] for one in data["tensors"]) < 1e-5
    done = whence("bisect", rows, "--seed", 0)
    assert done.out.endswith("no pass departs\nreference: LiteRT\n"), done.err
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    done = whence("bisect", rows)
    assert (done.code, done.out) == (1, "")
    assert "reference: expected ai-edge-litert to be installed, or a file of tensors, got none" in done.err


TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = add(%x, 1f) /* span=up:0:0 */;
  %1 = tanh(%0) /* span=twice:1:0 */;
  tanh(%1) /* span=twice:2:0 */
}
"""


def test_relay_text_is_held_against_numpy(whence: Tool, tmp_path: Path):
    path = tmp_path / "net.relay"
    path.write_text(TEXT)
    data = json.loads(whence("debug", path, "--seed", 0, "--no-fuse", "--compare", "--json").out)
    assert data["reference"].startswith("numpy")
    assert [(one["tensor"], one["right"]) for one in data["tensors"]] == [
        ("up", True),
        ("twice:1:0", True),
        ("twice:2:0", True),
    ]
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(numpy_tensors(load(path), [x])["up"], x + 1)
    done = whence("bisect", path, "--seed", 0)
    assert done.out.endswith("no pass departs\nreference: numpy, of the module as it was imported\n"), done.err


def test_a_table_fits_a_terminal():
    rows = [("net/very/long/name/of/a/layer/MatMul", 1.5, "ok", "net/very/long/name/of/a/layer/MatMul")]
    assert len(table(rows)) == 2 + 36 + 2 + 5 + 2 + 2 + 2 + 36
    token = WIDTH.set(50)
    try:
        assert table(rows) == "  net/very../MatMul  1.500  ok  net/very../MatMul"
        name = rows[0][0]
        told = layer_table({name: 1.0}, {}, 60).splitlines()
        assert (len(told[2]), told[2].split()[1:]) == (60, ["1.0", "100.0", "-"])
        assert told[2].startswith("net/very/lo..ayer/MatMul")
        lines = debug_table([Row(name, name, (1e-6,), (1,), 1, 1, (name,))], layers=True, width=130).splitlines()
        assert {len(line) for line in lines} == {130}
    finally:
        WIDTH.reset(token)
