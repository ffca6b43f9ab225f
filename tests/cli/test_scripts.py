"""Scripts of TVMScript as sources and as a form of output of the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from written_kernels import scan

import whence as library


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]

SCRIPT = """\
from tvm.script import tir as T

@T.prim_func
def mm_relu(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 40), "float32"), D: T.Buffer((16, 40), "float32")):
    C = T.alloc_buffer((16, 40), "float32")
    for i, j, k in T.grid(16, 40, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 40):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "mm_relu.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_goes_through_passes_with_places_of_its_file(whence_opt: Tool, script: Path) -> None:
    done = whence_opt(script, "-p", "tir-lower-block", "--print-debuginfo", "--audit")
    assert done.code == 0
    assert "tir.block" not in done.out
    assert re.search(
        r'math\.fma .* loc\(fused\["C"\(".*mm_relu\.py":11:25\), "C"\(".*mm_relu\.py":11:37\)\]\)', done.out
    )


def test_kernels_are_printed_as_scripts_of_either_version(whence_opt: Tool, script: Path) -> None:
    new = whence_opt(script, "-t", "tvmscript")
    assert (new.code, new.err) == (0, "")
    assert new.out.strip() == library.script.from_source(SCRIPT).script()
    old = whence_opt(script, "-p", "tir-lower-block", "-t", "tvmscript{version=0.14}")
    assert old.out.startswith("# from tvm.script import tir as T\n@T.prim_func\n")
    assert "T.block" not in old.out


def test_several_kernels_are_a_class_that_reads_the_same(whence_opt: Tool, tmp_path: Path) -> None:
    second = SCRIPT[SCRIPT.index("@T") :].replace("mm_relu", "other").replace("\n", "\n    ")
    first = SCRIPT[SCRIPT.index("@T") :].replace("\n", "\n    ")
    path = tmp_path / "two.py"
    path.write_text(f"@I.ir_module\nclass Module:\n    {first}\n    {second}\n")
    printed = whence_opt(path, "-t", "tvmscript").out
    assert printed.count("@T.prim_func") == 2
    path.write_text(printed)
    assert whence_opt(path, "-t", "tvmscript").out == printed


@pytest.mark.parametrize("command", ["whence-opt", "whence run"])
def test_mistakes_are_told_at_their_places(whence_opt: Tool, whence: Tool, script: Path, command: str) -> None:
    script.write_text(SCRIPT.replace("T.grid(16, 40)", "T.gird(16, 40)").replace("T.float32(0)", "T.flaot32(0)"))
    done = whence_opt(script) if command == "whence-opt" else whence("run", script)
    assert done.code == 1
    assert re.findall(r"mm_relu\.py:(\d+:\d+): expected a word of T, got T\.\w+", done.err) == [
        "10:29",
        "12:17",
        "15:42",
    ]
    assert "did you mean grid?" in done.err
    assert done.out == ""


def test_a_model_has_no_kernels_to_be_printed(whence_opt: Tool, tiny: Path) -> None:
    done = whence_opt(tiny, "-t", "tvmscript")
    assert done.code == 1
    assert "expected kernels (-p ..,convert-relay-to-te,convert-te-to-tir), got relay.func" in done.err
    other = whence_opt(tiny, "-t", "tvmscript{version=old}")
    assert (other.code, other.out) == (1, "")
    assert other.err.startswith("whence-opt: error: target tvmscript{version=old}")


def test_a_script_is_run_checked_and_timed(whence: Tool, script: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((16, 24), np.float32), rng.standard_normal((24, 40), np.float32)
    np.savez(tmp_path / "x.npz", A=a, B=b)
    np.savez(tmp_path / "expected.npz", D=np.maximum(a @ b, 0) + np.float32(1e-8))
    words = ("--input", tmp_path / "x.npz", "--check", tmp_path / "expected.npz", "-o", tmp_path / "y.npz")
    done = whence("run", script, *words, "--print-time", "--repeat", "2")
    assert done.code == 0, done.err
    assert "checked D: max error" in done.out
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["D"], build(a, b))
    np.savez(tmp_path / "expected.npz", D=np.zeros((16, 40), np.float32))
    assert whence("run", script, *words).code == 1
    data = json.loads(whence("run", script, "--json").out)
    assert data["outputs"] == {"D": {"shape": [16, 40], "dtype": "float32"}}


