"""The `whence` command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from onnx import numpy_helper


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]
Weights = dict[str, npt.NDArray[Any]]


@pytest.fixture
def case(tmp_path: Path, weights: Weights) -> tuple[Path, Path, npt.NDArray[Any]]:
    """An input file, the file of what numpy makes of it, and that."""
    x = np.random.default_rng(3).standard_normal((2, 32), np.float32)
    y = np.maximum(x @ weights["w"].T + weights["b"], 0)
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "y.npz", y=y)
    return tmp_path / "x.npz", tmp_path / "y.npz", y


def test_run_checks_and_tells(
    whence: Tool,
    tiny: Path,
    case: tuple[Path, Path, npt.NDArray[Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "cache"))
    done = whence("run", tiny, "--input", case[0], "--check", case[1], "--threads", 1, "--profile")
    assert done.code == 0, done.err
    assert done.out.startswith("tiny.onnx: 2 layers, ")
    for level in ("relay, imported", "relay, fused", "te", "tir", "llvm", "native"):
        assert re.search(rf"^{level} +\d+  (operators|ops|instructions)( +\d.* %)?$", done.out, re.MULTILINE)
    assert re.search(r"^checked y: max error \S+ absolute, \S+ relative \(ok\)$", done.out, re.MULTILINE)
    assert re.search(r"^\d+\.\d+( +\S+ %)+  dense  Gemm  fused_\w+", done.out, re.MULTILINE)
    assert re.search(
        r"^a kernel's time is measured, .* (estimated from work|told by samples)\b", done.out, re.MULTILINE
    )
    assert re.search(r"^ *ms +share  kernel call +layers$", done.out, re.MULTILINE)
    assert done.err.splitlines()[0] == "compiling: 20 passes"
    again = whence("run", tiny, "--input", case[0], "--check", case[1], "--threads", 1)
    assert not again.err, "the model is in the cache"
    assert again.out.splitlines()[:9] == done.out.splitlines()[:9]
    assert "(ok)" in again.out


def test_run_plans_memory_as_asked(whence: Tool, tiny: Path):
    done = whence("run", tiny, "--usmp", "hill_climb", "--workspace-pool", "sram:4096", "--workspace-pool", "dram")
    assert done.code == 0, done.err
    found = re.search(r"^memory: workspace (\d+) bytes \(hill_climb; (\d+) live at the peak\), (.*)$", done.out, re.M)
    assert found is not None
    assert found[1] == found[2]
    assert found[3].startswith(f"inputs and outputs {4 * (2 * 32 + 2 * 16)}, constants ")
    assert found[3].endswith(f"; {found[1]} of 4096 in pool 'sram', 0 in pool 'dram'")


def test_run_takes_references_as_tensor_files(
    whence: Tool, tiny: Path, case: tuple[Path, Path, npt.NDArray[Any]], tmp_path: Path
):
    path = tmp_path / "y.pb"
    path.write_bytes(numpy_helper.from_array(case[2], "whatever").SerializeToString())
    assert whence("run", tiny, "--input", case[0], "--check", path).code == 0


@pytest.mark.parametrize("bad", [1.01, np.nan])
def test_a_wrong_result_is_exit_code_1(
    whence: Tool, tiny: Path, case: tuple[Path, Path, npt.NDArray[Any]], tmp_path: Path, bad: float
):
    wrong = case[2].copy()
    wrong.flat[int(np.argmax(wrong))] *= bad
    np.savez(tmp_path / "wrong.npz", wrong)
    done = whence("run", tiny, "--input", case[0], "--check", tmp_path / "wrong.npz")
    assert done.code == 1
    assert "WRONG: expected at most 0.001 relative" in done.out


def test_a_shipped_model_needs_nothing_else(whence: Tool):
    done = whence("run", "light_squeezenet")
    assert done.code == 0, done.err
    assert "checked softmaxout_1: max error" in done.out
    assert "the reference is 0.001 everywhere, so it tells little" in done.out


def test_random_inputs_have_no_reference(whence: Tool, tiny: Path):
    done = whence("run", tiny, "--seed", 4, "--opt-level", 0)
    assert done.code == 0
    assert "not checked: no reference" in done.out


def test_why_and_where(whence: Tool, tiny: Path):
    listed = whence("why", tiny).out.splitlines()
    assert listed[0].split() == ["kernel", "call", "types", "layers"]
    kernel = next(row.split()[1] for row in listed if "dense" in row and "act" in row)
    done = whence("why", tiny, "--kernel", kernel)
    assert done.code == 0
    assert re.search(r"^  act +Relu  tiny.onnx:1  nn.relu$", done.out, re.MULTILINE)
    assert "line 1: tir.prim_func" in whence("why", tiny, "--kernel", kernel, "--line", 1).out
    assert whence("where", tiny).out.split() == ["dense", "Gemm", "tiny.onnx:0", "act", "Relu", "tiny.onnx:1"]
    assert f"in {kernel}" in whence("where", tiny, "--layer", "act").out


def test_tir_shows_the_layers_of_each_line(whence: Tool, tiny: Path):
    assert whence("tir", tiny).out == whence("why", tiny).out
    done = whence("tir", tiny, "--kernel", 0)
    assert done.code == 0, done.err
    _, call, _, header, *lines = done.out.splitlines()
    assert call.startswith("layers of the call fused_nn_contrib_dense_pack")
    assert header.split() == ["line", "native", "layers", "tir"]
    assert [int(line.split()[0]) for line in lines] == list(range(1, len(lines) + 1))
    at = header.index("tir")
    assert lines[0][at:].startswith("tir.prim_func @")
    assert lines[-1][at:] == "}"
    (multiply,) = {line[header.index("layers") : at].strip() for line in lines if "math.fma" in line}
    (compare,) = {line[header.index("layers") : at].strip() for line in lines if "tir.compare" in line}
    assert (multiply, compare) == ("dense", "act")
    assert "vector<4x" in whence("tir", tiny, "--kernel", 0, "--target", "llvm -mcpu=x86-64").out


def test_where_tells_of_all_layers_at_once(whence: Tool, tiny: Path):
    done = whence("where", tiny, "--all")
    header, dense, act, *_ = done.out.splitlines()
    assert header.split() == ["layer", "type", "relay", "te", "tir", "llvm", "native", "went", "into"]
    assert dense.split()[:2] == ["dense", "Gemm"]
    assert act.split()[:4] == ["act", "Relu", "1", "1"]
    assert act.split()[-1].startswith("fused_")


def test_why_tells_of_all_kernels_at_once(whence: Tool, tiny: Path):
    done = whence("why", tiny, "--all")
    assert done.code == 0, done.err
    assert done.out == whence("why", tiny, "--kernel", 0).out
    assert len(json.loads(whence("why", tiny, "--all", "--json").out)) == 1
    assert "--all: expected no --kernel beside it, got both" in whence("why", tiny, "--all", "--kernel", 0).err


def test_times_are_told_where_asked(whence: Tool, tiny: Path):
    header, row = whence("why", tiny, "--times").out.splitlines()
    assert header.split()[:2] == ["ms", "share"]
    # A kernel as short as the steps of the clock takes no time, and no share of that.
    assert re.match(r"(0\.000 +0|\d+\.\d{3} +100) % ", row)
    kernel = whence("why", tiny, "--times", "--kernel", 0).out
    if " in 0.000 ms, 0 %" in kernel:
        return
    assert re.search(r"serves 2 layers in \d+\.\d{3} ms, 100 % of all kernels:$", kernel, re.MULTILINE)
    rows = re.findall(r"^  (\w+) .* (\d+\.\d{3}) ms +(\S+) %$", kernel, re.MULTILINE)
    assert [row[0] for row in rows] == ["dense", "act"]
    assert sum(float(row[2]) for row in rows) == pytest.approx(100, abs=0.2)
    assert re.search(
        r"time +\d\S+ of \d\S+ ms, \S+ % \(estimated from work\)$",
        whence("where", tiny, "--times", "--layer", "dense").out,
        re.MULTILINE,
    )
    assert whence("where", tiny, "--all", "--times").out.splitlines()[0].split()[7:9] == ["ms", "share"]


def test_layers_of_text_have_the_types_they_were_written_in(whence: Tool, whence_opt: Tool, tiny: Path, tmp_path: Path):
    assert whence_opt(tiny, "-o", tmp_path / "tiny.mlir", "--print-debuginfo").code == 0
    done = whence("where", tmp_path / "tiny.mlir", "--all")
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].split()[:3] == ["dense", "nn.dense,", "nn.bias_add"]
    assert done.out.splitlines()[2].split()[:2] == ["act", "nn.relu"]


@pytest.fixture
def dynamic(tmp_path: Path) -> Path:
    """relu of a matrix of any size."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 13]> net (float[N, C] data) => (float[N, C] y) { y = Relu (data) }'
    )
    (tmp_path / "dynamic.onnx").write_bytes(model.SerializeToString())
    return tmp_path / "dynamic.onnx"


