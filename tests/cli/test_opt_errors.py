"""whence-opt: every error is one line, and says what, where and what may have been meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from whence.runtime.values.params import write_params


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]

MODULE = """\
relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("act"("m.onnx":7:0))
  relay.return %0 : tensor<4xf32> loc("act"("m.onnx":7:0))
} loc("main")
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "m.mlir"
    path.write_text(MODULE)
    return path


def error(done: Done) -> str:
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("whence-opt: error: ")
    assert done.err.count("\n") == 1
    return done.err.removeprefix("whence-opt: error: ").strip()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-p", "relay-fuse-op"], """pipeline "relay-fuse-op", column 1: unknown pass 'relay-fuse-op' (did you mean"""),
        (["-p", "dce, relay-x"], """pipeline "dce, relay-x", column 6: unknown pass 'relay-x'"""),
        (["-p", "dce,,cse"], """pipeline "dce,,cse", column 5: expected a pass, got nothing"""),
        (["-p", "dce cse"], """pipeline "dce cse", column 1: cannot read 'dce cse': Expected a comma"""),
        (
            ["-p", "dce,relay-fuse-ops{max-dept=3}"],
            "column 5: relay-fuse-ops: unknown option 'max-dept' (did you mean max-depth?); it has max-depth, ",
        ),
        (["-p", "relay-fuse-ops{max-depth=a}"], "column 1: relay-fuse-ops: max-depth: expected int, got a"),
        (["-p", "relay-fuse-ops{max-depth=1"], "cannot read 'relay-fuse-ops{max-depth=1'"),
        (["-p", "dce,relay-fuse-ops{max-depth=0}"], "relay-fuse-ops: expected max-depth of at least 1, got 0"),
        (["--snapshot-dirs"], "unrecognized arguments: --snapshot-dirs (did you mean --snapshot-dir?)"),
        (["-t", "asn"], "argument -t/--target: invalid choice: 'asn'"),
        (["-t", "asm{cpu=1}"], 'target asm{cpu=1}: Provided arguments ["cpu"] not found'),
        (["-t", "asm{target=z80}"], 'expected "native" or "llvm'),
        (["--time-passes=xml"], "argument --time-passes: ignored explicit argument 'xml'"),
        (["-f", "onnx"], "m.mlir: expected an ONNX model, got"),
        (["-o", "/nowhere/to/be/found.mlir"], "/nowhere/to/be/found.mlir: cannot be written: No such file"),
    ],
)
def test_bad_command_lines(whence_opt: Tool, module: Path, words: list[str], text: str):
    assert text in error(whence_opt(module, *words))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (MODULE.replace("relay.nn.relu", "relay.nn.rely"), ":2:22: Operation relay.nn.rely is not registered"),
        (
            MODULE.replace("-> (tensor<4xf32>) {", "-> (tensor<5xf32>) {"),
            ": relay.func: expected tensor<5xf32> returned",
        ),
        ("\x00", ":1:1: "),
    ],
)
def test_bad_modules_are_told_by_file_and_line(whence_opt: Tool, module: Path, content: str, text: str):
    module.write_text(content)
    found = error(whence_opt(module))
    assert found.startswith(f"{module}{text}")


def test_missing_files(whence_opt: Tool, tmp_path: Path):
    assert "nope.mlir: expected a model file" in error(whence_opt(tmp_path / "nope.mlir"))
    assert "expected a model file or the folder of a saved model, got another folder" in error(whence_opt(tmp_path))
    assert "did you mean light_resnet50" in error(whence_opt("light_resnet5"))
    (tmp_path / "a.txt").write_text("")
    wanted = "a.txt: expected a file .mlir, .relay, .py, .onnx, .tflite, .pb, .pt2"
    assert wanted in error(whence_opt(tmp_path / "a.txt"))


def test_a_failing_pass_is_named_with_its_layer(whence_opt: Tool, module: Path):
    dropout = "%0, %1 = relay.nn.dropout %x : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)"
    relu = "%0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>"
    module.write_text(MODULE.replace("relay.func @main", "relay.func primitive @f").replace(relu, dropout))
    found = error(whence_opt(module, "-p", "convert-relay-to-te"))
    assert found.startswith("pass convert-relay-to-te: relay.nn.dropout: expected an operator with a lowering")
    assert found.endswith("(layer 'act', m.onnx node 7)")


def test_internal_errors_have_no_traceback_unless_asked(
    whence_opt: Tool, module: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("whence.cli.opt.attach_params", None)
    text = error(whence_opt(module))
    assert text.startswith("internal error in whence.cli.opt: TypeError: 'NoneType' object is not callable")
    assert text.endswith("; this is a bug of Whence (WHENCE_DEBUG=1 shows where)")
    monkeypatch.setenv("WHENCE_DEBUG", "1")
    with pytest.raises(TypeError):
        whence_opt(module)


def test_xdsl_flags_for_tests_work(whence_opt: Tool, module: Path):
    bad = MODULE.replace("-> (tensor<4xf32>) {", "-> (tensor<5xf32>) {")
    module.write_text(f"{bad}// -----\n{MODULE}")
    done = whence_opt(module, "--split-input-file", "--verify-diagnostics", "--print-op-generic")
    assert done.code == 0
    assert "relay.func: expected tensor<5xf32> returned" in done.out
    assert '"relay.nn.relu"' in done.out


def test_help_and_version(whence_opt: Tool):
    assert "relay-fuse-ops" in whence_opt("--help").out
    assert whence_opt("--version").out.startswith("whence-opt")


def test_a_value_is_read_where_it_is_seen_and_made_before(whence_opt: Tool, module: Path):
    """xDSL takes text whose values come later, or from a block beside."""
    relu = "relay.nn.relu {} : (tensor<4xf32>) -> tensor<4xf32>"
    later = f"  %1 = {relu.format('%0')}\n  %0 = {relu.format('%x')}\n"
    module.write_text(
        f"relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {{\n{later}  relay.return %1 : tensor<4xf32>\n}}"
    )
    assert "relay.nn.relu: expected operands that an op before it makes, got a value of relay.nn.relu" in error(
        whence_opt(module)
    )
    beside = """te.func @f(%a: tensor<4xf32>) -> (tensor<4xf32>) {
      %b = te.compute "b" (%i in 4) : tensor<4xf32> {
        %0 = te.read %a[%i] : tensor<4xf32>
        te.yield %1 : f32
      }
      %c = te.compute "c" (%i in 4) : tensor<4xf32> {
        %1 = te.read %b[%i] : tensor<4xf32>
        te.yield %1 : f32
      }
      te.return %c : tensor<4xf32>
    }"""
    module.write_text(beside)
    assert "te.yield: expected operands that an op before it makes" in error(whence_opt(module))


def test_numbers_that_a_type_does_not_hold_are_told_by_line(whence_opt: Tool, module: Path):
    module.write_text("%c = arith.constant 1.0e99 : f32\n")
    assert re.search(r"m\.mlir:\d:\d+: float too large", error(whence_opt(module)))


def test_weights_lie_in_the_folder_of_the_module(whence_opt: Tool, module: Path):
    with (module.parent.parent / "w.params").open("wb") as stream:
        write_params({"w": np.ones(3, np.float32)}, stream)
    folder = module.parent / "inner"
    folder.mkdir()
    path = folder / "m.mlir"
    path.write_text('builtin.module attributes {relay.params = #relay.pool<"../../w.params">} {\n}\n')
    assert "w.params: expected weights in the folder of the module, got another place" in error(whence_opt(path))
