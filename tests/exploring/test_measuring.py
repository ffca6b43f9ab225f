"""Programs of all kinds, measured: what cannot be had is said in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto

import whence
from whence.cli.main import main
from whence.explorer.session.check import check
from whence.explorer.session.document import Session
from whence.explorer.session.file import read
from whence.exploring.exploration import Exploration
from whence.exploring.measuring import Wishes
from whence.exploring.record import record
from whence.support.errors import WhenceError

_WISHES = Wishes(0.01, tensors=True, films="none")


def model(body: str, inputs: str, outputs: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => ({outputs}) {{{body}}}')


def measured(source: ModelProto | Path, wishes: Wishes = _WISHES, target: str = "native") -> Session:
    session = record(source, wishes=wishes, target=target) if target != "native" else record(source, wishes=wishes)
    check(session)
    for times in session.times:
        assert sum(seconds for _, seconds, _ in times.layers) == pytest.approx(sum(times.calls))
    return session


def test_a_program_for_all_sizes_is_measured_for_chosen_ones():
    source = model("a = Relu(x) y = Tanh(a) u = Mul(a, a)", "float[n,8] x", "float[n,8] y, float[n,8] u")
    session = measured(source, replace(_WISHES, sizes={"n": 4}))
    assert session.tensors[0].shape == [[4, 8]] * 3
    assert session.memory[0].size == [128]
    assert session.made_by.notes == []
    assert (session.programs[0].open, session.programs[0].sizes) == ("n=1", "n=4")
    assert "main at n=4" in Exploration(session).text("summary")
    nothing = measured(source)
    assert nothing.times == nothing.tensors == nothing.memory == []
    (note,) = nothing.made_by.notes
    assert note.endswith("no times, memory and tensors: its sizes are open, and none were chosen (--sizes n=1)")
    assert (nothing.programs[0].open, nothing.programs[0].sizes) == ("n=1", "")
    fed = record(source, {"x": np.ones((3, 8), np.float32)}, _WISHES)
    assert fed.programs[0].sizes == "n=3"
    assert fed.memory[0].size == [96]


def test_inputs_of_the_user_that_do_not_fit_are_refused_and_those_made_up_are_noted():
    source = model("y = Relu(x)", "float[4,8] x", "float[4,8] y")
    with pytest.raises(WhenceError, match="x"):
        record(source, {"x": np.zeros((3, 8), np.float32)}, _WISHES)
    session = record(source, {"x": np.ones((4, 8), np.float32)}, _WISHES)
    assert session.tensors[0].minimum == [1.0]


def test_stretches_are_measured_each_on_its_own():
    source = model("s = NonZero(x) c = Cast<to = 1>(s) y = Relu(c)", "float[4,8] x", "float[k,l] y")
    session = measured(source)
    assert [program.kind for program in session.programs] == ["interpreted", "stretch", "stretch"]
    assert [times.program for times in session.times] == [1, 2]
    assert session.made_by.notes[-1] == "stretches were measured each on its own, with inputs that were made up"


def test_integers_and_external_kernels_have_values_and_no_lines():
    source = model("a = Relu(x) y = Tanh(a)", "float[4,8] x", "float[4,8] y")
    session = measured(source, target="onnxruntime, llvm")
    assert session.tensors[0].name == ["Tanh_0"]
    assert not [row for row in session.times[0].lines if any(row.line)]
    integers = measured(model("y = Add(x, x)", "int8[300] x", "int8[300] y"))
    assert integers.tensors[0].dtype == ["int8"]


def test_an_exported_model_is_measured(tmp_path: Path):
    compiled = whence.compile(model("a = Softmax(x) y = MatMul(a, a)", "float[8,8] x", "float[8,8] y"))
    compiled.export_library(tmp_path / "m.tar")
    session = measured(tmp_path / "m.tar")
    assert session.programs[0].kind == "exported"
    assert session.tensors[0].name == ["Softmax_0", "MatMul_0"]
    assert session.memory[0].arena == compiled.memory.workspace_bytes


def test_another_session_is_put_beside_one(tmp_path: Path):
    path, one, both = tmp_path / "m.onnx", tmp_path / "a.json", tmp_path / "b.json.gz"
    path.write_bytes(model("a = Softmax(x) y = MatMul(a, a)", "float[8,8] x", "float[8,8] y").SerializeToString())
    assert main(["explore", str(path), "--reference", "--seconds", "0.01", "-o", str(one)]) == 0
    session = read(one)
    assert session.tensors[0].reference == "onnxruntime"
    assert max(session.tensors[0].error) < 1e-5
    assert main(["explore", str(one), "--compare", str(path), "--no-times", "-o", str(both)]) == 0
    comparison = read(both).comparison
    assert comparison is not None
    assert {layer.name for layer in comparison.layers} == {"Softmax_0", "MatMul_0"}
    assert all(a == b > 0 for a, b in (layer.instructions for layer in comparison.layers))
    # Where others use the processors, a clock of CPU time can show nothing for a kernel as short as these.
    assert all(a >= 0 > b for a, b in (layer.seconds for layer in comparison.layers))