def build(a: np.ndarray[tuple[int, ...], np.dtype[np.float32]], b: np.ndarray[tuple[int, ...], np.dtype[np.float32]]):
    return library.build(library.script.from_source(SCRIPT))(a, b)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--profile"], "--profile: expected a model, got the script"),
        (["--executor", "graph"], "--executor graph: expected a model, got the script"),
        (["-O", "2"], "--opt-level: expected a model that is not compiled yet"),
    ],
)
def test_options_of_models_are_refused(whence: Tool, script: Path, options: list[str], text: str) -> None:
    done = whence("run", script, *options)
    assert done.code == 1
    assert text in done.err


def test_a_script_of_open_sizes_needs_numbers(whence: Tool, tmp_path: Path) -> None:
    path = tmp_path / "open.py"
    path.write_text(
        "@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int64()\n    A = T.match_buffer(a, (n,))\n"
        "    B = T.match_buffer(b, (n,))\n    for i in range(n):\n        B[i] = A[i]\n"
    )
    done = whence("run", path)
    assert (done.code, done.out) == (1, "")
    assert "expected shapes of numbers, got sizes n" in done.err


def test_a_script_is_tuned_and_run_by_its_records(whence: Tool, tmp_path: Path) -> None:
    kernel, records = scan(6, 64), tmp_path / "tuned"
    path = tmp_path / "scan.py"
    path.write_text(kernel.source)
    x, w = kernel.inputs()
    np.savez(tmp_path / "x.npz", X=x, W=w)
    np.savez(tmp_path / "expected.npz", H=kernel.reference(x, w))
    few = ("-i", tmp_path / "x.npz", "--trials", 2, "--threads", 1, "-o", records)
    done = whence("tune", path, *few, "--budget", "1m")
    assert done.code == 0, done.err
    assert done.out.startswith("scan.py: 1 kernel with a choice, 1 searched, 1 faster; 2 candidates measured in ")
    assert "a run: " in done.out
    assert done.out.endswith(f'whence.build(.., tuned="{records}/records.jsonl") uses them\n')
    assert "cannot do without" not in done.out
    words = ("--input", tmp_path / "x.npz", "--check", tmp_path / "expected.npz", "--threads", 1)
    tuned = whence("run", path, *words, "--tuned", records)
    assert tuned.code == 0, tuned.err
    assert re.search(r"^scan tuned: rules = 1, .* \(exact, .* times as fast as the default", tuned.out, re.MULTILINE)
    assert "tuned" not in whence("run", path, *words).out
    data = json.loads(whence("run", path, *words, "--tuned", records, "--json").out)
    assert data["tuned"]["scan"]["decisions"]["rules"] == 1
    again = json.loads(whence("tune", path, *few, "--json").out)
    assert again[0]["kernels"][0]["decisions"] == data["tuned"]["scan"]["decisions"]


def test_tuning_a_script_refuses_what_it_does_not_take(whence: Tool, script: Path, tmp_path: Path) -> None:
    records = tmp_path / "tuned"
    np.savez(tmp_path / "x.npz", A=np.zeros((16, 24), np.float32))
    for options, text in (
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler: expected a model, got the script"),
        (["-O", "2"], "--opt-level: expected a model that is not compiled yet"),
        (["-i", tmp_path / "x.npz"], "inputs: expected an array for float32[24, 40] 'B', got A"),
    ):
        done = whence("tune", script, "-o", records, *options)
        assert (done.code, done.out) == (1, "")
        assert text in done.err
    done = whence("run", script, "-i", tmp_path / "x.npz")
    assert (done.code, done.out) == (1, "")
    assert "inputs: expected an array for float32[24, 40] 'B', got A" in done.err
    assert not records.exists()
