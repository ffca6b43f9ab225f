"""Sessions of every kind of program."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import language_programs
import loop_models
import numpy as np
import onnx
import pytest
from explored_models import twins
from onnx import TensorProto, helper
from tflite_networks import mobilenet
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.passes import ModulePass

import whence
from whence.dialects.relay.elementwise import ReluOp
from whence.explorer.session.check import check
from whence.explorer.session.document import Session
from whence.explorer.session.file import to_json
from whence.explorer.session.text import column, text_of_stage
from whence.exploring.record import record
from whence.passes.runner import run_passes
from whence.provenance.ledger import Ledger
from whence.support.errors import FrontendError

OPEN = """
<ir_version: 8, opset_import: ["": 17]>
net (float[batch, 4] x) => (float[batch, 4] y) {
    [act] h = Relu (x)
    [soft] y = Softmax (h)
}
"""


def checked(model: Any, inputs: Any = None, **options: Any) -> Session:
    session = record(model, inputs, **options)
    check(session)
    return session


def kinds(session: Session) -> list[str]:
    return [program.kind for program in session.programs]


def passes_of(session: Session, program: int) -> list[str]:
    return [run.name for run in session.passes if run.program == program and run.kernel < 0]


def test_a_program_for_all_sizes_and_one_for_some():
    model = onnx.parser.parse_model(OPEN)
    session = checked(model, specialize={"batch": 3}, tier="symbolic")
    assert kinds(session) == ["sized", "specialised"]
    assert "batch" in session.programs[0].about
    assert "[3, 4]" in session.programs[1].about
    # The same layers, each once; kernels of their own, and the passes of both.
    assert session.layers.name.count("act") == 1
    assert {kernel.program for kernel in session.kernels} == {0, 1}
    assert "relay-fuse-ops" in passes_of(session, 0)
    assert "relay-fuse-ops" in passes_of(session, 1)


def test_stretches_of_a_model_with_a_loop():
    model = loop_models.counted()
    session = checked(model.model, model.inputs(3))
    assert kinds(session)[0] == "interpreted"
    assert set(kinds(session)[1:]) == {"stretch"}
    assert any("Loop" in note for note in session.made_by.notes)
    assert passes_of(session, 1)
    assert any(stage.level == "asm" for stage in session.stages)


def test_a_virtual_machine_program_and_its_stretches(tmp_path: Path):
    module = language_programs.module_of(language_programs.ARITHMETIC, tmp_path)
    session = checked(module)
    assert kinds(session)[0] == "interpreted"
    assert set(kinds(session)[1:]) == {"stretch"}
    text = text_of_stage(session, next(k for k, stage in enumerate(session.stages) if stage.program == 0))
    assert sum("relay.if" in line for line in text) >= 2


def test_a_program_that_no_made_up_call_fits_is_shown_without_stretches(tmp_path: Path):
    module = language_programs.module_of(language_programs.REVERSE, tmp_path)
    session = checked(module)
    assert kinds(session) == ["interpreted"]
    assert any("List" in note for note in session.made_by.notes)
    with pytest.raises(FrontendError):
        record(module, {"xs": np.zeros(3, np.float32)})


def test_an_exported_file_has_what_its_archive_has(tmp_path: Path):
    executable = whence.compile(twins())
    executable.export_library(tmp_path / "net.tar")
    session = checked(tmp_path / "net.tar")
    assert kinds(session) == ["exported"]
    assert [stage.name for stage in session.stages if stage.level == "relay"] == ["imported", "fused"]
    assert len(session.kernels) == len(executable.artifact.kernels)
    assert len(session.events.run) == len(executable.artifact.ledger.entries)
    assert not session.passes
    changed = session.stages[1].diff
    assert changed is not None
    assert "relay.nn.batch_norm" in [session.ops.name[row] for row in changed.gone]


def test_what_an_external_compiler_runs_has_its_name_and_no_stages():
    session = checked(twins(), target="onnxruntime, llvm")
    (kernel,) = [kernel for kernel in session.kernels if kernel.compiler]
    assert kernel.compiler == "onnxruntime"
    assert not kernel.stages


def test_a_quantised_tflite_model():
    session = checked(mobilenet(8, 0.125, integers=True, stages=(), classes=2))
    assert session.sources[0].kind == "tflite"
    assert "CONV_2D" in session.layers.type
    assert any("xi8>" in line for line in text_of_stage(session, 0))


def test_relay_text(tmp_path: Path):
    text = "def @main(%x: Tensor[(1, 4), float32]) {\n  nn.relu(%x)\n}\n"
    (tmp_path / "net.relay").write_text(f'#[version = "0.0.5"]\n{text}')
    session = checked(tmp_path / "net.relay")
    assert kinds(session) == ["static"]
    assert session.sources[0].kind == "relay"
    assert any("nn.relu" in line for line in text_of_stage(session, session.sources[0].stage))


class ForgetsPass(ModulePass):
    """Forgets where relu comes from."""

    name = "forgets"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, ReluOp):
                inner.location = UNKNOWN_LOC


def test_what_a_pass_lost_is_marked_with_its_name():
    module, ledger = whence.load(onnx.parser.parse_model(OPEN), {"x": [2, 4]}), Ledger()
    run_passes(module, [ForgetsPass()], ledger=ledger)
    session = checked(module, ledger=ledger)
    row = session.layers.name.index("lost by pass forgets")
    assert session.layers.kind[row] == "lost"
    marked = [
        line
        for line, number in zip(text_of_stage(session, 0), column(session.stages[0].body.sets), strict=True)
        if number >= 0 and row in session.sets[number]
    ]
    assert len(marked) == 1
    assert "relay.nn.relu" in marked[0]


def test_weights_are_not_in_the_document():
    weight = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256])],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    session = checked(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]))
    data = json.dumps(to_json(session)).encode()
    assert len(gzip.compress(data)) < weight.nbytes // 8


def test_a_saved_model_is_a_folder():
    folder = Path(__file__).parents[1] / "frontends" / "tensorflow" / "data" / "cnn_saved"
    session = checked(folder)
    assert session.made_by.model == folder.name
    assert session.made_by.sha256 == hashlib.sha256((folder / "saved_model.pb").read_bytes()).hexdigest()
