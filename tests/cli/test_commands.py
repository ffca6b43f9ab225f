"""`whence compile`, `bench`, `graph`, `memory`, `completion`, and what commands share."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx.parser
import pytest

from whence.cli import answers
from whence.runtime import load_module
from whence.runtime.values.params import load_params

COMMANDS = ("compile", "run", "bench", "debug", "profile", "bisect", "why", "where", "tir", "graph", "memory")
_SVG = "{http://www.w3.org/2000/svg}"


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]


@pytest.fixture
def exported(whence: Tool, tiny: Path, tmp_path: Path) -> Path:
    """The tiny model as an archive."""
    assert whence("compile", tiny, "-o", tmp_path / "tiny.tar").code == 0
    return tmp_path / "tiny.tar"


def test_compile_writes_what_is_asked_for(whence: Tool, tiny: Path, tmp_path: Path):
    out, params, header = tmp_path / "a.tar", tmp_path / "a.params", tmp_path / "whence.h"
    words = (
        "--dump-code",
        "asm,ll,opt.ll,tir,relay",
        "--snapshot-dir",
        tmp_path / "passes",
        "--save-params",
        params,
        "--c-header",
        header,
        "--module-name",
        "net",
    )
    done = whence("compile", tiny, "-o", out, *words)
    assert done.code == 0, done.err
    assert done.out.startswith("tiny.onnx: 2 layers, 1 kernel call, 1 distinct kernel; compiled in ")
    written = re.findall(r"^wrote (.*) \((\d+) bytes\)$", done.out, re.MULTILINE)
    assert [(Path(path).stat().st_size) for path, _ in written] == [int(size) for _, size in written]
    texts = {kind: (tmp_path / f"a.tar.{kind}").read_text() for kind in ("asm", "ll", "opt.ll", "tir", "relay")}
    assert "def @main" in texts["relay"]
    assert "tir.prim_func" in texts["tir"]
    assert "define void @" in texts["ll"]
    assert "define void @" in texts["opt.ll"] != texts["ll"]
    assert ".loc" in texts["asm"]
    (input_,) = (tmp_path / "passes").glob("00-*.mlir")
    assert 'loc("act"("tiny.onnx":1:0))' in input_.read_text()
    assert len(list((tmp_path / "passes").glob("tvmgen_*/*-tir-vectorize.mlir"))) == 1
    assert "whence_run" in header.read_text()
    module = load_module(out)
    assert {name: array.tobytes() for name, array in load_params(params).items()} == {
        name: array.tobytes() for name, array in module.get_params().items()
    }
    assert "tvmgen_net_fused" in module.get_graph_json()
    assert module["net"]().get_num_outputs() == 1


def test_compile_as_json_and_without_parameters(whence: Tool, tiny: Path, tmp_path: Path):
    done = whence("compile", tiny, "-o", tmp_path / "b.so", "--no-params", "--json", "-O", 0)
    data = json.loads(done.out)
    assert data["files"] == [str(tmp_path / "b.so")]
    assert data["layers"] == 2
    assert data["memory"]["constant_bytes"] > 0
    assert not load_module(tmp_path / "b.so").get_params()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("-o", "x.zip"), r"-o x\.zip: expected a file in \.tar, \.so or \.o"),
        (("-o", "x.so", "-f", "tar"), r"-o x\.so: expected a file in \.tar"),
        (("--dump-code", "asm,c"), r"--dump-code: expected asm, ll, opt.ll, tir, relay, got c"),
        (("--pass-config", "tir.nothing=1"), r"Invalid config option 'tir\.nothing'"),
        (("--pass-config", "tir.disable_vectorize=7"), r"expected true or false, got '7'"),
        (("--pass-config", "tir.disable_vectorize"), r"expected NAME=VALUE"),
        (("--disabled-pass", "FuseOp"), r"expected names of passes, got 'FuseOp'"),
    ],
)
def test_bad_options_are_one_line(whence: Tool, tiny: Path, words: tuple[str, ...], complaint: str):
    done = whence("compile", tiny, *words)
    assert (done.code, done.out) == (1, "")
    assert re.fullmatch(rf"whence: error: .*{complaint}.*\n", done.err)


def test_switches_of_passes(whence: Tool, tiny: Path, tmp_path: Path):
    words = ("--pass-config", "tir.disable_vectorize=1", "--disabled-pass", "AlterOpLayout", "--print-pass-times")
    done = whence("compile", tiny, "-o", tmp_path / "c.tar", "--dump-code", "tir,relay", *words)
    assert done.code == 0, done.err
    assert re.search(r"^relay-simplify-inference: \d+us", done.err, re.MULTILINE)
    assert "relay-alter-op-layout" not in done.err
    assert "contrib_dense_pack" not in (tmp_path / "c.tar.relay").read_text()
    assert "vector<" not in (tmp_path / "c.tar.tir").read_text()


def test_an_exported_file_is_a_model(whence: Tool, tiny: Path, exported: Path, tmp_path: Path):
    for command in ("why", "where"):
        assert whence(command, exported).out == whence(command, tiny).out
    done = whence("run", exported, "--fill-mode", "ones", "-o", tmp_path / "y.npz", "--print-top", 2, "--json")
    data = json.loads(done.out)
    with np.load(tmp_path / "y.npz") as saved:
        y = saved["y"]
    assert data["top"]["y"][0] == [", ".join(map(str, np.argwhere(y == y.max())[0].tolist())), float(y.max())]
    assert {row["layer"] for row in data["layers"]} == {"dense", "act"}
    late = whence("run", exported, "--input-shapes", "x:[1,2]")
    assert "--input-shapes: expected a model that is not compiled yet" in late.err


def test_both_executors_give_the_same(whence: Tool, exported: Path, tmp_path: Path):
    found: list[Any] = []
    for executor in ("native", "graph"):
        path = tmp_path / f"{executor}.npz"
        assert whence("run", exported, "--seed", 3, "--executor", executor, "-o", path).code == 0
        with np.load(path) as saved:
            found.append(saved["y"])
    np.testing.assert_array_equal(*found)
    assert np.ptp(found[0]) > 0


def test_bench(whence: Tool, tiny: Path, exported: Path):
    for model in (tiny, exported):
        data = json.loads(whence("bench", model, "--repeat", 4, "--number", 2, "--json", "--threads", 1).out)
        assert len(data["seconds"]) == 4
        assert data["min"] <= data["median"] <= data["max"]
        assert data["threads"] == 1
    assert whence("bench", exported, "--end-to-end").out.startswith("Execution time summary:\n")
    assert (
        "number of runs" in whence("bench", exported, "--repeat", 0).err
        or whence("bench", exported, "--repeat", 0).code
    )


def test_graph_formats(whence: Tool, exported: Path, tmp_path: Path):
    graph = json.loads(whence("graph", exported).out)
    assert graph == json.loads(load_module(exported).get_graph_json())
    explorer = json.loads(whence("graph", exported, "--format", "model-explorer").out)
    (main,) = explorer["graphs"]
    assert [node["id"] for node in main["nodes"]] == [node["name"] for node in graph["nodes"]]
    edges = [
        (edge["sourceNodeId"], edge["sourceNodeOutputId"], node["id"], edge["targetNodeInputId"])
        for node in main["nodes"]
        for edge in node["incomingEdges"]
    ]
    names = [node["name"] for node in graph["nodes"]]
    assert edges == [
        (names[source], str(output), node["name"], str(place))
        for node in graph["nodes"]
        for place, (source, output, *_) in enumerate(node["inputs"])
    ]
    assert whence("graph", exported, "-o", tmp_path / "g.dot").code == 0
    assert whence("graph", exported, "-o", tmp_path / "g.svg").code == 0
    dot, svg = (tmp_path / "g.dot").read_text(), ElementTree.parse(tmp_path / "g.svg").getroot()
    assert re.search(r'n0 -> n\d+ \[label="float32\[2, 32\]"\]', dot)
    titles = [title.text or "" for title in svg.iter(f"{_SVG}title")]
    assert any("dense, act" in title or "act, dense" in title for title in titles)
    assert len(titles) == 3  # input, call and output, without parameters
    drawing = whence("graph", exported, "--params", "--format", "svg").out
    assert drawing.count("<title>") == len(graph["nodes"]) + len(graph["heads"])
    assert "expected a file in .json, .dot or .svg" in whence("graph", exported, "-o", "g.png").err


def test_memory_as_text_json_and_picture(whence: Tool, exported: Path, tmp_path: Path):
    done = whence("memory", exported, "--svg", tmp_path / "m.svg")
    assert done.code == 0, done.err
    assert re.search(rf"^inputs, outputs +{4 * (2 * 32 + 2 * 16)}  the caller's$", done.out, re.MULTILINE)
    data = json.loads(whence("memory", exported, "--json").out)
    layers = {row["layer"]: row for row in data["layers"]}
    assert sum(row["parameters"] for row in data["layers"]) == data["info"]["constant_bytes"]
    assert layers["act"]["parameters"] == 0
    assert layers["act"]["activations"] == 2 * 16 * 4
    assert ElementTree.parse(tmp_path / "m.svg").getroot().tag == f"{_SVG}svg"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(whence: Tool, command: str):
    done = whence(command, "--help")
    assert done.code == 0
    assert re.search(rf"^examples:\n  whence {command} ", done.out, re.MULTILINE)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(whence: Tool, shell: str):
    text = whence("completion", shell).out
    for word in (*COMMANDS, "light_resnet50", "dump-code"):
        assert word in text


def test_bash_completes(whence: Tool, tmp_path: Path):
    script = tmp_path / "complete"
    script.write_text(whence("completion", "bash").out)

    def complete(*words: str) -> list[str]:
        line = f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _whence; "
        line += 'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout.split()

    assert complete("whence", "b") == ["bench", "bisect"]
    assert complete("whence", "compile", "--dump") == ["--dump-code"]
    assert complete("whence", "run", "light_res") == ["light_resnet50"]


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch):
    class Terminal:
        def isatty(self) -> bool:
            return True

    terminal: Any = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert answers.painted("whence: error: no", terminal) == "whence: \x1b[31merror:\x1b[0m no"
    monkeypatch.setenv("NO_COLOR", "1")
    assert answers.painted("whence: error: no", terminal) == "whence: error: no"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not answers.colours(terminal)


def test_loops_and_completions_for_programs(whence: Tool, exported: Path):
    (call,) = json.loads(whence("tir", exported, "--json").out)
    assert sorted(call["layers"]) == ["act", "dense"]
    loops = json.loads(whence("tir", exported, "--kernel", 0, "--json").out)
    assert loops["call"] == call["call"]
    assert loops["lines"][0]["text"].startswith("tir.prim_func @")
    code = whence("tir", exported, "--kernel", 0, "--emit", "opt.ll").out
    assert json.loads(whence("tir", exported, "--kernel", 0, "--emit", "opt.ll", "--json").out)["code"] == code[:-1]
    assert "define void @" in code
    assert "expected --kernel beside it" in whence("tir", exported, "--emit", "ll").err
    assert "--json" in json.loads(whence("completion", "bash", "--json").out)["commands"]["tir"]


def test_switches_come_too_late_for_an_exported_file(whence: Tool, exported: Path):
    for words in (("-O", 1), ("--target", "native"), ("--disabled-pass", "FuseOps"), ("--print-pass-times",)):
        for command in ("run", "bench", "debug", "why"):
            done = whence(command, exported, *words)
            assert done.code == 1
            assert "expected a model that is not compiled yet" in done.err
    assert "bisect: expected a model that is not compiled yet" in whence("bisect", exported).err


_OPEN = """<ir_version: 8, opset_import: ["": 17]>
net (float[N, 4] x) => (float[N, 4] y) { [act] y = Relu (x) }"""
_BRANCHES = """<ir_version: 8, opset_import: ["": 17]>
net (float[4] x, bool c) => (float[4] y) {
    [act] a = Relu (x)
    [choice] y = If (c) <
        then_branch = left () => (float[4] l) { l = Neg (a) }, else_branch = right () => (float[4] r) { r = Abs (a) }>
}"""


def test_what_a_call_decides_is_told_with_its_layer(whence: Tool, tmp_path: Path):
    path = tmp_path / "branches.onnx"
    path.write_bytes(onnx.parser.parse_model(_BRANCHES).SerializeToString())
    for command in ("compile", "debug", "graph", "memory"):
        done = whence(command, path)
        assert (done.code, done.out) == (1, "")
        assert f"error: {command}: expected a model that is one native call (whence run, and the virtual" in done.err
        assert "(layer 'choice', branches.onnx node 1)" in done.err
    assert whence("run", path).code == 0
    assert "Argument Shapes" in whence("profile", path).out
    done = whence("profile", path, "--kernel", "0")
    assert "profile: expected no --kernel with a model in which values decide" in done.err


def test_a_model_of_any_sizes_is_shipped(whence: Tool, tmp_path: Path):
    (path := tmp_path / "open.onnx").write_bytes(onnx.parser.parse_model(_OPEN).SerializeToString())
    assert whence("compile", path, "-o", tmp_path / "open.tar").code == 0
    x = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    np.testing.assert_array_equal(load_module(tmp_path / "open.tar").run({"x": x})["y"], np.maximum(x, 0))
    assert "expected a model of fixed shapes (--input-shapes fixes them)" in whence("graph", path).err
    assert '-> n1 [label="float32[N, 4]"]' in whence("graph", tmp_path / "open.tar", "--format", "dot").out
    assert "32*N" in whence("memory", tmp_path / "open.tar", "--sizes", "N=3", "--svg", tmp_path / "open.svg").out
    assert "open.tar, N = 3: arena" in (tmp_path / "open.svg").read_text()
    assert "--svg: expected --sizes" in whence("memory", path, "--svg", tmp_path / "none.svg").err


_DECIDED = """
<ir_version: 8, opset_import: ["": 17]>
net (float[N, 4] x) => (float[K, 2] y) {
    [act] r = Relu (x)
    [places] p = NonZero (r)
    [columns] t = Transpose <perm = [1, 0]> (p)
    [cast] f = Cast <to = 1> (t)
    [prob] y = Softmax <axis = 1> (f)
}
"""


def test_questions_about_sizes_that_values_decide_take_inputs(whence: Tool, tmp_path: Path):
    (path := tmp_path / "open.onnx").write_bytes(onnx.parser.parse_model(_DECIDED).SerializeToString())
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(0).standard_normal((3, 4), np.float32))
    words = ("--input", tmp_path / "x.npz")
    assert "layer prob (Softmax, open.onnx:4)" in whence("where", path, "--layer", "prob", *words).out
    calls = whence("why", path, *words)
    assert calls.out == whence("tir", path, *words).out != ""
    done = whence("where", path, "--layer", "prob")
    assert (done.code, "give their shapes" in done.err) == (1, True)


def test_an_input_that_is_called_like_a_parameter_is_drawn(whence: Tool, tmp_path: Path):
    text = _OPEN.replace("N, 4", "2, 4").replace(" x)", " p0)").replace("(x)", "(p0)")
    (path := tmp_path / "net.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    assert '[label="p0' in whence("graph", path, "--format", "dot").out
