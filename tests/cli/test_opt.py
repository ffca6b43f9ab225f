"""whence-opt: models in, passes with an eye on locations, modules and machine code out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE

from whence.passes.pipelines import PIPELINE, relay_pipeline
from whence.provenance.span import layer_names
from whence.reading.textio import read_module
from whence.runtime.values.params import write_params
from whence.universe import ALL_PASSES

RELAY = ",".join(row.name for row in PIPELINE)
LOWER = "convert-relay-to-te,convert-te-to-tir"
TIR = "tir-simplify,tir-vectorize,tir-remove-no-op"


class Done(NamedTuple):
    code: int
    out: str
    err: str


Tool = Callable[..., Done]


TESTS = Path(__file__).parents[1]
MODELS = {
    "an exported program": ("exports/pytorch/cnn.pt2", "nn.conv2d"),
    "a Keras archive": ("frontends/keras/models/cnn.keras", "nn.conv2d"),
    "a Keras file": ("frontends/keras/models/attention.h5", "nn.softmax"),
    "StableHLO": ("exports/jax/perceptron.mlir", "nn.dense"),
    "a TFLite file": ("exports/tflite/ssd.float.tflite", "nn.conv2d"),
    "a saved model": ("frontends/tensorflow/data/cnn_saved", "nn.conv2d"),
    "a frozen graph": ("frontends/tensorflow/data/cnn.pb", "nn.conv2d"),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_format_that_the_other_commands_take_is_read(whence_opt: Tool, kind: str):
    name, operator = MODELS[kind]
    done = whence_opt(TESTS / name, "-p", "relay-simplify-inference", "--print-debuginfo")
    assert (done.code, done.err) == (0, "")
    assert f"relay.{operator}" in done.out
    assert f'"{Path(name).name}"' in done.out or kind in ("StableHLO", "an exported program")


def test_a_model_is_imported_with_its_layers(whence_opt: Tool, tiny: Path):
    done = whence_opt(tiny, "--print-debuginfo")
    assert (done.code, done.err) == (0, "")
    assert "relay.nn.dense" in done.out
    assert 'loc("dense"("tiny.onnx":0:0))' in done.out
    assert 'loc("act"("tiny.onnx":1:0))' in done.out


def test_shipped_models_go_by_their_names(whence_opt: Tool):
    done = whence_opt("light_squeezenet", "-p", "relay-fuse-ops")
    assert done.code == 0
    assert "relay.func primitive @fused_nn_conv2d" in done.out


def test_a_module_and_its_weights_come_back(whence_opt: Tool, tiny: Path, tmp_path: Path):
    out = tmp_path / "out.mlir"
    assert whence_opt(tiny, "-p", RELAY, "-o", out) == (0, "", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.mlir", "out.params"]
    assert 'relay.params = #relay.pool<"out.params">' in out.read_text()
    module = read_module(out)
    assert {name for op in module.walk() for name in layer_names(op.location)} >= {"dense", "act"}
    again = tmp_path / "again.mlir"
    assert whence_opt(out, "-o", again).code == 0
    assert again.read_text() == out.read_text().replace("out.params", "again.params")
    assert (tmp_path / "again.params").read_bytes() == (tmp_path / "out.params").read_bytes()


def test_passes_that_need_no_values_run_without_params(whence_opt: Tool, whence: Tool, tiny: Path, tmp_path: Path):
    out = tmp_path / "out.mlir"
    whence_opt(tiny, "-o", out)
    (tmp_path / "out.params").unlink()
    assert "relay.func primitive" in whence_opt(out, "-p", RELAY).out
    assert "fma" in whence_opt(out, "-p", "relay-fuse-ops", "-t", "asm").out
    done = whence("run", out)
    assert done.code == 1
    assert done.err.splitlines()[-1] == (
        "whence: error: constant 'w': its values are needed here but missing (looked in out.params)"
    )


def test_damaged_params_are_told(whence_opt: Tool, tiny: Path, tmp_path: Path):
    out = tmp_path / "out.mlir"
    whence_opt(tiny, "-o", out)
    (tmp_path / "out.params").write_bytes(b"nothing of the sort, but long enough")
    done = whence_opt(out)
    assert done.code == 1
    assert "out.params: Invalid parameters file format" in done.err


def test_params_that_do_not_fit_are_told(whence_opt: Tool, tiny: Path, tmp_path: Path):
    out = tmp_path / "out.mlir"
    whence_opt(tiny, "-o", out)
    with open(tmp_path / "out.params", "wb") as stream:
        write_params({"w": np.zeros((32, 16), np.float32)}, stream)
    done = whence_opt(out)
    assert done.code == 1
    assert "constant 'w': expected tensor<16x32xf32>, got tensor<32x16xf32> in" in done.err
    assert "tiny.onnx node 0" in done.err


@pytest.mark.parametrize("passes", ["relay-fuse-ops{max-depth=0}", "relay-nothing"])
def test_an_error_leaves_the_output_as_it_was(whence_opt: Tool, tiny: Path, tmp_path: Path, passes: str):
    out = tmp_path / "out.mlir"
    out.write_text("before")
    assert whence_opt(tiny, "-p", passes, "-o", out).code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out.mlir"]
    assert out.read_text() == "before"


@pytest.mark.parametrize("passes", ["relay-fuse-ops", f"relay-fuse-ops,{LOWER}", f"relay-fuse-ops,{LOWER},{TIR}"])
def test_machine_code_of_any_level_names_layers(whence_opt: Tool, tiny: Path, passes: str):
    done = whence_opt(tiny, "-p", passes, "-t", "asm")
    assert done.code == 0
    assert re.search(r"# dense \| .*\n +v?\w+", done.out)
    assert re.search(r"# act \| .*\n +v?\w+", done.out)


def test_all_levels_give_the_same_machine_code(whence_opt: Tool, tiny: Path):
    te = 'convert-relay-to-te{target="llvm -mcpu=haswell"}'
    tir = TIR.replace("tir-vectorize", "tir-vectorize{vector-bits=256}")
    levels = [f"relay-fuse-ops,{passes}" for passes in (te, f"{te},convert-te-to-tir", f"{te},convert-te-to-tir,{tir}")]
    levels.insert(0, "relay-fuse-ops")
    found = [whence_opt(tiny, "-p", passes, "-t", 'asm{target="llvm -mcpu=haswell"}').out for passes in levels]
    assert "ymm" in found[0]
    assert found == [found[0]] * 4


def test_llvm_of_a_model(whence_opt: Tool, tiny: Path):
    done = whence_opt(tiny, "-p", f"{RELAY},{LOWER},{TIR},convert-tir-to-llvm", "-t", "llvm")
    assert done.code == 0
    assert "define void @fused_nn_contrib_dense_pack_add_nn_relu(ptr" in done.out


def test_machine_code_of_a_model_that_no_pass_has_seen(whence_opt: Tool, tiny: Path):
    """What is missing down to a target is run: the relay passes, too."""
    passes = ",".join(one.name for one in relay_pipeline(3))
    for target in ("asm", "llvm"):
        done = whence_opt(tiny, "-t", target)
        assert done.code == 0
        assert done.out == whence_opt(tiny, "-p", passes, "-t", target).out


def test_machine_code_of_nothing(whence_opt: Tool, tmp_path: Path):
    (tmp_path / "empty.mlir").write_text("builtin.module {}")
    done = whence_opt(tmp_path / "empty.mlir", "-t", "asm")
    assert (done.code, done.out) == (1, "")
    assert "expected primitive functions, te or tir functions, got none" in done.err


KERNEL = """
tir.prim_func @copy(%x: !tir.buffer<8xf32>, %y: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 {
    %0 = tir.load %x[%i] : !tir.buffer<8xf32> -> f32 loc("conv1"("net.onnx":4:0))
    tir.store %0, %y[%i] : f32, !tir.buffer<8xf32> loc(unknown)
  }
}
"""


def test_text_without_locations_is_located_where_it_stands(whence_opt: Tool, tmp_path: Path):
    """Every op but the one whose text says that its location is lost."""
    (tmp_path / "k.mlir").write_text(f"{KERNEL}// -----{KERNEL}")
    lines = whence_opt(tmp_path / "k.mlir", "--split-input-file", "--print-debuginfo").out.splitlines()
    stores = [line for line in lines if "tir.store" in line]
    assert all(line.endswith("loc(unknown)") for line in stores)
    assert sum(line.endswith('loc("conv1"("net.onnx":4:0))') for line in lines) == 2
    for line, column in ((3, 3), (2, 1), (10, 3), (9, 1)):
        assert any(text.strip() == f'}} loc("{tmp_path / "k.mlir"}":{line}:{column})' for text in lines)


def test_standard_input(whence_opt: Tool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(KERNEL.encode())))
    done = whence_opt("-", "--print-debuginfo")
    assert done.code == 0
    assert '} loc("stdin":3:3)' in done.out


def test_snapshots_have_locations(whence_opt: Tool, tiny: Path, tmp_path: Path):
    folder = tmp_path / "deep" / "snapshots"
    assert whence_opt(tiny, "-p", "relay-simplify-inference,relay-fuse-ops", "--snapshot-dir", folder).code == 0
    names = ["00-input.mlir", "01-relay-simplify-inference.mlir", "02-relay-fuse-ops.mlir"]
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        assert 'loc("act"("tiny.onnx":1:0))' in (folder / name).read_text()
    assert "primitive" not in (folder / names[1]).read_text()
    assert "primitive" in (folder / names[2]).read_text()


def test_the_audit_prints_what_it_saw(whence_opt: Tool, tiny: Path):
    done = whence_opt(tiny, "-p", f"{RELAY},{LOWER},{TIR},convert-tir-to-llvm", "--audit")
    assert done.code == 0
    rows = done.err.splitlines()
    assert rows[0].split() == ["ops", "located", "leaves", "explained", "lost", "after"]
    assert len(rows) == 1 + 1 + len(PIPELINE) + 2 + len(TIR.split(",")) + 1
    assert all(re.match(r" +\d+ +100 % +\d+ +\d+ +0  \S+$", row) for row in rows[1:])


@dataclass(frozen=True)
class Forgetful(ModulePass):
    """Loses the location of every relu."""

    name = "forgetful"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if inner.name == "relay.nn.relu":
                inner.location = UNKNOWN_LOC


def test_the_audit_fails_when_a_pass_loses_a_location(whence_opt: Tool, tiny: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(XDSL_UNIVERSE.all_passes, "forgetful", lambda: Forgetful)
    assert whence_opt(tiny, "-p", "forgetful").code == 0
    done = whence_opt(tiny, "-p", "forgetful,relay-fuse-ops", "--audit")
    assert done.code == 1
    assert "whence-opt: error: pass forgetful: 1 op without location: relay.nn.relu" in done.err
    assert "relay-fuse-ops" not in done.err


def test_what_a_pass_lost_stays_lost(whence_opt: Tool, tiny: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(XDSL_UNIVERSE.all_passes, "forgetful", lambda: Forgetful)
    done = whence_opt(tiny, "-p", "forgetful,relay-fuse-ops", "--print-debuginfo")
    assert done.code == 0
    (relu,) = [line for line in done.out.splitlines() if "nn.relu" in line and "relay.func" not in line]
    assert relu.endswith('loc("lost by pass forgetful")')
    (call,) = [line for line in done.out.splitlines() if "relay.call" in line]
    assert '"lost by pass forgetful"' in call


@pytest.mark.parametrize(
    ("stock", "complaint"),
    [
        ("cse", "pass cse: 1 layer vanished without an entry in the ledger: twin"),
        ("dce", "pass dce: 1 layer vanished without an entry in the ledger: unread"),
        ("canonicalize", "pass canonicalize: 1 layer vanished without an entry in the ledger: unread"),
    ],
)
def test_the_audit_sees_what_passes_of_xdsl_lose(whence_opt: Tool, tmp_path: Path, stock: str, complaint: str):
    second, name, read = ("exp", "twin", "b") if stock == "cse" else ("sqrt", "unread", "a")
    (tmp_path / "net.mlir").write_text(
        f"""
        relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {{
          %a = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("first")
          %b = relay.{second} %x : (tensor<4xf32>) -> tensor<4xf32> loc("{name}")
          %c = relay.add %a, %{read} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
          relay.return %c : tensor<4xf32> loc("end")
        }} loc("main")
        """
    )
    done = whence_opt(tmp_path / "net.mlir", "-p", stock, "--audit")
    assert done.code == 1
    assert complaint in done.err
    rows = [line.replace(" %", "").split() for line in done.err.splitlines() if "whence-opt" not in line]
    found = dict(zip(rows[0], rows[-1], strict=True))
    assert (found["after"], found["explained"], found["lost"]) == (stock, "0", "1")
    assert whence_opt(tmp_path / "net.mlir", "-p", f"{stock},relay-fuse-ops").code == 0


def test_the_list_of_passes_says_what_each_does(whence_opt: Tool):
    done = whence_opt("--list-passes")
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(row.name for row in ALL_PASSES)
    (fuse,) = (line for line in lines if line.startswith("relay-fuse-ops "))
    assert fuse.endswith("become a primitive function (TVM: FuseOps, level 0)")


def test_times_as_text_and_json(whence_opt: Tool, tiny: Path):
    passes = "relay-simplify-inference,relay-fuse-ops"
    text = whence_opt("--time-passes", tiny, "-p", passes).err
    assert text.split()[:3] == ["ms", "share", "pass"]
    assert [row.split()[-1] for row in text.splitlines()[1:]] == [*passes.split(","), "all"]
    data = json.loads(whence_opt(tiny, "--time-passes=json", "-p", passes).err)
    assert [one["name"] for one in data["passes"]] == passes.split(",")
    assert data["seconds"] == pytest.approx(sum(one["seconds"] for one in data["passes"]))


def test_printing_between_passes_shows_locations_if_asked(whence_opt: Tool, tiny: Path):
    words = (tiny, "-p", "relay-simplify-inference,relay-fuse-ops", "--print-between-passes")
    between = whence_opt(*words).out.split("\n\n\n\n")[0]
    assert between.startswith("IR after relay-simplify-inference:")
    assert "loc(" not in between
    assert 'loc("act"' in whence_opt(*words, "--print-debuginfo").out.split("\n\n\n\n")[0]