def test_input_shapes(whence: Tool, whence_opt: Tool, dynamic: Path):
    assert 'such as "data:[1,1]" (input_shapes, --input-shapes)' in whence("run", dynamic).err
    words = ("--input-shapes", "data:[3, 5]")
    done = whence("run", dynamic, *words, "--seed", 1)
    assert done.code == 0, done.err
    assert "inputs and outputs 120," in done.out
    (name,) = (row.split()[1] for row in whence("why", dynamic, *words).out.splitlines()[1:])
    assert "tir.for %i0 in 3" in (code := whence("why", dynamic, *words, "--kernel", name).out) or "3x5xf32" in code
    assert whence("where", dynamic, *words).out.split() == ["Relu_0", "Relu", "dynamic.onnx:0"]
    assert "tensor<3x5xf32>" in whence_opt(dynamic, *words).out


def test_a_model_that_the_call_decides(whence: Tool, tmp_path: Path):
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 13]>
    net (bool c, float[3] x) => (float[3] y) {
        [before] a = Neg (x)
        [choice] y = If (c) <
            then_branch = yes () => (float[3] t) { [up] t = Exp (a) },
            else_branch = no () => (float[3] e) { [down] e = Abs (a) }
        >
    }""")
    path, inputs, outputs = (tmp_path / name for name in ("choice.onnx", "in.npz", "out.npz"))
    path.write_bytes(model.SerializeToString())
    x = np.array([1, -2, 3], np.float32)
    np.savez(inputs, c=np.asarray(True), x=x)
    np.savez(outputs, y=np.exp(-x))
    done = whence("run", path, "--input", inputs, "--check", outputs)
    assert done.code == 0, done.err
    assert done.out.startswith(
        "choice.onnx: 4 layers; the call decides: 2 stretches, 2 kernel calls\n\n2 of at most 64"
    )
    assert "checked y: max error" in done.out
    # Questions are about a call with the inputs that a model gets when none are given: c is False.
    assert "choice/down" in whence("where", path, "--layer", "choice/down").out
    assert "choice/down" in whence("why", path, "--kernel", "fused_abs").out
    assert "not compiled, as no call came to it" in whence("where", path, "--layer", "choice/up").out
    assert "got 'choice/left'" in whence("where", path, "--layer", "choice/left").err


def test_a_target_is_what_code_is_made_for(whence: Tool, tiny: Path):
    other = ("--target", "llvm -mcpu=x86-64 -mattr=+amx-fp8")
    assert whence("where", tiny, *other, "--layer", "act").code == 0
    done = whence("run", tiny, *other)
    assert (done.code, done.out) == (1, "")
    assert "target: expected code that runs on this machine (" in done.err
    assert "got code that needs +amx-fp8; it can be looked at, not run" in done.err
    done = whence("run", tiny, "--target", "llvm")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run", "nope.onnx"], "nope.onnx: expected a model file"),
        (["run", "light_squeezene"], "did you mean light_squeezenet"),
        (["rnu", "MODEL"], "'completion') (did you mean run?) (whence --help explains)"),
        (["run", "MODEL", "--fil-mode", "ones"], "--fil-mode ones (did you mean --fill-mode"),
        (["run", "MODEL", "--input", "nope.npz"], "nope.npz: expected a readable file, got: No such file"),
        (["run", "MODEL", "--input", "MODEL"], "tiny.onnx: expected plain arrays in .npz, .npy, .params or .pb"),
        (["run", "MODEL", "--seed", "1", "--input", "x"], "--seed: expected no --input beside it"),
        (["run", "MODEL", "--usmp", "best"], "usmp: expected an algorithm among greedy_by_size, greedy_by_conflicts, "),
        (["run", "MODEL", "--workspace-pool", "a:b"], "--workspace-pool: expected NAME or NAME:BYTES, got 'a:b'"),
        (["run", "MODEL", "--threads", "0"], "argument --threads: expected a whole number of at least 1, got '0'"),
        (["run", "MODEL", "--opt-level", "7"], "argument -O/--opt-level: invalid choice: 7"),
        (["run", "MODEL", "--input-shapes", "x:[2"], "input shapes: expected text such as "),
        (["why", "MODEL", "--input-shapes", "z:[2]"], "shape for inputs that weren't found in the graph: z"),
        (["where", "MODEL", "--input-shapes", "x:[3,32]"], "input 'x': expected a shape that agrees with the model's"),
        (["run", "MODEL", "--target", "cuda"], 'target: expected "native" or "llvm '),
        (
            ["run", "MODEL", "--target", "llvm -mcpu=sapphirerapids -mattr=+sse2,+nosuch"],
            "expected a feature that this LLVM knows as -mattr, got +nosuch",
        ),
        (["run", "MODEL", "--seed", "-1"], "argument --seed: expected a whole number of at least 0, got '-1'"),
        (["run", "MODEL", "--print-top", "0"], "argument --print-top: expected a whole number of at least 1, got '0'"),
        (["bench", "MODEL", "--min-repeat-ms", "nan"], "expected a number, 0 or more, got 'nan'"),
        (["bisect", "MODEL", "--rtol", "-1"], "argument --rtol: expected a number, 0 or more, got '-1'"),
        (
            ["run", "MODEL", "-o", "nowhere/y.npz"],
            "-o/--output: expected a file in an existing folder, got nowhere",
        ),
        (["memory", "MODEL", "--svg", "/"], "argument --svg: expected a file to write, got the folder /"),
        (["why", "MODEL", "--line", "3"], "--line: expected --kernel beside it, got none"),
        (["tir", "MODEL", "--call", "x"], "--call: expected --kernel beside it, got none"),
        (["profile", "MODEL", "--asm"], "--asm: expected --kernel beside it, got none"),
        (["profile", "MODEL", "--kernel", "nope"], "unknown kernel 'nope'"),
        (["debug", "MODEL", "--as-stored"], "--as-stored: expected --watch beside it, got none"),
        (["debug", "MODEL", "--nan", "--step"], "--nan: expected no --step beside it, got both"),
        (["debug", "MODEL", "--step", "--json"], "--json: expected no --step beside it, got both"),
        (["graph", "MODEL", "--json", "-o", "x.svg"], "--json: expected TVM's graph JSON to be asked for, got x.svg"),
        (["run"], "the following arguments are required: model"),
        (["ruin"], "invalid choice: 'ruin'"),
        (["why", "MODEL", "--kernel", "nope"], "unknown kernel 'nope'"),
        (["why", "MODEL", "--times", "--kernel", "0", "--line", "1"], "--times: expected no --line beside it"),
        (["where", "MODEL", "--all", "--layer", "act"], "--all: expected no --layer beside it, got both"),
        (["tir", "MODEL", "--kernel", "99"], "kernel 99: expected an index from 0 to 0"),
        (["tir", "MODEL", "--kernel", "0", "--call", "nope"], "unknown call of kernel 0 'nope'"),
        (["where", "MODEL", "--layer", "actt"], "unknown layer 'actt': expected one of 2 (did you mean act"),
    ],
)
def test_errors_are_one_line(whence: Tool, tiny: Path, words: list[str], text: str):
    done = whence(*(str(tiny) if word == "MODEL" else word for word in words))
    assert (done.code, done.out) == (1, "")
    last = done.err.splitlines()[-1]
    assert last.startswith("whence: error: ")
    assert text in last


def test_a_missing_file_has_the_nearest_of_its_folder(whence: Tool, tiny: Path):
    done = whence("run", tiny.with_name(tiny.name.replace("n", "nn", 1)))
    assert f"got no such file (did you mean {tiny}" in done.err


def test_wrong_inputs_and_references_are_told(whence: Tool, tiny: Path, tmp_path: Path):
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 31), np.float32))
    assert "inputs: expected float32[2, 32] 'x'" in whence("run", tiny, "--input", tmp_path / "x.npz").err
    np.savez(tmp_path / "y.npz", y=np.zeros(3, np.float32))
    assert "expected a reference of shape (2, 16)" in whence("run", tiny, "--check", tmp_path / "y.npz").err


def test_help_and_version(whence: Tool):
    assert "whence run resnet.tar" in whence("--help").out
    assert re.fullmatch(r"whence \d+\.\d+\S*\n", whence("--version").out)
    assert whence().code == 1
